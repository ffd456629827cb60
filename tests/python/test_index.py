# SPDX-License-Identifier: MIT
"""aoe.Index: documents, sources, search, results, threads, processes and errors."""
import datetime
import gc
import math
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import aoe
from aoe import _documents
from conftest import ROOT

DOCUMENTS = [
    {"id": "food/rice", "text": "She cooks rice with vegetables.", "metadata": {"year": 2019, "lang": "en"}},
    {"id": "food/bread", "text": "He bakes bread in the oven.", "metadata": {"year": 2021, "lang": "en"}},
    {"id": "rail/late", "text": "The train to Berlin is late.", "metadata": {"year": 2021, "lang": ["en", "de"]}},
    {"id": "rail/fare", "text": "A ticket for the railway costs ten euros.", "metadata": {"year": 2023}},
]


@pytest.fixture
def index(tmp_path, model):
    with aoe.Index(tmp_path / "a.index", model) as opened:
        opened.add(DOCUMENTS)
        yield opened


def ids(hits):
    return [hit.id for hit in hits]


# ---------------------------------------------------------------- search


def test_dense_scores_are_the_cosines_of_the_model(index, model):
    query = "preparing a meal"
    hits = index.search(query, k=4, mode="dense")
    vectors = model.encode_document([d["text"] for d in DOCUMENTS])
    expected = model.similarity(model.encode_query([query]), vectors)[0]
    order = np.argsort(-expected)
    assert ids(hits) == [DOCUMENTS[i]["id"] for i in order]
    assert np.allclose([hit.score for hit in hits], expected[order], atol=1e-5)
    assert [hit.dense_rank for hit in hits] == [1, 2, 3, 4]


def test_modes(index):
    lexical = index.search("railway ticket", mode="lexical")
    assert ids(lexical) == ["rail/fare"]
    assert lexical.terms == ("railway", "ticket") and lexical.stems
    assert lexical[0].bm25 == lexical[0].score > 0 and lexical[0].dense_rank is None
    hybrid = index.search("railway ticket")
    assert hybrid[0].id == "rail/fare" and hybrid[0].lexical_rank == hybrid[0].dense_rank == 1
    assert hybrid[0].score == pytest.approx((1 + 2) / 61)  # an exact match: twice the weight
    weighted = index.search("railway ticket", dense_weight=0.5, lexical_weight=3.0)
    assert weighted[0].score == pytest.approx(3.5 / 61)
    assert ids(index.search("railway ticket", fast=True)) == ids(hybrid)


@pytest.mark.parametrize("where, expected", [
    ("year >= 2021", {"food/bread", "rail/late", "rail/fare"}),
    ({"year": 2021}, {"food/bread", "rail/late"}),
    ({"year": [2019, 2023]}, {"food/rice", "rail/fare"}),
    ({"lang": "de", "year": 2021}, {"rail/late"}),
    ({"lang": "it's"}, set()),
    ({}, {"food/rice", "food/bread", "rail/late", "rail/fare"}),
])
def test_conditions(index, where, expected):
    assert set(ids(index.search("food", where=where))) == expected


def test_path_min_score_and_k(index):
    assert set(ids(index.search("food", path="rail/"))) == {"rail/late", "rail/fare"}
    assert set(ids(index.search("food", path=["!rail/"]))) == {"food/rice", "food/bread"}
    every = index.search("cooking", mode="dense")
    limit = every[1].score
    assert ids(index.search("cooking", mode="dense", min_score=limit)) == ids(every[:2])
    assert len(index.search("food", k=1)) == 1 and len(index.search("food", k=np.int64(2))) == 2


def test_many_queries_are_the_same_as_single_ones(index):
    queries = ["food", "train", "price"]
    lists = index.search(queries, k=3)
    assert lists == [index.search(query, k=3) for query in queries]
    assert [hits.query for hits in lists] == queries
    assert index.search([]) == [] and index.search(iter(queries), k=3) == lists


