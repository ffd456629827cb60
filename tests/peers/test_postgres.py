# SPDX-License-Identifier: MIT
"""aoe index --to and aoe search --from with a real PostgreSQL and pgvector, which the package pgserver contains. The
results are compared with those of aoe search on the local index."""
import json
import os
import random
import signal
import subprocess
import time

import pgserver
import psycopg
import pytest

from conftest import ROOT, record

QUERIES = ["how is the model trained", "renew the certificate of the server", "x86-64 kernels and int8",
           "中文", "src/base/json.c"]
HOSTILE = ["'; DROP TABLE aoe_passages; --", "a & b | !c <-> d:*", "$1 %s \\ \"x\" ''", "{\"a\": [1, null]}",
           "') OR 1=1 --", "☃ naïve café \\'; --"]
EQUAL_IDS = ("27956192.txt", "32001580.txt")  # their first passages have the id 5199477c9a5e
WORDS = ("certificate server renew train model kernel vector search index passage table query token batch loss rank "
         "river harbor lima peru music piano garden bread winter").split()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server that listens on a socket, with the password of its user `guest`. Yields its URL without database."""
    data = tmp_path_factory.mktemp("postgres")
    os.chmod(data.parent, 0o755)
    found = pgserver.get_server(data, cleanup_mode="delete")
    host = found.get_uri().split("host=")[1]
    with psycopg.connect(f"postgresql://postgres@/postgres?host={host}", autocommit=True) as c:
        c.execute("CREATE ROLE guest LOGIN PASSWORD 'right-password'")
    yield host
    found.cleanup()


@pytest.fixture
def database(server):
    """Creates a database and returns a function that returns its URL for a user."""
    name = f"test_{random.randrange(10**9)}"
    with psycopg.connect(f"postgresql://postgres@/postgres?host={server}", autocommit=True) as c:
        c.execute(f"CREATE DATABASE {name}")
    return lambda user="postgres", more="": f"postgresql://{user}@/{name}?host={server}{more}"


def write_table(path, n, seed=1):
    """Writes a table with n texts of random words and metadata: one in 1,000 rows has the language "rare"."""
    rng = random.Random(seed)
    with open(path, "w") as f:
        for i in range(n):
            text = " ".join(rng.choice(WORDS) for _ in range(12)) + f" number {i}"
            lang = "rare" if i % 1000 == 7 else rng.choice(["en", "de"])
            f.write(json.dumps({"id": f"doc{i:05d}", "text": text, "lang": lang, "year": 2000 + i % 30}) + "\n")
        for i, text in enumerate(HOSTILE + ["renew the certificate 中文字符 of x86-64 src/base/json.c"]):
            f.write(json.dumps({"id": f"odd{i}'\"", "text": text, "lang": "o'd\"d\\", "year": 1990}) + "\n")


@pytest.fixture(scope="module")
def small(aoe, tmp_path_factory):
    """A table of 3,000 documents and its index."""
    folder = tmp_path_factory.mktemp("small")
    write_table(folder / "table.jsonl", 3000)
    aoe.run("index", "-q", "-o", folder / "index", folder / "table.jsonl", "--id-column", "id")
    return folder


def copy(aoe, index, url, *options):
    return json.loads(aoe.run("index", "-q", "--json", "-o", index, "--to", url, *options).stdout.splitlines()[-1])


def find(aoe, where, query, *options, fails=False):
    """Returns (id, name, score) of the passages. where: ["-i", DIR] or ["--from", URL]."""
    command = [aoe.program, "search", "-q", "--json", *map(str, where), *map(str, options), "--", query]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in ((2,) if fails else (0, 1)), done.stderr
    if fails:
        return done.stderr
    hits = json.loads(done.stdout)["hits"] if done.stdout.strip() else []
    return [(hit["id"], hit["name"], hit["score"]) for hit in hits]


def compare(aoe, index, url, query, *options, exact=True):
    """Compares the hits of both. With `exact`, the ids are equal; scores may differ by rounding."""
    local = find(aoe, ["-i", index, "--refresh", "never"], query, *options)
    remote = find(aoe, ["--from", url], query, *options)
    assert len(local) == len(remote)
    if exact:
        assert [hit[0] for hit in local] == [hit[0] for hit in remote]
        for a, b in zip(local, remote):
            record("score", abs(a[2] - b[2]))
            assert abs(a[2] - b[2]) < 1e-5 * max(1, abs(a[2]))
    else:
        shared = len({hit[0] for hit in local} & {hit[0] for hit in remote})
        record("missing hits of HNSW", len(local) - shared)
        assert shared >= 0.9 * len(local)
    return local


def test_write_and_search(aoe, small, database):
    url = database()
    done = copy(aoe, small / "index", url)
    assert done["added"] == 3007 and done["unchanged"] == 0 and done["vector_index"] == "hnsw"
    again = copy(aoe, small / "index", url)
    assert again["unchanged"] == 3007 and again["added"] == again["changed"] == again["removed"] == 0
    for query in QUERIES + HOSTILE:
        compare(aoe, small / "index", url, query, "--mode", "lexical", "-k", 20)
        compare(aoe, small / "index", url, query, "--mode", "dense", "-k", 10, exact=False)
        # a condition makes the dense half exact, so all hits are equal
        for mode in ("dense", "hybrid"):
            compare(aoe, small / "index", url, query, "--mode", mode, "-k", 10, "--where", "year >= 0")
    with psycopg.connect(url) as c:
        assert c.execute("SELECT count(*), count(DISTINCT id) FROM aoe_passages").fetchone() == (3007, 3007)
        plan = str(c.execute("EXPLAIN SELECT id FROM aoe_passages ORDER BY embedding <=> (SELECT embedding FROM "
                             "aoe_passages LIMIT 1) LIMIT 10").fetchall())
        assert "aoe_passages_hnsw" in plan
        texts = {row[0] for row in c.execute("SELECT passage FROM aoe_passages WHERE name LIKE 'odd%'")}
        assert set(HOSTILE) <= texts


def test_conditions(aoe, small, database):
    url = database()
    copy(aoe, small / "index", url)
    conditions = ["lang = 'rare'", "lang = 'rare' and year > 2005", "year < 2003 or lang = 'o''d\"d\\'", "lang != 'en'",
                  "not lang = 'en' and year in (2001, 2002, '2003')", "lang like 'R%'", "name like 'ODD%'",
                  "exists lang and not exists `lang`", "year <= 1990.0", "lang > 'en'", "lang >= 2", "lang like '\\'"]
    for condition in conditions:
        for mode in ("dense", "lexical", "hybrid"):
            compare(aoe, small / "index", url, "certificate number model", "--mode", mode, "--where", condition)
    # 0.1% of the rows: an approximate search would find fewer
    assert len(find(aoe, ["--from", url], "piano", "--mode", "dense", "--where", "lang = 'rare'")) == 3
    for condition in ("lang = 'x'; DROP TABLE aoe_passages", "missing = 1", "modified > '2020'", "year >"):
        assert "condition" in find(aoe, ["--from", url], "piano", "--where", condition, fails=True)
    with psycopg.connect(url) as c:
        assert c.execute("SELECT count(*) FROM aoe_passages").fetchone() == (3007,)


def test_update_and_remove(aoe, tmp_path, database):
    url, table, index = database(), tmp_path / "table.jsonl", tmp_path / "index"
    write_table(table, 300)
    aoe.run("index", "-q", "-o", index, table, "--id-column", "id")
    copy(aoe, index, url, "--table", "own_table")
    rows = table.read_text().splitlines()
    row = json.loads(rows[5])
    rows[5] = json.dumps({**row, "text": "an entirely different text about volcanoes"})
    rows[6] = json.dumps({**json.loads(rows[6]), "year": 1950})
    del rows[10:30]
    rows.append(json.dumps({"id": "new", "text": "a new row", "lang": "en", "year": 2026}))
    table.write_text("\n".join(rows) + "\n")
    done = copy(aoe, index, url, "--table", "own_table")
    assert (done["added"], done["changed"], done["removed"], done["unchanged"]) == (1, 2, 20, 285)
    with psycopg.connect(url) as c:
        assert c.execute("SELECT passage FROM own_table WHERE name = 'doc00005'").fetchone()[0].endswith("volcanoes")
        assert c.execute("SELECT metadata->'year' FROM own_table WHERE name = 'doc00006'").fetchone() == (1950,)
        assert c.execute("SELECT value FROM own_table_settings WHERE key = 'state'").fetchone() == ("complete",)
    # a table with the passages of another index
    other = tmp_path / "other"
    aoe.run("index", "-q", "-o", other, table, "--id-column", "id")
    done = aoe.run("index", "-q", "-o", other, "--to", url, "--table", "own_table", fails=True)
    assert "another index" in done.stderr and "--replace" in done.stderr
    assert copy(aoe, other, url, "--table", "own_table", "--replace")["added"] == 288


def test_equal_ids(aoe, tmp_path, database):
    """Two documents whose names have the same 48-bit hash: both are stored, found, changed and removed separately. A
    long name, which no B-tree of PostgreSQL could contain, is stored, too."""
    url, table, index = database(), tmp_path / "table.jsonl", tmp_path / "index"
    first, second = EQUAL_IDS
    rng = random.Random(3)
    odd = "tab\tand \\ backslash " + "".join(rng.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(9000))

    def write(**texts):
        rows = {first: "the river runs to the harbor", second: "music for the piano", odd: "a garden in winter",
                "other": "bread", **{{"a": first, "b": second}[key]: text for key, text in texts.items()}}
        table.write_text("".join(json.dumps({"id": name, "text": text, "n": len(name)}) + "\n"
                                 for name, text in rows.items() if text))
        aoe.run("index", "-q", "-o", index, table, "--id-column", "id")
        done = copy(aoe, index, url)
        return done["added"], done["changed"], done["removed"], done["unchanged"]

    def stored():
        with psycopg.connect(url) as c:
            return dict(c.execute("SELECT name, passage FROM aoe_passages WHERE id = %s", [hits[0][0]]).fetchall())

    assert write() == (4, 0, 0, 0)
    hits = find(aoe, ["--from", url], "river harbor music piano", "--mode", "lexical")
    assert {hit[1] for hit in hits} == {first, second} and hits[0][0] == hits[1][0]
    for mode in ("dense", "lexical", "hybrid"):
        assert len(compare(aoe, index, url, "river piano garden", "--mode", mode, "--where", "n > 0")) >= 3
    done = subprocess.run([aoe.program, "search", "-q", "--json", "--from", url, "--mode", "lexical", "river piano"],
                          capture_output=True, text=True)
    texts = {hit["name"]: hit["text"] for hit in json.loads(done.stdout)["hits"]}
    assert texts == {first: "the river runs to the harbor", second: "music for the piano"}
    assert write() == (0, 0, 0, 4)
    assert write(a="the river is dry") == (0, 1, 0, 3)
    assert stored() == {first: "the river is dry", second: "music for the piano"}
    assert write(a="the river is dry", b="music for the lute") == (0, 1, 0, 3)
    assert stored() == {first: "the river is dry", second: "music for the lute"}
    assert write(a="", b="music for the lute") == (0, 0, 1, 3)
    assert stored() == {second: "music for the lute"}
    assert write(b="") == (1, 0, 1, 2)
    assert stored() == {first: "the river runs to the harbor"}
    # a table with the layout of another version
    with psycopg.connect(url, autocommit=True) as c:
        c.execute("UPDATE aoe_passages_settings SET value = '1' WHERE key = 'format'")
    for message in (aoe.run("index", "-q", "-o", index, "--to", url, fails=True).stderr,
                    find(aoe, ["--from", url], "bread", fails=True)):
        assert "the table aoe_passages has the layout of an older version of aoe (format 1" in message
    assert copy(aoe, index, url, "--replace")["added"] == 3


def test_killed_writer(aoe, small, database):
    """A writer that is killed at any time leaves whole batches, and the next one completes them."""
    url = database()
    for attempt in range(6):
        writer = subprocess.Popen([aoe.program, "index", "-q", "-o", str(small / "index"), "--to", url])
        time.sleep(0.15 + 0.15 * attempt)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    done = copy(aoe, small / "index", url)
    assert done["added"] + done["unchanged"] == 3007 and done["changed"] == 0
    with psycopg.connect(url) as c:
        assert c.execute("SELECT count(*) FROM aoe_passages").fetchone() == (3007,)
    compare(aoe, small / "index", url, "renew the certificate", "--mode", "hybrid", "--where", "year >= 0")


def test_lost_connection_and_second_writer(aoe, small, database):
    url = database()
    copy(aoe, small / "index", url)
    with psycopg.connect(url, autocommit=True) as c:
        c.execute("SELECT pg_advisory_lock(x'616f65'::int, hashtext('\"aoe_passages\"'))")
        done = aoe.run("index", "-q", "-o", small / "index", "--to", url, fails=True)
        assert "another program writes to the table aoe_passages" in done.stderr
        c.execute("SELECT pg_advisory_unlock_all()")
        c.execute("BEGIN; LOCK TABLE aoe_passages")
        search = subprocess.Popen([aoe.program, "search", "-q", "--from", url, "--mode", "lexical", "river"],
                                  stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with psycopg.connect(url, autocommit=True) as admin:
            for _ in range(100):
                found = admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
                                      "'aoe' AND datname = current_database()").fetchall()
                if found:
                    break
                time.sleep(0.05)
        stderr = search.communicate()[1]
        assert search.returncode == 2 and "connection was lost" in stderr
        c.execute("ROLLBACK")


def test_errors(aoe, small, database, server, monkeypatch):
    def fails(url, *options):
        done = aoe.run("index", "-q", "-o", small / "index", "--to", url, *options, fails=True)
        assert len(done.stderr.strip().splitlines()) == 1
        assert "secret" not in done.stderr
        return done.stderr

    url = database()
    assert "there is no such database" in fails(f"postgresql://postgres@/none?host={server}")
    assert "no connection" in fails("postgresql://postgres:secret-word@127.0.0.1:1/x")
    assert "postgresql://USER@HOST" in fails("mysql://secret@host/db")
    assert "invalid" in fails("postgresql://me:secret%zz@host/db")
    assert "table name" in fails(url, "--table", "x; DROP TABLE y")
    assert "no table aoe_passages" in find(aoe, ["--from", url], "x", fails=True) or \
        "CREATE EXTENSION" in find(aoe, ["--from", url], "x", fails=True)
    # a user without rights
    monkeypatch.setenv("PGPASSWORD", "right-password")
    message = fails(database("guest"))
    assert "CREATE EXTENSION vector" in message and "superuser" in message
    # read-only
    copy(aoe, small / "index", url)
    monkeypatch.setenv("PGOPTIONS", "-c default_transaction_read_only=on")
    assert "read-only" in fails(url)
    assert find(aoe, ["--from", url], "certificate")
    monkeypatch.delenv("PGOPTIONS")
    # a table of another program
    with psycopg.connect(database(), autocommit=True) as c:
        c.execute("DROP TABLE aoe_passages, aoe_passages_settings; CREATE TABLE aoe_passages (x int)")
        assert "was not created by aoe" in fails(f"postgresql://postgres@/{c.info.dbname}?host={server}")


def test_wrong_password(aoe, small, server, tmp_path):
    """A server that asks for passwords: neither the wrong nor the right one appears in a message."""
    data = pgserver.get_server(server).pgdata if os.path.exists(os.path.join(server, "PG_VERSION")) else None
    if data is None:
        pytest.skip("the data directory of the server is unknown")
    path = data / "pg_hba.conf"
    rules = path.read_text()
    path.write_text("local all guest scram-sha-256\n" + rules)
    with psycopg.connect(f"postgresql://postgres@/postgres?host={server}") as c:
        c.execute("SELECT pg_reload_conf()")
    try:
        url = f"postgresql://guest@/postgres?host={server}"
        environment = {**os.environ, "PGPASSFILE": str(tmp_path / "pgpass")}
        environment.pop("PGPASSWORD", None)

        def run(url, **more):
            done = subprocess.run([aoe.program, "search", "-q", "--mode", "lexical", "--from", url, "x"],
                                  env={**environment, **more}, capture_output=True, text=True)
            assert done.returncode == 2 and "password" not in done.stderr.replace("the password of user", "")
            return done.stderr

        assert "asks for the password of user guest" in run(url)
        assert "rejects the password of user guest" in run(url, PGPASSWORD="wrong-password")
        assert "rejects" in run(url.replace("guest@", "guest:wrong-password@"))
        (tmp_path / "pgpass").write_text("*:*:*:guest:right-password\n")
        (tmp_path / "pgpass").chmod(0o600)
        assert "CREATE EXTENSION" in run(url) or "no table" in run(url)
    finally:
        path.write_text(rules)
        with psycopg.connect(f"postgresql://postgres@/postgres?host={server}") as c:
            c.execute("SELECT pg_reload_conf()")


def test_other_model(aoe, small, database, peers):
    url = database()
    copy(aoe, small / "index", url)
    done = find(aoe, ["--from", url, "-m", peers / "models" / "all-MiniLM-L6-v2"], "x", fails=True)
    assert "all-MiniLM-L6-v2" in done


def test_python_reads_the_table(aoe, small, database):
    """The example of docs/postgres.md: another program finds the passages with a vector of aoe embed."""
    url = database()
    index = small / "no-stem"
    aoe.run("index", "-q", "-o", index, small / "table.jsonl", "--id-column", "id", "--no-stem")
    copy(aoe, index, url)
    query = "renew the certificate of the server"
    done = aoe.run("embed", "-q", "--input-format", "jsonl", "-f", "jsonl", stdin=json.dumps({"text": query}) + "\n")
    vector = json.dumps(json.loads(done.stdout)["embedding"])
    local = find(aoe, ["-i", index, "--refresh", "never"], query, "--mode", "dense")
    with psycopg.connect(url) as c:
        c.execute("SET enable_indexscan = off")
        rows = c.execute("SELECT id FROM aoe_passages ORDER BY embedding <=> %s::vector LIMIT 10", [vector]).fetchall()
        assert [row[0] for row in rows] == [hit[0] for hit in local]
        words = c.execute("SELECT count(*) FROM aoe_passages WHERE words @@ websearch_to_tsquery('simple', "
                          "'certificate -renew')").fetchone()[0]
        assert words == c.execute("SELECT count(*) FROM aoe_passages WHERE passage LIKE '%certificate%' AND passage "
                                  "NOT LIKE '%renew%'").fetchone()[0]
