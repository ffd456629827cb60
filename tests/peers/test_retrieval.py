# SPDX-License-Identifier: MIT
"""`aoe eval retrieval` and `aoe eval rerank` on random BEIR folders with odd judgments, compared with pytrec_eval.

Ids are compared by bytes, equal texts give equal scores, and judgments may name documents and queries that do not
exist, repeat, and have grades of 0 or below. The embeddings and their cosines are those of aoe, so that only the
metrics are compared."""
import json
import pathlib
import random

import numpy as np
import pytest
import pytrec_eval

FOLDERS = 300
K = 10
GRADES = [-1, 0, 0, 1, 1, 1, 2, 3, 50]  # pytrec_eval 0.5 crashes for some lists with grades below -1
WORDS = "harbor engine ladder garden window river copper lantern violin meadow".split()


def draw_ids(rng, prefix, n):
    """Draws n distinct ids: numbers without leading zeros, letters of both cases, and letters outside ASCII."""
    forms = [lambda i: f"{prefix}{i}", lambda i: str(i), lambda i: f"{'aBé'[i % 3]}{i}",
             lambda i: f"{prefix.upper()}-{i:03}"]
    return [rng.choice(forms)(i) for i in rng.sample(range(1000), n)]


def draw_text(rng, texts):
    """Draws a text that may be equal to an earlier one, empty, or surrounded by white space."""
    if texts and rng.random() < 0.4:
        return rng.choice(texts)
    text = " ".join(rng.choices(WORDS, k=rng.randint(1, 5)))
    return rng.choice(["", text, text, text, f" {text}\u00a0", f"{text}\n"])


def write_folder(rng, folder):
    """Writes a BEIR folder. Returns the documents, the queries and the judgments as BEIR reads them."""
    (folder / "qrels").mkdir(parents=True)
    corpus, queries, texts = [], [], []
    for i in draw_ids(rng, "d", rng.randint(1, 25)):
        texts.append(draw_text(rng, texts))
        entry = {"_id": i, "text": texts[-1]}
        if rng.random() < 0.5:
            entry["title"] = rng.choice(["", "", "river", " "])
        corpus.append(entry)
    for i in draw_ids(rng, "q", rng.randint(1, 6)):
        queries.append({"_id": i, "text": rng.choice(WORDS)})
    if rng.random() < 0.3:  # the query is a document
        queries.append({"_id": corpus[0]["_id"], "text": rng.choice(WORDS)})
    if rng.random() < 0.2:  # an id occurs twice
        corpus.append({"_id": corpus[0]["_id"], "text": rng.choice(WORDS)})
    if rng.random() < 0.2:
        queries.append({"_id": queries[0]["_id"], "text": rng.choice(WORDS)})
    rows = []
    for query in [*dict.fromkeys(q["_id"] for q in queries), "no-query"]:
        for _ in range(rng.choice([0, 1, 2, 3, 12])):
            document = rng.choice([d["_id"] for d in corpus] + ["no-document", "no-document-2", "é-none"])
            rows.append((query, document, rng.choice(GRADES)))
    rng.shuffle(rows)
    end = rng.choice(["\n", "\r\n"])
    for name, entries in (("corpus", corpus), ("queries", queries)):
        lines = [json.dumps(e, ensure_ascii=rng.random() < 0.5) for e in entries]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + rng.choice(["", "\n"]), encoding="utf-8")
    header = ("query-id", "corpus-id", "score")
    with open(folder / "qrels" / "test.tsv", "w", encoding="utf-8", newline="") as f:
        f.write(end.join("\t".join(map(str, row)) for row in (header, *rows)) + end)
    qrels = {}
    for query, document, grade in rows:
        qrels.setdefault(query, {})[document] = grade
    documents = {d["_id"]: f"{d['title']} {d['text']}".strip() if d.get("title") else d["text"].strip() for d in corpus}
    return documents, {q["_id"]: q["text"] for q in queries}, qrels


def measures(qrels, run):
    """Returns the mean metrics of pytrec_eval with the names of aoe's JSON."""
    names = {"ndcg": f"ndcg_cut_{K}", "1": "recall_1", "5": "recall_5", "10": "recall_10"}
    values = pytrec_eval.RelevanceEvaluator(qrels, {f"ndcg_cut.{K}", "recall.1,5,10"}).evaluate(run).values()
    return {name: float(np.mean([v[key] for v in values])) for name, key in names.items()}