def test_pandas(index):
    pandas = pytest.importorskip("pandas")
    frame = index.search("food", k=3).to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 3
    assert list(frame.columns[:4]) == ["id", "text", "score", "metadata"]
    many = index.search(["food", "train"], k=2).to_pandas()
    assert list(many["query"]) == ["food", "food", "train", "train"] and list(many["query_index"]) == [0, 0, 1, 1]
    assert len(aoe.Hits().to_pandas()) == 0


def test_wrong_search(index):
    for arguments in ({"k": 0}, {"k": True}, {"k": 1.5}, {"mode": "fuzzy"}, {"where": "yeer = 2020"},
                      {"where": "year ="}, {"where": {"year": []}}, {"where": {"year": None}}, {"min_score": "x"},
                      {"where": "a\0b"}, {"dense_weight": -1.0}):
        with pytest.raises((ValueError, TypeError)):
            index.search("food", **arguments)
    for query in ("", "\ud800", None, b"food", [None], 5, ["food", ["nested"]]):
        with pytest.raises((ValueError, TypeError)):
            index.search(query)


# ---------------------------------------------------------------- documents


def test_forms_of_documents(tmp_path, model):
    pandas = pytest.importorskip("pandas")
    forms = [
        [aoe.Document("a", "one", {"n": 1}), aoe.Document("b", "two")],
        [("a", "one", {"n": 1}), ("b", "two")],
        [{"id": "a", "text": "one", "metadata": {"n": 1}}, {"id": "b", "text": "two"}],
        pandas.DataFrame({"id": ["a", "b"], "text": ["one", "two"], "n": [1, None]}, dtype=object),
        (d for d in [("a", "one", {"n": 1}), ("b", "two", None)]),
    ]
    results = []
    for i, form in enumerate(forms):
        with aoe.Index(tmp_path / str(i), model) as index:
            assert index.add(form) == 2
            results.append([(hit.id, hit.text, hit.metadata) for hit in index.passages()[0]])
    assert results[0] == [("a", "one", {"n": "1"}), ("b", "two", {})]
    assert all(result == results[0] for result in results)
    with aoe.Index(tmp_path / "map", model) as index:
        assert index.add({"a": "one", "b": "two"}) == 2 and index.add([(7, "three")]) == 1 and "7" in index
        assert index.add({"id": "c", "text": "one document"}) == 1 and "c" in index


def test_metadata(tmp_path, model):
    metadata = {"s": "x", "i": 3, "f": 0.5, "whole": 2.0, "b": True, "day": datetime.date(2026, 1, 31), "none": None,
                "nan": math.nan, "list": [1, "two"], "outer": {"inner": 1}, "np": np.int32(7), "tiny": 1e-7}
    with aoe.Index(tmp_path / "i", model) as index:
        index.add([("a", "text", metadata)])
        assert index.get("a")[0].metadata == {
            "s": "x", "i": "3", "f": "0.5", "whole": "2", "b": "true", "day": "2026-01-31", "list": ["1", "two"],
            "outer.inner": "1", "np": "7", "tiny": "0.0000001"}
        assert index.search("text", where="outer.inner = 1 and f < 1 and list = 'two' and i in (3, 4)")
        with pytest.raises(TypeError, match="metadata"):
            index.add([("b", "text", {"x": object()})])


