# SPDX-License-Identifier: MIT
"""Evaluation from Python: the values of `aoe eval --json`."""
import csv
import json
import pathlib
import subprocess

import numpy as np
import pytest

import aoe

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CORPUS = {"d1": {"title": "Cooking", "text": "how to cook rice"}, "d2": "a dog runs in the park",
          "d3": "stock markets fell on Monday", "d4": "boil rice for ten minutes", "d5": "the puppy plays outside"}
QUERIES = {"q1": "cooking rice", "q2": "a playing dog", "q3": "shares lost value"}
RELEVANT = {"q1": {"d1": 2, "d4": 1}, "q2": ["d2", "d5"], "q3": {"d3"}}


def run(program, *arguments):
    """Returns the objects that a command of the program prints."""
    text = subprocess.run([program, "eval", *map(str, arguments), "--json", "-q"], check=True, capture_output=True,
                          text=True, encoding="utf-8").stdout
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """A file of 40 pairs, and its rows."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    lines = (ROOT / "examples" / "test.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:41]), encoding="utf-8")
    with open(path, encoding="utf-8", newline="") as file:
        rows = [(row["sentence1"], row["sentence2"], float(row["score"]))
                for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    return path, rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BEIR folder."""
    path = tmp_path_factory.mktemp("beir")
    (path / "qrels").mkdir()
    documents = [{"_id": key, "title": "", **(value if isinstance(value, dict) else {"text": value})}
                 for key, value in CORPUS.items()]
    (path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents))
    (path / "queries.jsonl").write_text("".join(json.dumps({"_id": k, "text": v}) + "\n" for k, v in QUERIES.items()))
    judged = [(q, d, grade) for q, found in RELEVANT.items() for d, grade in
              (found if isinstance(found, dict) else dict.fromkeys(found, 1)).items()]
    (path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" +
                                             "".join(f"{q}\t{d}\t{g}\n" for q, d, g in judged))
    return path


@pytest.fixture(scope="module")
def prompted(tmp_path_factory, model):
    """A model with different prompts for queries and documents."""
    path = tmp_path_factory.mktemp("prompted") / "model"
    model.save_pretrained(path)
    config = path / "config_sentence_transformers.json"
    old = json.loads(config.read_text()) if config.exists() else {}
    config.write_text(json.dumps({**old, "prompts": {"query": "search: ", "document": "text: "}}))
    if (path / "aoe.json").exists():
        old = json.loads((path / "aoe.json").read_text())
        old.pop("prompts", None)
        (path / "aoe.json").write_text(json.dumps(old))
    return path


def without_name(result):
    return {key: value for key, value in result.items() if key != "name"}


def test_sts(program, model, pairs):
    path, rows = pairs
    expected, = run(program, "sts", path)
    assert aoe.evaluate_sts(model, path) == expected
    assert aoe.evaluate_sts(None, str(path)) == expected
    assert aoe.evaluate_sts(model.directory, path) == expected
    assert without_name(aoe.evaluate_sts(model, rows)) == without_name(expected)
    assert expected["spearman"] > 0.5
    result = aoe.evaluate_sts(model, rows, return_scores=True)
    a, b = model.encode([row[0] for row in rows]), model.encode([row[1] for row in rows])
    np.testing.assert_allclose(result["cosine"], model.similarity_pairwise(a, b), atol=1e-5)
    assert result["gold"].tolist() == [row[2] for row in rows]


def test_sts_of_several_data_sets(program, model, pairs):
    path, rows = pairs
    expected = run(program, "sts", path, path)
    result = aoe.evaluate_sts(model, [path, rows])
    assert without_name(result["parts"][0]) == without_name(result["parts"][1]) == without_name(expected[0])
    assert {key: result[key] for key in expected[-1]} == expected[-1]


@pytest.mark.parametrize("options", [
    {"max_length": 8}, {"dims": 32}, {"layers": 1}, {"prompt": "query: {text}"}, {"pooling": "cls"},
    {"dtype": "f32", "batch_tokens": 64}, {"normalize": True, "chunk": "mean", "max_length": 8}, {"threads": 1},
])
def test_options(options, program, model, pairs):
    arguments = [part for name, value in options.items()
                 for part in (["--" + name.replace("_", "-")] + ([] if value is True else [value]))]
    expected, = run(program, "sts", pairs[0], *arguments)
    assert aoe.evaluate_sts(model, pairs[0], **options) == expected
    assert aoe.evaluate_sts(str(model.directory), pairs[0], **options) == expected


def without_size(result):
    return {key: value for key, value in result.items() if key not in ("layers", "dims")}


