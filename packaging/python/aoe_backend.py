# SPDX-License-Identifier: MIT
"""The build backend (PEP 517, PEP 660) of the Python package aoe-embeddings.

It runs `make package-files`, and packs the library and the program with the Python sources and the default model. The
library is not an extension of Python: it is opened with ctypes, so one wheel serves all versions of Python 3, and its
tag is py3-none-PLATFORM. `make wheel` then copies the libraries that libaoe needs into the wheel (auditwheel).

Environment: BUILD and CROSS are the variables of the Makefile with these names.
"""
from __future__ import annotations

import base64
import hashlib
import io
import os
import pathlib
import re
import subprocess
import tarfile
import zipfile

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib  # type: ignore[no-redef,import-not-found,unused-ignore]

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODEL = "models/aoe-small-en"
# Packages of Debian whose libraries become a part of the wheel. Their licenses are in their files `copyright`.
LIBRARIES = ("libjansson4", "libutf8proc2", "libpcre2-8-0", "libzstd1", "zlib1g", "libsqlite3-0")
# Folders of the repository that an sdist does not contain, because `make` does not read them.
LEFT_OUT = ("tests/", "bench/", "recipes/", ".ci/", "dist/", "build/")
# An installer writes the path of the interpreter into the first line. The script does not import aoe, and so not numpy.
SCRIPT = """#!python
import importlib.util
import os
import sys
spec = importlib.util.find_spec("aoe")
if spec is None or not spec.origin:
    sys.exit("aoe: the package aoe is not installed")
folder = os.path.dirname(spec.origin)
places = [os.path.join(folder, "bin", "aoe"), os.path.join(folder, "..", "..", "build", "aoe")]  # wheel, source tree
program = next((place for place in places if os.path.exists(place)), places[0])
os.execv(program, ["aoe", *sys.argv[1:]])
"""