@pytest.mark.parametrize("value, expected", [
    (np.int64(3), "3"), (np.uint8(3), "3"), (np.float32(0.1), "0.1"), (np.float16(0.1), "0.1"),
    (np.float64(0.1), "0.1"),
    (np.float32(2), "2"), (np.bool_(True), "true"), (np.str_("x"), "x"), (np.array(3), "3"), (np.float32("nan"), None),
    (np.float16("nan"), None), (np.datetime64("NaT"), None), (np.datetime64("NaT", "s"), None),
    (np.datetime64("2024-02"), "2024-02-01"), (np.datetime64("2024-01-31"), "2024-01-31"),
    (np.datetime64("2024-01-31T05"), "2024-01-31T05:00:00"),
    (np.datetime64("2024-01-31T05:06:07"), "2024-01-31T05:06:07"),
    (np.datetime64("2024-01-31T05:06:07.000000000"), "2024-01-31T05:06:07"),
    (np.datetime64("2024-01-31T05:06:07.120"), "2024-01-31T05:06:07.120000"),
    (np.datetime64("2024-01-31T05:06:07.000000120"), "2024-01-31T05:06:07.000000120"),
    (np.array([0.1, 2], np.float32), ["0.1", "2"]),
    (np.array(["2024-01-31", "2024-02-01"], "datetime64[D]"), ["2024-01-31", "2024-02-01"]),
])
def test_metadata_of_numpy(value, expected, tmp_path, model):
    pandas = pytest.importorskip("pandas")
    with aoe.Index(tmp_path / "i", model) as index:
        index.add([aoe.Document("a", "text", {"key": value}, np.ones(384))])
        assert index.get("a")[0].metadata == ({} if expected is None else {"key": expected})
        if expected is None:
            with pytest.raises(ValueError, match="not exists key"):
                index.search("text", mode="lexical", where={"key": value})
        else:
            assert index.search("text", mode="lexical", where={"key": value})
    if isinstance(value, np.datetime64) and expected and value.dtype != "<M8[M]" and len(expected) > 10:
        assert pandas.Timestamp(value).isoformat() == expected  # a DataFrame gives the same text


def test_durations_are_no_numbers(index):
    for value in (np.timedelta64(3, "D"), datetime.timedelta(3), np.array([3], "timedelta64[s]")):
        with pytest.raises(TypeError, match="value of metadata"):
            index.add([("new", "text", {"key": value})])


def test_integer_ids(tmp_path, model):
    pandas = pytest.importorskip("pandas")
    with aoe.Index(tmp_path / "i", model) as index:
        assert index.add(pandas.DataFrame({"id": np.array([3, 4]), "text": ["three", "four"]})) == 2
        for id in ("3", 3, np.int64(3), np.uint8(3)):
            assert id in index and index.get(id)[0].text == "three"
        assert 5 not in index and np.int64(5) not in index and 3.0 not in index
        assert index.add([(np.int64(3), "changed")]) == 1 and index.get(3)[0].text == "changed" and len(index) == 2
        assert index.remove(np.int64(3)) == 1 and index.remove(np.array([4])) == 1 and index.remove(4) == 0
        assert index.add([(5, "five")]) == 1 and index.remove([5, "6"]) == 1
        for wrong in (True, np.bool_(True), 1.5, np.float64(1), np.timedelta64(1, "s"),
                      np.datetime64("2024-01-31"), None, b"a"):
            with pytest.raises(TypeError, match=r"documents\[1\]: an id must be a string or an integer"):
                index.add([("first", "text"), (wrong, "text")])
            with pytest.raises(TypeError):
                index.get(wrong)
        with pytest.raises(TypeError, match="missing values"):
            index.add(pandas.DataFrame({"id": [1, None], "text": ["one", "two"]}))
        assert len(index) == 0


def test_a_wrong_document_in_a_later_slice_changes_nothing(index):
    long = "She cooks rice. " * 70000  # more than a slice
    for wrong in (("third", "text", {"key": object()}), ("third", "\ud800")):
        with pytest.raises((TypeError, ValueError), match=r"documents\[2\]"):
            index.add([("first", "text"), ("second", long), wrong])
    index.commit()
    assert "first" not in index and len(index) == len(DOCUMENTS)