def test_settings_of_the_model_object(program, model, pairs):
    with aoe.SentenceTransformer(truncate_dim=16, prompts={"a": "query: "}, default_prompt_name="a") as other:
        assert aoe.evaluate_sts(other, pairs[0]) == without_size(
            run(program, "sts", pairs[0], "--dims", 16, "--prompt", "query: {text}")[0])
        other.max_seq_length = 6
        assert aoe.evaluate_sts(other, pairs[0], prompt="") == without_size(
            run(program, "sts", pairs[0], "--dims", 16, "--prompt", "", "--max-length", 6)[0])


def test_truncate_dim_above_the_size(model, pairs):
    with aoe.SentenceTransformer(truncate_dim=9999) as other:
        assert aoe.evaluate_sts(other, pairs[0])["spearman"] == aoe.evaluate_sts(model, pairs[0])["spearman"]


YEARS = {"STS14-en-test": ["deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"]}


@pytest.fixture(scope="module")
def senteval(tmp_path_factory, pairs):
    """A folder of SentEval with STS14 and STS-B, whose pairs are those of `pairs`."""
    path, rows = tmp_path_factory.mktemp("senteval"), pairs[1]
    for year, subsets in YEARS.items():
        (path / year).mkdir()
        for i, subset in enumerate(subsets):
            part = rows[i * 4:i * 4 + 8]
            (path / year / f"STS.input.{subset}.txt").write_text("".join(f"{a}\t{b}\n" for a, b, _ in part))
            (path / year / f"STS.gs.{subset}.txt").write_text("".join(f"{score}\n" for _, _, score in part))
    (path / "STSBenchmark").mkdir()
    (path / "STSBenchmark" / "sts-test.csv").write_text(
        "".join(f"main-news\tMSRpar\t2012test\t{i}\t{score}\t{a}\t{b}\n" for i, (a, b, score) in enumerate(rows)))
    return path


@pytest.mark.parametrize("options", [{}, {"dims": 32}, {"prompt": "query: {text}", "max_length": 8}])
def test_suite(options, program, model, senteval, caplog):
    arguments = [part for name, value in options.items() for part in ("--" + name.replace("_", "-"), value)]
    expected = run(program, "suite", senteval, "--subsets", *arguments)
    with caplog.at_level("WARNING", "aoe"):
        result = aoe.evaluate_suite(model, senteval, **options)
    assert result["subsets"] == [row for row in expected if "/" in row["name"]] and len(result["subsets"]) == 6
    assert result["sets"] == [row for row in expected if "/" not in row["name"]][:-1] and len(result["sets"]) == 7
    assert {key: result[key] for key in expected[-1]} == expected[-1]
    assert "sets not found and excluded from the average: STS12, STS13, STS15, STS16, SICK-R" in caplog.messages
    assert any("STS-B has 40 scored pairs, but the published set has 1379" in line for line in caplog.messages)


def test_suite_of_several_folders(model, senteval, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (senteval / "STSBenchmark").rename(other / "STSBenchmark")
    try:
        result = aoe.evaluate_suite(model, [senteval, str(other)], threads=1)
    finally:
        (other / "STSBenchmark").rename(senteval / "STSBenchmark")
    assert result["name"] == "average" and result["parts"] == 2
    with pytest.raises(aoe.AoeFileNotFoundError):
        aoe.evaluate_suite(model, tmp_path)
    with pytest.raises(TypeError, match="folders"):
        aoe.evaluate_suite(model, [3])
    with pytest.raises(TypeError, match="similar: dims"):
        aoe.evaluate_suite(model, senteval, dim=3)


def test_pairs(program, model, pairs, tmp_path):
    path, rows = pairs
    expected, = run(program, "pairs", path, "--positive-from", 3)
    assert aoe.evaluate_pairs(model, path, positive_from=3) == expected
    binary = [(a, b, int(label >= 3)) for a, b, label in rows]
    ours = aoe.evaluate_pairs(model, binary)
    assert {k: ours[k] for k in ("f1", "accuracy", "pairs")} == {k: expected[k] for k in ("f1", "accuracy", "pairs")}
    assert ours["positives"] == sum(row[2] for row in binary)
    (tmp_path / "p.tsv").write_text("text1\ttext2\tlabel\na\tb\t0\nc\td\t0\n")
    undefined = aoe.evaluate_pairs(model, tmp_path / "p.tsv")
    assert undefined == run(program, "pairs", tmp_path / "p.tsv")[0] and undefined["f1"] is None


def test_triplets(program, model, pairs, tmp_path):
    rows = [(a, b, other) for (a, b, _), (other, _, _) in zip(pairs[1], reversed(pairs[1])) if a != other]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(dict(zip(("query", "positive", "negative"), row))) + "\n"
                                              for row in rows))
    expected, = run(program, "triplets", tmp_path / "t.jsonl")
    assert aoe.evaluate_triplets(model, tmp_path / "t.jsonl") == expected
    assert without_name(aoe.evaluate_triplets(model, rows)) == without_name(expected)


