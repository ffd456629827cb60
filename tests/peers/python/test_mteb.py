# SPDX-License-Identifier: MIT
"""MTEB 2: the three protocols in a task of similarities and a task of retrieval whose data are written here, and in a
task of reranking. Scores are compared with those that this test computes itself."""
import datasets
import mteb
import numpy as np
import pytest
from conftest import expected
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.sts import AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models import CrossEncoderProtocol, EncoderProtocol, SearchProtocol
from scipy.stats import spearmanr

import aoe
from aoe.mteb import AoeCrossEncoder, AoeEncoder, AoeSearch

FOODS = ["rice", "bread", "soup", "fish", "beans", "pasta"]
CITIES = ["Berlin", "Rome", "Paris", "Oslo", "Vienna", "Bern"]
CORPUS = [f"She cooks {food} in the kitchen." for food in FOODS] + \
    [f"The train to {city} leaves at noon." for city in CITIES]
QUERIES = [f"preparing {food}" for food in FOODS] + [f"railway connection to {city}" for city in CITIES]
PAIRS = [(CORPUS[i], QUERIES[j], 5.0 if i == j else 2.0 if (i < 6) == (j < 6) else 0.0)
         for i in range(0, 12, 2) for j in range(0, 12, 3)]


def metadata(name, kind, score):
    return TaskMetadata(name=name, description="data of a test", type=kind, category="t2t", eval_splits=["test"],
                        eval_langs=["eng-Latn"], main_score=score, dataset={"path": "tests/" + name, "revision": "1"},
                        reference=None, date=None, domains=[], task_subtypes=[], license=None,
                        annotations_creators=None, dialect=[], sample_creation=None, bibtex_citation="")


class Similarities(AbsTaskSTS):
    metadata = metadata("AoeSimilarities", "STS", "cosine_spearman")
    min_score, max_score = 0, 5

    def load_data(self, *arguments, **keywords):
        first, second, scores = zip(*PAIRS)
        rows = {"sentence1": first, "sentence2": second, "score": scores}
        self.dataset = datasets.DatasetDict({"test": datasets.Dataset.from_dict(rows)})
        self.data_loaded = True


def split(top_ranked=None, corpus=CORPUS, queries=QUERIES):
    return {"corpus": datasets.Dataset.from_dict({"id": [f"d{i}" for i in range(12)], "text": corpus}),
            "queries": datasets.Dataset.from_dict({"id": [f"q{i}" for i in range(12)], "text": queries}),
            "relevant_docs": {f"q{i}": {f"d{i}": 1} for i in range(12)}, "top_ranked": top_ranked}


class Retrieval(AbsTaskRetrieval):
    metadata = metadata("AoeRetrieval", "Retrieval", "ndcg_at_10")

    def load_data(self, *arguments, **keywords):
        self.dataset = {"default": {"test": split()}}
        self.data_loaded = True


class Reranking(AbsTaskRetrieval):
    metadata = metadata("AoeReranking", "Reranking", "map_at_1000")
    top_ranked = {f"q{i}": [f"d{j % 12}" for j in range(i - 2, i + 3)] for i in range(12)}

    def load_data(self, *arguments, **keywords):
        self.dataset = {"default": {"test": split(self.top_ranked)}}
        self.data_loaded = True


class RerankingOfWords(Reranking):
    """Texts of the words that the tiny cross-encoder knows."""

    corpus = [f"w{i} w{i + 7} w{(5 * i) % 35}" for i in range(12)]
    queries = [f"w{(3 * i) % 35} w{i + 20}" for i in range(12)]

    def load_data(self, *arguments, **keywords):
        self.dataset = {"default": {"test": split(self.top_ranked, self.corpus, self.queries)}}
        self.data_loaded = True


def evaluate(model, task):
    result = mteb.evaluate(model, task, cache=None, show_progress_bar=False, co2_tracker=False)
    return result.task_results[0].scores["test"][0]


def mean_ndcg(scores, allowed=None):
    """Returns the nDCG at 10 for scores[n, m] in which document i is the only relevant one for query i."""
    gains = []
    for i, row in enumerate(scores):
        order = [j for j in np.argsort(-row) if allowed is None or f"d{j}" in allowed[f"q{i}"]]
        rank = order.index(i)
        gains.append(1 / np.log2(rank + 2) if rank < 10 else 0)
    return np.mean(gains)