def test_vectors(tmp_path, model):
    rows = model.encode([d["text"] for d in DOCUMENTS])
    with aoe.Index(tmp_path / "i", model) as index:
        assert index.add(DOCUMENTS, vectors=rows[::-1]) == 4
        hits, vectors = index.passages()
        by_id = dict(zip(ids(hits), vectors))
        assert np.allclose(by_id["food/rice"], rows[3], atol=1e-6) and vectors.shape == rows.shape
        for wrong in (rows[:3], rows[:, :5], [[math.nan] * 384] * 4, [["x"]] * 4):
            with pytest.raises(ValueError):
                index.add(DOCUMENTS, vectors=wrong)
    with aoe.Index(tmp_path / "i", False) as index:  # without a model, documents need vectors
        assert ids(index.search("railway", mode="hybrid")) == ["rail/fare"]
        index.add([aoe.Document("new", "a new one", vector=rows[0])])
        assert len(index) == 5
        for call in (lambda: index.add([("x", "text")]), lambda: index.search("food", mode="dense")):
            with pytest.raises(ValueError):
                call()


def test_wrong_documents_change_nothing(index):
    before = index.stats()["passages"]
    wrong = [("a",), {"id": "a"}, {"text": "a"}, {"id": "a", "text": None}, {"id": "a", "text": b"x"}, "a", None,
             {"id": "", "text": "x"}, {"id": "a\0b", "text": "x"}, {"id": "a", "text": "\ud800"},
             {"id": None, "text": "x"}, {"id": "a", "text": "x", "other": 1}, {"id": "a", "text": "x", "kind": "pdf"},
             {"id": "a", "text": "x", "metadata": [1]}, {"id": "a", "text": "x", "metadata": {"k\0": 1}},
             {"id": "a", "text": "x", "vector": [1.0, 2.0]}]
    for item in wrong:
        with pytest.raises((TypeError, ValueError)):
            index.add([("good", "text"), item])
    for collection in ("text", 5, None, b"x"):
        with pytest.raises(TypeError):
            index.add(collection)
    assert index.add([]) == 0
    index.commit()
    assert index.stats()["passages"] == before and "good" not in index


def test_replace_remove_and_get(index):
    index.add([("food/rice", "She sells the rice.")])
    assert index.get("food/rice")[0].text == "She sells the rice." and len(index) == 4
    assert index.remove("food/rice") == 1 and index.remove(["food/rice", "x"]) == 0
    assert index.remove("rail/") == 2 and len(index) == 1
    hit = index.get("food/bread")[0]
    assert math.isnan(hit.score) and hit.cosine is None and (hit.line, hit.last_line) == (1, 1)
    assert index.get(hit.passage) == index.get("food/bread") or index.get(hit.passage)[0].text == hit.text
    for missing in ("rail/late", "x"):
        with pytest.raises(FileNotFoundError):
            index.get(missing)
    assert 5 not in index


def test_commit(tmp_path, model):
    path = tmp_path / "i"
    with aoe.Index(path, model) as index:
        index.add([("a", "one")], commit=False)
        assert not index.search("one")
        index.commit()
        assert ids(index.search("one")) == ["a"]
        index.add([("b", "two")], commit=False)
    with pytest.raises(RuntimeError, match="stop"):
        with aoe.Index(path, model) as index:
            assert len(index) == 2  # `with` has committed
            index.add([("c", "three")], commit=False)
            raise RuntimeError("stop")
    index = aoe.Index(path, model)
    assert len(index) == 2
    index.add([("c", "three")], commit=False)
    with pytest.warns(ResourceWarning, match="not closed"):
        del index
        gc.collect()
    index = aoe.Index(path, model)
    index.add([("c", "three")], commit=False)
    index.close(commit=False)
    index.close()
    with aoe.Index(path, model, read_only=True) as index:
        assert len(index) == 2