def test_cross_encoder(program, tmp_path, model, pairs):
    rows = [(a, b, float(label >= 3)) for a, b, label in pairs[1]]
    aoe.train(rows, tmp_path / "m", model=model, method="cross-encoder", max_steps=1, max_length=32)
    expected, = run(program, "sts", pairs[0], "-m", tmp_path / "m")
    with aoe.CrossEncoder(tmp_path / "m") as ranker:
        assert aoe.evaluate_sts(ranker, pairs[0]) == expected == aoe.evaluate_sts(tmp_path / "m", pairs[0])


# ------------------------------------------------------------ retrieval


def test_retrieval(program, model, prompted, folder):
    for opened, directory in ((model, model.directory), (aoe.SentenceTransformer(prompted), prompted)):
        expected, = run(program, "retrieval", folder, "-m", directory)
        assert aoe.evaluate_retrieval(opened, folder) == expected == aoe.evaluate_retrieval(str(directory), str(folder))
        ours = aoe.evaluate_retrieval(opened, queries=QUERIES, corpus=CORPUS, relevant_docs=RELEVANT)
        assert without_name(ours) == without_name(expected) and expected["queries"] == 3
        for options in ({"prompt": "a: {text}"}, {"doc_prompt": "b: {text}"},
                        {"prompt": "a: {text}", "doc_prompt": "{text}"},
                        {"mode": "hybrid", "weights": "1,0.5", "top": 2, "recall_at": "1,2"}):
            arguments = [part for name, value in options.items() for part in ("--" + name.replace("_", "-"), value)]
            expected, = run(program, "retrieval", folder, "-m", directory, *arguments)
            assert aoe.evaluate_retrieval(opened, folder, **options) == expected
    ours = aoe.evaluate_retrieval(model, folder, recall_at=[2, 3], weights=(1, 0.5), mode="hybrid")
    assert list(ours["recall"]) == ["2", "3"]


def test_retrieval_with_own_prompts(program, model, prompted, folder):
    expected, = run(program, "retrieval", folder, "-m", prompted)
    with aoe.SentenceTransformer(prompts={"query": "search: ", "document": "text: "}) as other:
        assert aoe.evaluate_retrieval(other, folder) == expected


def test_groups(program, model, tmp_path):
    rows = [(f"g{i // 3}", text) for i, text in enumerate(
        ["a dog", "a puppy", "the dog runs", "rice", "boiled rice", "cooked rice", "stocks", "markets", "shares"])]
    (tmp_path / "g.tsv").write_text("group\ttext\n" + "".join(f"{g}\t{t}\n" for g, t in rows))
    expected, = run(program, "retrieval", tmp_path / "g.tsv", "--seed", 3, "--query", "all", "--count-query")
    options = {"seed": 3, "query": "all", "count_query": True}
    assert aoe.evaluate_retrieval(model, tmp_path / "g.tsv", **options) == expected
    assert without_name(aoe.evaluate_retrieval(model, rows, **options)) == without_name(expected)
    assert expected["strict_accuracy"] is not None


def test_rerank(program, model, prompted, folder, tmp_path):
    def untimed(result):
        for stage in ("first", "reranked"):
            result[stage].pop("seconds")
        return result

    ranker = ROOT / "tests" / "golden" / "cross_encoders" / "bert"
    with aoe.CrossEncoder(ranker) as opened:
        name = opened.labels[1] or "1"
        expected, = run(program, "rerank", folder, "-m", ranker, "--first", prompted, "--class", name, "--top", 3, "-o",
                        tmp_path / "a.run")
        expected = untimed(expected)
        ours = aoe.evaluate_rerank(opened, folder, first=prompted, score_class=1, top=3, output=tmp_path / "b.run")
        assert untimed(ours) == expected and (tmp_path / "a.run").read_bytes() == (tmp_path / "b.run").read_bytes()
        ours = aoe.evaluate_rerank(ranker, queries=QUERIES, corpus=CORPUS, relevant_docs=RELEVANT, score_class=name,
                                   first=aoe.SentenceTransformer(prompted), top=3)
        assert without_name(untimed(ours)) == without_name(expected)
        expected = untimed(run(program, "rerank", folder, "-m", ranker, "--run", tmp_path / "a.run", "--class",
                               name)[0])
        assert untimed(aoe.evaluate_rerank(opened, folder, run=tmp_path / "a.run", score_class=name)) == expected
        with pytest.raises(TypeError, match="first stage"):
            aoe.evaluate_rerank(opened, folder)
        with pytest.raises(ValueError, match="score_class"):
            aoe.evaluate_rerank(opened, folder, first=model, score_class=2)