@pytest.fixture(scope="module")
def model(aoe, tmp_path_factory):
    folder = tmp_path_factory.mktemp("retrieval")
    (folder / "text.txt").write_text("\n".join(WORDS) + "\n")
    aoe.run("init", "-q", "--shape", "bert-tiny", "--vocab-from", folder / "text.txt", "--vocab-size", 60, "-o",
            folder / "model")
    return folder / "model"


def cosines(aoe, model, texts):
    vectors = aoe.embed(model, texts)
    return dict(zip(texts, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)))


def draw_folders(tmp_path, seed):
    """Yields folders in which a query has a relevant document; aoe rejects other folders by name."""
    rng = random.Random(seed)
    for i in range(FOLDERS):
        folder = tmp_path / f"set{i}"
        yield folder, write_folder(rng, folder)


def exact_scores(document_vectors, query):
    """Cosines that are equal if and only if the vectors are equal, in spite of rounding."""
    return {text: float(np.float32(np.dot(vector.astype(np.float64), query.astype(np.float64))))
            for text, vector in document_vectors.items()}


def test_odd_folders(aoe, model, tmp_path):
    """Documents with equal texts have equal cosines. Folders in which cosines of different texts are too close are left
    out."""
    compared = rejected = close = 0
    for folder, (documents, queries, qrels) in draw_folders(tmp_path, 1):
        known = {q: grades for q, grades in qrels.items() if q in queries}
        if not any(g > 0 for grades in known.values() for g in grades.values()):
            assert "no text is relevant" in aoe.run("eval", "retrieval", "-m", model, folder, fails=True).stderr
            rejected += 1
            continue
        vectors = cosines(aoe, model, sorted({*documents.values(), *queries.values()}))
        run, skip = {}, False
        for query in known:
            scores = exact_scores({t: vectors[t] for t in documents.values()}, vectors[queries[query]])
            values = sorted(scores.values())
            skip = skip or any(b - a < 1e-6 for a, b in zip(values, values[1:]))
            run[query] = {d: scores[text] for d, text in documents.items() if d != query}
        if skip:
            close += 1
            continue
        done = aoe.run("eval", "retrieval", "-m", model, folder, "--dtype", "f32", "--json")
        got, want = json.loads(done.stdout), measures(known, run)
        for name, value in {"ndcg": got["ndcg"], **got["recall"]}.items():
            assert abs(value - want[name]) < 5e-5, (folder, name, value, want[name])
        missing = {(q, d) for q, grades in known.items() for d in grades if d not in documents}
        assert got["missing_texts"] == len(missing)
        assert ("corpus.jsonl does not contain" in done.stderr) == bool(missing)
        compared += 1
    assert compared >= FOLDERS // 2, (compared, rejected, close)


def test_run_files(aoe, tmp_path):
    """The first stage of `aoe eval rerank` is a run file with equal scores, whose ranks contradict them."""
    rng = random.Random(2)
    reranker = pathlib.Path(__file__).resolve().parent.parent / "golden" / "cross_encoders" / "bert"
    compared = 0
    for folder, (documents, queries, qrels) in draw_folders(tmp_path, 3):
        known = {q: grades for q, grades in qrels.items() if q in queries}
        if compared == 60 or not any(g > 0 for grades in known.values() for g in grades.values()):
            continue
        run = {q: {d: rng.choice([1.5, 1.5, 2.0, 1 + 1e-9, 1.0, -3.25]) for d in documents if d != q} for q in known}
        lines = [f"{q} Q0 {d} {i} {score!r} x" for q, scores in run.items() for i,
                 (d, score) in enumerate(scores.items())]
        rng.shuffle(lines)
        (folder / "first.run").write_text("\n".join(lines) + "\n", encoding="utf-8")
        if any(not scores for scores in run.values()):
            continue
        done = aoe.run("eval", "rerank", folder, "-m", reranker, "--class", 1, "--run", folder / "first.run", "--json")
        got, want = json.loads(done.stdout)["first"], measures(known, run)
        assert abs(got["ndcg"] - want["ndcg"]) < 5e-5, (folder, got, want)
        compared += 1
    assert compared == 60