def test_kinds_and_settings(tmp_path, model):
    with aoe.Index(tmp_path / "i", model, passage_tokens=50, store="int8", stem=False, create=True) as index:
        index.add([aoe.Document("a", "# Rice\n\nShe cooks.\n\n## Water\n\nIt boils.", kind="markdown", title="Food"),
                   aoe.Document("b.html", "<p>Only <b>visible</b> text</p><script>x()</script>")])
        stats = index.stats()
        assert (stats["passage_tokens"], stats["store"], stats["stem"]) == (50, "int8", False)
        assert index.get("a")[-1].heading.startswith("Food > Rice")
        assert index.get("b.html")[0].text.split() == ["Only", "visible", "text"]
    for arguments, error in (({"create": True}, FileExistsError), ({"store": "f32"}, ValueError),
                             ({"store": "f16"}, ValueError), ({"passage_tokens": 51}, ValueError),
                             ({"read_only": True, "create": True}, ValueError), ({"wait": -1}, ValueError)):
        with pytest.raises(error):
            aoe.Index(tmp_path / "i", model, **arguments)


# ---------------------------------------------------------------- sources


def test_update(tmp_path, model):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "rice.md").write_text("---\nyear: 2020\n---\n# Rice\n\nShe cooks rice.\n")
    (folder / "train.txt").write_text("The train is late.\n")
    (folder / "skip.log").write_text("a log\n")
    states = []
    with aoe.Index(tmp_path / "i", model) as index:
        counts = index.update(folder, exclude=["*.log"], progress=states.append)
        assert counts["added"] == 2 and counts["removed"] == 0
        assert states[-1]["files"] == states[-1]["total_files"] == 2
        hit = index.search("food", where="year = 2020")[0]
        assert (hit.id, hit.path, hit.heading) == ("rice.md", str(folder / "rice.md"), "Rice")
        assert index.is_current() in (True, False)
        (folder / "new.txt").write_text("A new note about bread.\n")
        (folder / "train.txt").unlink()
        assert not index.is_current()
        counts = index.update()
        assert (counts["added"], counts["removed"]) == (1, 1)
        assert index.remove_source(folder) == 2 and len(index) == 0
        with pytest.raises(FileNotFoundError):
            index.update(tmp_path / "missing")
        for arguments in ({"exclude": ["x"]}, {"vectors": np.zeros((1, 384))}, {"filters": {"*.x": "cat -"}}):
            with pytest.raises((ValueError, TypeError)):
                index.update(**arguments)


def test_update_of_a_table(tmp_path, model):
    table = tmp_path / "rows.jsonl"
    table.write_text('{"key": "r1", "body": "She cooks rice.", "year": 2020}\n{"key": "r2", "body": "A train."}\n')
    rows = model.encode(["A train.", "She cooks rice."])
    with aoe.Index(tmp_path / "i", model) as index:
        counts = index.update([str(table)], text_column="body", id_column="key", vectors=rows)
        assert counts["added"] == 2 and sorted(ids(index.passages()[0])) == ["r1", "r2"]
        assert index.search("food", mode="dense")[0].id == "r2"  # the given vectors were used
        with pytest.raises(ValueError):
            index.update(table, text_column="body", id_column="key", vectors=rows[:1])
        with pytest.raises(ValueError):
            index.update(table, text_column="nothing")


def test_ctrl_c_ends_an_update(tmp_path, model):
    folder = tmp_path / "notes"
    folder.mkdir()
    for i in range(40):
        (folder / f"{i:02}.txt").write_text(f"Note {i} about rice and trains.\n" * 20)

    def stop(state):
        signal.raise_signal(signal.SIGINT)

    with aoe.Index(tmp_path / "i", model) as index:
        with pytest.raises(KeyboardInterrupt):
            index.update(folder, progress=stop)
        assert len(index) < 40
        assert index.update(folder)["added"] + len(index) >= 40 and len(index) == 40


def test_filters(tmp_path, model):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.xyz").write_bytes(b"the words of a special file")
    with aoe.Index(tmp_path / "i", model) as index:
        index.update(folder, filters={"*.xyz": ["cat", "-"]})
        assert ids(index.search("special", mode="lexical")) == ["a.xyz"]


# ---------------------------------------------------------------- models