# ------------------------------------------------------------ errors


@pytest.mark.parametrize("function, arguments, error, words", [
    (aoe.evaluate_sts, {"data": [("a", "b", 1.0)], "colums": "x"}, TypeError, "columns"),
    (aoe.evaluate_sts, {"data": [("a", "b")]}, aoe.AoeValueError, "data"),
    (aoe.evaluate_sts, {"data": "missing.tsv"}, aoe.AoeFileNotFoundError, "missing.tsv"),
    (aoe.evaluate_sts, {"data": []}, ValueError, "empty"), (aoe.evaluate_sts, {"data": None}, TypeError, "data set"),
    (aoe.evaluate_sts, {"data": aoe.Data("x.tsv", weight=2)}, ValueError, "arguments of the evaluation"),
    (aoe.evaluate_sts, {"data": [("a", "b", 1.0)], "dims": 10**6}, aoe.AoeValueError, "dims"),
    (aoe.evaluate_sts, {"data": [("a", "b", 1.0)], "dims": 1.5}, TypeError, "dims must be an integer"),
    (aoe.evaluate_pairs, {"data": [("a", "b", 0.5)]}, aoe.AoeValueError, "data, row 0"),
    (aoe.evaluate_triplets, {"data": [("a", "b")]}, aoe.AoeValueError, "negative"),
    (aoe.evaluate_retrieval, {"queries": QUERIES, "corpus": CORPUS}, TypeError, "relevant_docs is missing"),
    (aoe.evaluate_retrieval, {}, TypeError, "give either data"),
    (aoe.evaluate_retrieval, {"queries": QUERIES, "corpus": CORPUS, "relevant_docs": {"q\t1": ["d1"]}}, ValueError,
     "tab"),
    (aoe.evaluate_retrieval, {"queries": QUERIES, "corpus": CORPUS, "relevant_docs": RELEVANT, "top": 0}, ValueError,
     "top must be at least 1"),
])
def test_errors(function, arguments, error, words, model):
    with pytest.raises(error, match=words):
        function(model, **arguments)


def test_closed_model(pairs):
    closed = aoe.SentenceTransformer()
    closed.close()
    for options in ({}, {"dims": 8}):
        with pytest.raises(ValueError, match="closed"):
            aoe.evaluate_sts(closed, pairs[0], **options)