def test_protocols(model, ranker):
    assert isinstance(AoeEncoder(model), EncoderProtocol) and not isinstance(AoeEncoder(model), SearchProtocol)
    assert isinstance(AoeCrossEncoder(ranker), CrossEncoderProtocol)
    assert isinstance(AoeSearch(model), SearchProtocol) and not isinstance(AoeSearch(model), EncoderProtocol)
    meta = AoeEncoder(model).mteb_model_meta
    assert meta.name.startswith("aoe/") and meta.embed_dim == 384 and not meta.is_cross_encoder


def test_similarities(model):
    scores = evaluate(AoeEncoder(model), Similarities())
    first, second, truth = zip(*PAIRS)
    cosines = model.similarity_pairwise(model.encode(list(first)), model.encode(list(second)))
    assert scores["cosine_spearman"] == pytest.approx(spearmanr(truth, cosines)[0], abs=1e-4)
    assert scores["main_score"] > 0.7


def test_retrieval_with_prompts(prompted):
    q, d = expected(prompted, QUERIES, CORPUS)
    want = mean_ndcg(aoe.util.cos_sim(q, d))
    assert evaluate(AoeEncoder(prompted), Retrieval())["ndcg_at_10"] == pytest.approx(want, abs=1e-4)
    search = AoeSearch(prompted, mode="dense")
    assert evaluate(search, Retrieval())["ndcg_at_10"] == pytest.approx(want, abs=1e-4)
    search.close()


def test_prompts_of_tasks(model):
    prompts = {"AoeSimilarities": "compare: ", "Retrieval-query": "find: "}
    with aoe.SentenceTransformer(prompts=prompts) as changed:
        encoder = AoeEncoder(changed)
        arguments = {"hf_split": "test", "hf_subset": "default"}
        batches = [{"text": QUERIES[:3]}, {"text": QUERIES[3:5]}]
        vectors = encoder.encode(batches, task_metadata=Similarities.metadata, **arguments)
        assert np.array_equal(vectors, model.encode(QUERIES[:5], prompt="compare: "))
        side = mteb.types.PromptType.query
        vectors = encoder.encode(batches, task_metadata=Retrieval.metadata, prompt_type=side, **arguments)
        assert np.array_equal(vectors, model.encode(QUERIES[:5], prompt="find: "))
        with pytest.raises(NotImplementedError):
            encoder.encode(batches, task_metadata=Retrieval.metadata, other=1, **arguments)
        with pytest.raises(NotImplementedError, match="texts only"):
            encoder.encode([{"image": []}], task_metadata=Retrieval.metadata, **arguments)


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_search_modes(model, mode):
    search = AoeSearch(model, mode=mode)
    assert search.mteb_model_meta.name.endswith(mode)
    scores = evaluate(search, Retrieval())
    assert scores["ndcg_at_10"] > 0.9  # each query has a word of its document
    search.close()


def test_reranking(model, ranker):
    allowed = Reranking.top_ranked
    cosines = aoe.util.cos_sim(model.encode_query(QUERIES), model.encode_document(CORPUS))
    want = mean_ndcg(cosines, allowed)
    assert evaluate(AoeEncoder(model), Reranking())["ndcg_at_10"] == pytest.approx(want, abs=1e-4)
    search = AoeSearch(model, mode="dense")
    assert evaluate(search, Reranking())["ndcg_at_10"] == pytest.approx(want, abs=1e-4)
    search.close()


def test_reranking_with_a_cross_encoder(ranker):
    task = RerankingOfWords()
    with aoe.CrossEncoder(ranker) as opened:
        scores = opened.predict([(q, d) for q in task.queries for d in task.corpus]).reshape(12, 12)
        got = evaluate(AoeCrossEncoder(opened), task)
    assert got["ndcg_at_10"] == pytest.approx(mean_ndcg(scores, task.top_ranked), abs=1e-4)


def test_long_documents_are_ranked_by_their_best_passage(model, tmp_path):
    search = AoeSearch(model, mode="dense", directory=tmp_path)
    texts = ["The weather was fine. " * 400 + "She cooks rice.", "The train is late.", "He plays chess."]
    corpus = datasets.Dataset.from_dict({"id": ["long", "b", "c"], "text": texts})
    queries = datasets.Dataset.from_dict({"id": ["q"], "text": ["fine weather"]})
    arguments = {"task_metadata": Retrieval.metadata, "hf_split": "test", "hf_subset": "default",
                 "encode_kwargs": {}, "num_proc": None}
    with pytest.raises(ValueError, match="index before"):
        search.search(queries, top_k=3, **arguments)
    search.index(corpus, **arguments)
    found = search.search(queries, top_k=3, **arguments)
    assert set(found["q"]) == {"long", "b", "c"} and max(found["q"], key=found["q"].get) == "long"
    search.close()
    assert not list(tmp_path.iterdir())