def test_model_of_the_index(tmp_path):
    with aoe.Index(tmp_path / "i") as index:  # the default model
        index.add([("a", "She cooks rice.")])
        recorded = index.stats()["model"]
        assert recorded == str(index.model.directory)
    with aoe.Index(tmp_path / "i") as index:
        assert str(index.model.directory) == recorded and ids(index.search("food", mode="dense")) == ["a"]
    with pytest.raises(ValueError, match="closed"):
        index.model.encode("the index has closed the model that it opened")


def test_a_closed_model_stays_open_for_its_index(tmp_path):
    model = aoe.SentenceTransformer()
    with aoe.Index(tmp_path / "i", model) as index:
        model.close()
        index.add([("a", "She cooks rice.")])
        assert index.search("food")
    with pytest.raises(ValueError, match="closed"):
        aoe.Index(tmp_path / "i", model)


def test_models_with_settings_of_the_program(tmp_path):
    for arguments in ({"prompts": {"query": "q: "}}, {"truncate_dim": 64}):
        with aoe.SentenceTransformer(**arguments) as model, pytest.raises(NotImplementedError, match="save_pretrained"):
            aoe.Index(tmp_path / "i", model)
    with pytest.raises(TypeError):
        aoe.Index(tmp_path / "i", True)
    assert not (tmp_path / "i").exists()


# ---------------------------------------------------------------- maintenance


def test_each_and_passages(index):
    seen = []
    index.each(lambda hit, vector: seen.append((hit.id, float(vector @ vector))))
    assert [name for name, _ in seen] == sorted(d["id"] for d in DOCUMENTS)
    assert np.allclose([norm for _, norm in seen], 1, atol=1e-4)
    seen.clear()
    index.each(lambda hit, vector: bool(seen.append(hit)))
    assert len(seen) == 1

    def fail(hit, vector):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        index.each(fail)


def test_maintenance(index):
    index.verify()
    assert index.recall(k=2, n_queries=4) == 1.0
    index.remove("rail/late")
    index.compact()
    assert index.stats()["removed_rows"] == 0 and len(index) == 3


def test_damage_is_found_and_repaired(tmp_path, model):
    path = tmp_path / "i"
    with aoe.Index(path, model) as index:
        index.add(DOCUMENTS)
        expected = index.search("food", mode="dense")
    files = sorted(p for p in path.iterdir() if p.is_file() and b"SQLite" not in p.read_bytes()[:16])
    file = max(files, key=lambda p: p.stat().st_size)
    data = bytearray(file.read_bytes())
    data[-100] ^= 255
    file.write_bytes(data)
    with pytest.raises(ValueError):
        with aoe.Index(path, model, repair=True) as index:
            index.verify()
    with aoe.Index(path, model, repair=True) as index:
        index.verify(repair=True)
        index.verify()
        assert index.search("food", mode="dense") == expected


def test_read_only(tmp_path, model, index):
    with pytest.raises(FileNotFoundError):
        aoe.Index(tmp_path / "none", model, read_only=True)
    with pytest.raises(FileNotFoundError):
        aoe.Index(tmp_path / "none", model, create=False)
    with aoe.Index(index.path, model, read_only=True) as reader:
        assert reader.search("food") == index.search("food")
        reader.verify()
        for call in (lambda: reader.add([("a", "b")]), reader.commit, reader.compact, lambda: reader.remove("a"),
                     reader.update, lambda: reader.verify(repair=True)):
            with pytest.raises(ValueError, match="reading"):
                call()
        index.add([("new", "a new document about food")])
        assert "new" in reader
    with pytest.raises(FileExistsError):  # one writer at a time
        aoe.Index(index.path, model, wait=0)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("x")
    with pytest.raises((FileExistsError, FileNotFoundError)):
        aoe.Index(tmp_path / "other", model)


# ---------------------------------------------------------------- threads and processes


def test_threads_search_while_one_writes(index):
    errors, stop = [], threading.Event()

    def search():
        try:
            while not stop.is_set():
                assert index.search(["food", "railway"], k=2)[1][0].id == "rail/fare"
                index.stats()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    writers = [threading.Thread(target=lambda i=i: [index.add([(f"w{i}/{j}", "Something about chess.")])
                                                    for j in range(5)]) for i in range(2)]
    for thread in threads + writers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors and len(index) == 14