def test_ctrl_c(model, pairs, monkeypatch):
    def interrupt(self, user, done, total):
        raise KeyboardInterrupt

    monkeypatch.setattr("aoe.evaluation._Progress.__call__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        aoe.evaluate_sts(model, pairs[0])


@pytest.fixture
def unscaled(tmp_path, model):
    """Writes the default model without normalization, and with a similarity, to a directory."""
    def write(name=None, normalize=False):
        folder = tmp_path / f"{name}-{normalize}"
        model.save_pretrained(folder)
        settings = json.loads((folder / "aoe.json").read_text()) if (folder / "aoe.json").exists() else {}
        settings.update({"normalize": normalize}, **({"similarity": name} if name else {}))
        (folder / "aoe.json").write_text(json.dumps(settings))
        return folder

    return write


@pytest.mark.parametrize("name", ["cosine", "dot", "euclidean", "manhattan"])
def test_similarities(name, unscaled, pairs):
    """All evaluations use the similarity of the model, and the option similarity; compared with numpy."""
    path, rows = pairs
    triplets = [(a, b, "another text") for a, b, _ in rows]
    with aoe.SentenceTransformer(unscaled(), similarity_fn_name=name) as model:
        def values(first, second):
            return np.asarray(model.similarity_pairwise(model.encode(first), model.encode(second)), np.float64)

        expected = values([a for a, _, _ in rows], [b for _, b, _ in rows])
        found = aoe.evaluate_sts(model, path, return_scores=True)
        assert np.allclose(found[name], expected, rtol=1e-5, atol=1e-6)
        assert found.get("similarity", "cosine") == name and ("cosine" in found) == (name == "cosine")
        assert abs(found["pearson"] - np.corrcoef(expected, found["gold"])[0, 1]) < 1e-5

        negative = values([a for a, _, _ in rows], ["another text"] * len(rows))
        found = aoe.evaluate_triplets(model, triplets)
        assert found["accuracy"] == np.mean(expected > negative) and found.get("similarity", "cosine") == name
        assert np.isclose(found["positive_score"], expected.mean(), rtol=1e-5)
        assert np.isclose(found["negative_score"], negative.mean(), rtol=1e-5)

        found = aoe.evaluate_pairs(model, path, positive_from=3)
        positive = np.array([label >= 3 for _, _, label in rows])
        cut = [np.mean((expected >= t) == positive) for t in [np.inf, *(expected - 1e-5)]]
        assert np.isclose(found["accuracy"], max(cut)) and found.get("similarity", "cosine") == name
        assert np.isclose(np.mean((expected >= found["accuracy_threshold"]) == positive), found["accuracy"])

        found = aoe.evaluate_retrieval(model, queries=QUERIES, corpus=CORPUS, relevant_docs=RELEVANT)
        scores = model.similarity(model.encode_query(list(QUERIES.values())), model.encode_document(
            [f"{d['title']} {d['text']}".strip() if isinstance(d, dict) else d for d in CORPUS.values()]))
        best = np.array(list(CORPUS))[np.argsort(-np.asarray(scores), axis=1, kind="stable")]
        rank = [1 / (1 + next(i for i, d in enumerate(order) if d in RELEVANT[q])) for q, order in zip(QUERIES, best)]
        assert np.isclose(found["mrr"], np.mean(rank)) and found.get("similarity", "cosine") == name

        with aoe.SentenceTransformer(model.directory) as plain:  # the argument is more specific than the model
            assert aoe.evaluate_sts(plain, path, similarity=name) == aoe.evaluate_sts(model, path)
            assert aoe.evaluate_sts(plain, path) == aoe.evaluate_sts(model, path, similarity="cosine")


@pytest.mark.parametrize("name", ["dot", "euclidean", "manhattan"])
def test_similarity_of_a_directory(name, unscaled, pairs, program):
    """The similarity of a model directory is used; the program has the option --similarity with the same values."""
    path, folder = pairs[0], unscaled(name)
    found = aoe.evaluate_sts(folder, path)
    assert found["similarity"] == name and found != aoe.evaluate_sts(folder, path, similarity="cosine")
    out = subprocess.run([program, "eval", "sts", "-m", folder, path, "--similarity", name, "--json"], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    printed = json.loads(out.stdout)
    assert {key: printed[key] for key in ("similarity", "spearman", "pearson")} == {
        key: found[key] for key in ("similarity", "spearman", "pearson")}
    assert "similarity_fn_name" not in out.stderr
    out = subprocess.run([program, "eval", "sts", "-m", folder, path], check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    assert f"set --similarity {name}" in out.stderr


def test_similarities_without_embeddings(pair_model, model, pairs):
    """A similarity without effect is rejected."""
    data = {"queries": QUERIES, "corpus": CORPUS, "relevant_docs": RELEVANT}
    with pytest.raises(aoe.AoeValueError, match="cross-encoder"):
        aoe.evaluate_sts(pair_model, pairs[0], similarity="dot")
    with pytest.raises(aoe.AoeValueError, match="lexical"):
        aoe.evaluate_retrieval(model, **data, mode="lexical", similarity="dot")
    with pytest.raises(ValueError, match="similarity must be one of cosine, dot, euclidean, manhattan"):
        aoe.evaluate_sts(model, pairs[0], similarity="maxsim")
    with aoe.SentenceTransformer(similarity_fn_name="dot") as dot:
        assert "similarity" not in aoe.evaluate_retrieval(dot, **data, mode="lexical")


def test_ids_and_judgments_without_meaning(model):
    """They would give other metrics without a message."""
    queries, corpus = {"q": "a cat"}, {"1": "a cat", "2": "a plane"}
    for documents in ("1", b"1", None):
        with pytest.raises(TypeError, match=r"relevant_docs\['q'\] must be a collection of corpus ids"):
            aoe.evaluate_retrieval(model, queries=queries, corpus=corpus, relevant_docs={"q": documents})
    with pytest.raises(ValueError, match="corpus: the ids 1 and '1' are the same text"):
        aoe.evaluate_retrieval(model, queries=queries, corpus={1: "a cat", "1": "a plane"}, relevant_docs={"q": ["1"]})
    for output in (1.5, True):
        with pytest.raises(TypeError, match="score_class must be the name or the index"):
            aoe.evaluate_rerank(ROOT / "tests" / "golden" / "cross_encoders" / "bert", queries=queries, corpus=corpus,
                                relevant_docs={"q": ["1"]}, first=model, score_class=output)
    with pytest.raises(ValueError, match=r"U\+0000"):
        aoe.evaluate_sts(model, "pairs.tsv\0.old")