def project() -> dict:
    """Returns the table [project] of pyproject.toml, with the version of the header."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        table = tomllib.load(file)["project"]
    header = (ROOT / "include/aoe.h").read_text(encoding="utf-8")
    found = re.search(r'^#define AOE_VERSION +"([^"]+)"', header, re.MULTILINE)
    assert found
    table["version"] = found[1]
    return table


def stem() -> str:
    """Returns NAME-VERSION as in file names."""
    table = project()
    return table["name"].replace("-", "_") + "-" + table["version"]


def metadata() -> str:
    """Returns the file METADATA, version 2.4."""
    table = project()
    lines = ["Metadata-Version: 2.4", "Name: " + table["name"], "Version: " + table["version"],
             "Summary: " + table["description"], "Requires-Python: " + table["requires-python"],
             "License-Expression: " + table["license"], "Keywords: " + ",".join(table["keywords"])]
    lines += ["License-File: " + name for name in table["license-files"]]
    lines += ["Classifier: " + name for name in table["classifiers"]]
    lines += ["Requires-Dist: " + name for name in table["dependencies"]]
    lines += ["Description-Content-Type: text/markdown", "", (ROOT / table["readme"]).read_text(encoding="utf-8")]
    return "\n".join(lines)


class Wheel:
    """A wheel that is being written. The times of its files are fixed, so that the same files give the same wheel."""

    def __init__(self, directory: str, tag: str) -> None:
        self.info = stem() + ".dist-info"
        self.name = f"{stem()}-{tag}.whl"
        self.path = pathlib.Path(directory) / self.name
        self.zip = zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record: list[str] = []
        self.tag = tag

    def add(self, name: str, content: bytes, mode: int = 0o644) -> None:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def finish(self) -> str:
        """Adds the folder dist-info, closes the wheel, and returns its file name."""
        self.add(self.info + "/METADATA", metadata().encode())
        self.add(self.info + "/WHEEL", ("Wheel-Version: 1.0\nGenerator: aoe_backend\nRoot-Is-Purelib: false\n"
                                        f"Tag: {self.tag}\n").encode())
        for name in project()["license-files"]:
            self.add(f"{self.info}/licenses/{name}", (ROOT / name).read_bytes())
        name = self.info + "/RECORD"
        self.zip.writestr(zipfile.ZipInfo(name), "\n".join([*self.record, name + ",,", ""]))
        self.zip.close()
        return self.name


def package_files() -> dict[str, str]:
    """Runs `make package-files`, and returns the values that it prints."""
    names = [f"{name}={os.environ[name]}" for name in ("BUILD", "CROSS") if os.environ.get(name)]
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "BUILD")}
    try:
        out = subprocess.run(["make", "-C", str(ROOT), "--no-print-directory", *names, "package-files"], check=True,
                             stdout=subprocess.PIPE, text=True, env=environment).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"aoe-embeddings: the C library could not be built ({error}); see the message above, and "
                         "README.md") from None
    return dict(line.split("=", 1) for line in out.splitlines() if "=" in line)


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """Builds the wheel."""
    made = package_files()
    wheel = Wheel(wheel_directory, "py3-none-linux_" + made["machine"])
    for path in sorted((ROOT / "python/aoe").rglob("*")):
        if path.suffix in (".py", ".pyi") or path.name == "py.typed":
            wheel.add(path.relative_to(ROOT / "python").as_posix(), path.read_bytes())
    package = pathlib.Path(made["package"])
    wheel.add("aoe/abi.txt", (ROOT / "tools/abi.txt").read_bytes())
    wheel.add("aoe/options.json", (package / "options.json").read_bytes())
    wheel.add("aoe/lib/libaoe.so.0", (package / "libaoe.so.0").read_bytes(), 0o755)
    wheel.add("aoe/bin/aoe", (package / "aoe").read_bytes(), 0o755)
    # aoe_default_model and `aoe plot` search these folders next to the folders of the library and of the program.
    for folder, target in ((MODEL, MODEL), ("share/plot", "plot")):
        for path in sorted((ROOT / folder).iterdir()):
            wheel.add(f"aoe/share/aoe/{target}/{path.name}", path.read_bytes())
    for name in LIBRARIES:
        path = pathlib.Path(made["documents"]) / name / "copyright"
        if path.exists():
            wheel.add(f"{wheel.info}/licenses/{name}", path.read_bytes())
    wheel.add(stem() + ".data/scripts/aoe", SCRIPT.encode(), 0o755)
    return wheel.finish()


def build_editable(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """Builds a wheel that makes the sources importable; they open build/libaoe.so."""
    subprocess.run(["make", "-C", str(ROOT), "--no-print-directory", "all"], check=True)
    wheel = Wheel(wheel_directory, "py3-none-any")
    wheel.add("aoe_embeddings.pth", f"{ROOT / 'python'}\n".encode())
    wheel.add(stem() + ".data/scripts/aoe", SCRIPT.encode(), 0o755)
    return wheel.finish()


def source_files() -> list[str]:
    """Returns the files of the sdist: those that git tracks or, in an unpacked sdist, all files."""
    if (ROOT / ".git").exists():
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
        files = [name for name in names.decode().split("\0") if name]
    else:
        files = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if "__pycache__" not in path.parts]
    return sorted(name for name in files
                  if (ROOT / name).is_file() and name != "PKG-INFO" and not name.startswith(LEFT_OUT))


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    """Builds the sdist, in which `make` and `pip install` build the package."""
    name = stem() + ".tar.gz"
    with tarfile.open(pathlib.Path(sdist_directory) / name, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        contents = [("PKG-INFO", metadata().encode(), 0o644)]
        contents += [(file, (ROOT / file).read_bytes(), (ROOT / file).stat().st_mode) for file in source_files()]
        for file, content, mode in contents:
            entry = tarfile.TarInfo(f"{stem()}/{file}")
            entry.size, entry.mode, entry.mtime = len(content), 0o755 if mode & 0o100 else 0o644, 315532800
            archive.addfile(entry, io.BytesIO(content))
    return name
