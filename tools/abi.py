#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records the binary interface of the library, or compares it with a record.

    abi.py record LIBRARY          prints the record
    abi.py check RECORD LIBRARY    prints all differences; the exit code is 1 if a compiled program can break

LIBRARY is a shared library with debug information. abidw (Debian: abigail-tools) reads it. The record is a text file
that depends neither on the compiler nor on directories: the types of functions, the values of enums, and the names and
types of struct fields.

These changes are accepted: new functions and types, new enumerators, and fields that are appended to a struct that
begins with struct_size. An enumerator whose name ends with _COUNT may get a larger value. All other changes are
refused. abidiff is not sufficient, because it reports appended and retyped fields alike.
"""
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

HEADERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "include")
# all types of the public headers, without the fields of other structs
ABIDW = ["abidw", "--load-all-types", "--drop-private-types", "--headers-dir", HEADERS, "--no-show-locs",
         "--no-corpus-path", "--no-comp-dir-path", "--no-parameter-names", "--no-elf-needed"]


class Reader:
    """Converts the output of abidw to the entries of a record: {"KIND NAME": [LINE, ...]}."""

    def __init__(self, xml):
        self.entries = {}
        self.types = {}
        declared = {}
        for node in xml.iter():
            if "id" in node.attrib:
                # a struct can have several declarations; the definition has fields
                known = self.types.get(node.get("id"))
                if known is None or len(node) > len(known):
                    self.types[node.get("id")] = node
                if node.tag == "class-decl" and len(node) > len(declared.get(node.get("name"), ())):
                    declared[node.get("name")] = node
        self.structs = declared
        for node in xml.iter("enum-decl"):
            self.add_enum(node)
        # abidw does not name the symbol of every function
        exported = {s.get("name") for s in xml.iter("elf-symbol") if s.get("name").startswith("aoe_")}
        for node in xml.iter("function-decl"):
            if node.get("name") in exported:
                self.entries["function " + node.get("name")] = [self.signature(node)]

    def signature(self, node):
        result = node.find("return")
        arguments = [self.text(p.get("type-id")) for p in node.findall("parameter") if p.get("is-variadic") != "yes"]
        return "%s (%s)" % (self.text(result.get("type-id")) if result is not None else "void",
                            ", ".join(arguments) or "void")

    def text(self, type_id):
        """Returns a type as text, and adds the public types that it uses to the entries."""
        node = self.types[type_id]
        name = node.get("name", "")
        if node.tag == "pointer-type-def":
            target = self.text(node.get("type-id"))
            return target if target.endswith(")") else target + (" *" if not target.endswith("*") else "*")
        if node.tag == "qualified-type-def":
            target = self.text(node.get("type-id"))
            return target + " const" if target.endswith("*") else "const " + target
        if node.tag == "array-type-def":
            return self.text(node.get("type-id")) + "".join("[%s]" % s.get("length") for s in node.findall("subrange"))
        if node.tag == "function-type":
            return self.signature(node)
        if node.tag == "typedef-decl":
            self.add_typedef(name, node)
        elif node.tag == "enum-decl":
            self.add_enum(node)
        elif node.tag == "class-decl":
            self.add_struct(name)
        return name

    def add(self, key, lines):
        if key not in self.entries:
            self.entries[key] = []  # a type can contain pointers to itself
            self.entries[key] = lines()

    def add_enum(self, node):
        """An enum without a name is recorded with the name of its first value."""
        values = ["%s %s" % (e.get("name"), e.get("value")) for e in node.findall("enumerator")]
        if values and values[0].startswith("AOE_"):
            name = values[0].split()[0] if node.get("is-anonymous") == "yes" else node.get("name")
            self.add("enum " + name, lambda: values)

    def add_typedef(self, name, node):
        target = self.types[node.get("type-id")]
        pointed = self.types[target.get("type-id")] if target.tag == "pointer-type-def" else target
        if pointed.tag == "function-type" and name.startswith("aoe_"):
            self.add("typedef " + name, lambda: [self.signature(pointed)])
        elif name.startswith("aoe_"):
            self.text(node.get("type-id"))

    def add_struct(self, name):
        node = self.structs.get(name)
        if node is None or not name.startswith("aoe_"):
            return
        fields = [(int(m.get("layout-offset-in-bits")) // 8, m.find("var-decl")) for m in node.findall("data-member")]
        if fields:
            self.add("struct " + name, lambda: ["size %d" % (int(node.get("size-in-bits")) // 8)] +
                     ["%d %s: %s" % (at, v.get("name"), self.text(v.get("type-id"))) for at, v in fields])


def read_library(path):
    xml = subprocess.run(ABIDW + [path], check=True, capture_output=True, text=True).stdout
    entries = Reader(ElementTree.fromstring(xml)).entries
    if not any(key.startswith("struct ") for key in entries):
        sys.exit("abi: %s has no debug information; compile it with -g" % path)
    return entries


def read_record(path):
    entries = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if line.startswith("    "):
                lines.append(line.strip())
            elif line and not line.startswith("#"):
                lines = entries.setdefault(line, [])
    return entries


def write_record(entries):
    print("# The binary interface of libaoe, written by `make abi-record`. `make abi` compares the library with it.")
    for key in sorted(entries):
        print(key)
        for line in entries[key]:
            print("    " + line)


def fields_of(lines):
    """Returns the size of a struct and its fields, [(OFFSET, NAME, TYPE)]."""
    parsed = [re.fullmatch(r"(\d+) (\w+): (.*)", line).groups() for line in lines[1:]]
    return int(lines[0].split()[1]), [(int(at), name, kind) for at, name, kind in parsed]


def is_extensible(lines):
    return len(lines) > 1 and lines[1].split()[1] == "struct_size:"


def first_difference(old, new):
    """Describes the first field in which the list `new` does not begin with the list `old`."""
    for i, (_, name, kind) in enumerate(old):
        if i < len(new) and new[i][1:] == (name, kind):
            continue
        if i < len(new) and new[i][1] == name:
            return "the type of %s changed from %s to %s" % (name, kind, new[i][2])
        if name not in [n for _, n, _ in new]:
            return "%s is removed" % name
        if new[i][1] not in [n for _, n, _ in old]:
            return "%s is inserted before %s" % (new[i][1], name)
        return "%s and %s are reordered" % (name, new[i][1])
    return None


class Comparison:
    def __init__(self, old, new):
        self.old, self.new = old, new
        self.refused, self.accepted = [], []

    def run(self):
        for key in sorted(self.old):
            kind = key.split()[0]
            if key not in self.new:
                self.refused.append("%s is removed" % key)
            elif kind == "enum":
                self.compare_enum(key)
            elif kind == "struct":
                self.compare_struct(key)
            elif self.old[key] != self.new[key]:
                self.refused.append("%s: the type changed from %s to %s" % (key, self.old[key][0], self.new[key][0]))
        for key in self.new:
            if key.startswith("struct "):
                self.check_inner_structs(key)
        self.accepted += ["%s is new" % key for key in sorted(self.new) if key not in self.old]

    def compare_enum(self, key):
        old, new = (dict(line.split() for line in e[key]) for e in (self.old, self.new))
        for name, value in old.items():
            if name not in new:
                self.refused.append("%s: %s is removed" % (key, name))
            elif new[name] != value and not (name.endswith("_COUNT") and int(new[name]) > int(value)):
                self.refused.append("%s: the value of %s changed from %s to %s" % (key, name, value, new[name]))
        self.accepted += ["%s: %s is new" % (key, name) for name in new if name not in old]

    def growth(self, fields):
        """Returns the number of bytes by which the structs inside a struct have grown."""
        sizes = [(fields_of(self.old["struct " + kind])[0], fields_of(self.new["struct " + kind])[0])
                 for _, _, kind in fields if "struct " + kind in self.old and "struct " + kind in self.new]
        return sum(new - old for old, new in sizes)

    def check_inner_structs(self, key):
        """Refuses structs that grow inside a struct that programs do not allocate, because its fields would move."""
        name = key.split()[1]
        pattern = re.compile(r"(?<!const )\b%s \*(?!\*)" % name)
        if "function %s_fill" % name in self.new or any(
                pattern.search(lines[0]) for k, lines in self.new.items() if k.startswith("function ")):
            return
        for _, field, kind in fields_of(self.new[key])[1]:
            if is_extensible(self.new.get("struct " + kind.split("[")[0], [])):
                self.refused.append("%s: %s must be a pointer, because %s can grow" % (key, field, kind))

    def compare_struct(self, key):
        old_size, old = fields_of(self.old[key])
        new_size, new = fields_of(self.new[key])
        difference = first_difference(old, new)
        if difference:
            self.refused.append("%s: %s" % (key, difference))
        elif not is_extensible(self.old[key]):
            if len(new) > len(old):
                self.refused.append("%s: %s is appended, but the struct does not begin with struct_size" %
                                    (key, new[len(old)][1]))
            elif self.old[key] != self.new[key]:
                self.refused.append("%s: the size or an offset changed; it must not contain a struct that grows" % key)
        elif len(new) > len(old):
            at, name, _ = new[len(old)]
            is_input = "function %s_fill" % key.split()[1] in self.new
            if is_input and at < old_size + self.growth(old):
                self.refused.append("%s: %s is in the padding at the end of the recorded struct, so that struct_size "
                                    "does not show whether a program has it; append a larger field" % (key, name))
            else:
                self.accepted.append("%s: %s is appended" % (key, ", ".join(n for _, n, _ in new[len(old):])))
        elif new_size != old_size + self.growth(old):
            self.refused.append("%s: the size changed from %d to %d" % (key, old_size, new_size))


def check(record, library):
    comparison = Comparison(read_record(record), read_library(library))
    comparison.run()
    for line in comparison.accepted:
        print("abi: %s: accepted; record it with make abi-record" % line)
    for line in comparison.refused:
        print("abi: %s: REFUSED, because compiled programs can break" % line)
    print("abi: %s" % ("FAILED" if comparison.refused else "ok"))
    return 1 if comparison.refused else 0


def main(args):
    if len(args) not in (2, 3) or args[0] != ("record" if len(args) == 2 else "check"):
        sys.exit(__doc__)
    if not shutil.which("abidw"):
        print("SKIP: abidw is not installed; install the package abigail-tools")
        return 0
    if args[0] == "record":
        write_record(read_library(args[1]))
        return 0
    return check(args[1], args[2])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