def test_close_waits_for_searches(tmp_path, model):
    index = aoe.Index(tmp_path / "i", model)
    index.add(DOCUMENTS)
    errors = []

    def search():
        try:
            while True:
                index.search("food")
        except ValueError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    index.close()
    for thread in threads:
        thread.join()
    assert errors == ["the index is closed"] * 3
    for call in (index.commit, index.stats, lambda: len(index), lambda: index.search("a"), index.compact):
        with pytest.raises(ValueError, match="closed"):
            call()


def search_in_worker(index):
    return ids(index.search("food", k=2))


def fork_and_search(index):
    pid = os.fork()
    if pid == 0:
        try:
            index.search("food")
        except ValueError as error:
            index.close()
            os._exit(7 if "child process" in str(error) else 1)
        os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_processes(index):
    expected = search_in_worker(index)
    with pickle.loads(pickle.dumps(index)) as copy:
        assert copy.read_only and search_in_worker(copy) == expected
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(search_in_worker, [index]) == [expected]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python, because this process has several threads
        assert fork_and_search(index) == 7
    assert search_in_worker(index) == expected


def test_exit_with_an_open_index(tmp_path):
    code = ("import aoe, sys; index = aoe.Index(sys.argv[1]); index.add([('a', 'text')]); "
            "hits = index.search('text'); print(len(hits))")
    done = subprocess.run([sys.executable, "-X", "dev", "-c", code, str(tmp_path / "i")], capture_output=True,
                          text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_the_program_reads_the_index(index, program):
    index.close()
    done = subprocess.run([program, "search", "-i", index.path, "--json", "railway ticket"], capture_output=True,
                          text=True, check=True)
    assert "rail/fare" in done.stdout


def test_condition_of():
    assert _documents.condition_of({}) is None
    assert _documents.condition_of({"a`b": "it's", "n": [1, 2.5]}) == "`a``b` = 'it''s' and `n` in ('1', '2.5')"
    for wrong in ({1: 2}, {"": 2}):
        with pytest.raises(TypeError):
            _documents.condition_of(wrong)


def test_paths_with_nul(model, tmp_path):
    """C would read such a path only until its NUL, and open another directory."""
    with pytest.raises(ValueError, match=r"a path must not contain U\+0000"):
        aoe.Index(f"{tmp_path}/a\0b", model)
    assert not list(tmp_path.iterdir())
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("She cooks rice.")
    with aoe.Index(tmp_path / "i", model) as index:
        for call in (index.update, index.remove_source):
            with pytest.raises(ValueError, match=r"U\+0000"):
                call(f"{tmp_path}/texts\0b")
        assert not len(index)


def test_integers_that_do_not_fit(tmp_path):
    """ctypes would take their lowest 64 bits."""
    with pytest.raises(ValueError, match="passage_tokens must be an integer from 0 to 18446744073709551615"):
        aoe.Index(tmp_path / "i", False, passage_tokens=2**64 + 400)
    with pytest.raises(ValueError, match="max_length must be an integer from 0"):
        aoe.CrossEncoder(ROOT / "tests" / "golden" / "cross_encoders" / "bert", max_length=2**64 + 8)
    with pytest.raises(ValueError, match="threads must be an integer from"):
        aoe.SentenceTransformer(threads=2**64 + 2)


@pytest.mark.parametrize("kind", [complex, str])
def test_vectors_of_other_types(model, tmp_path, kind):
    with aoe.Index(tmp_path / "i", model) as index:
        vectors = np.ones((1, model.get_embedding_dimension())).astype(kind)
        with pytest.raises(ValueError, match="must have real numbers"):
            index.add([("a", "x")], vectors=vectors)
        with pytest.raises(TypeError, match="one embedding for each document"):
            index.add([("a", "x")], vectors=1)
