# SPDX-License-Identifier: MIT
"""Similarities, search and groups, compared with direct computations."""
import numpy as np
import pytest

from aoe import util

RANDOM = np.random.default_rng(7)
A, B = RANDOM.standard_normal((40, 16), np.float32), RANDOM.standard_normal((30, 16), np.float32)


def cosines(a, b):
    return (a / np.linalg.norm(a, axis=1)[:, None]) @ (b / np.linalg.norm(b, axis=1)[:, None]).T


@pytest.mark.parametrize("name, expected", [
    ("cosine", lambda x, y: x @ y / np.linalg.norm(x) / np.linalg.norm(y)), ("dot", lambda x, y: x @ y),
    ("euclidean", lambda x, y: -np.linalg.norm(x - y)), ("manhattan", lambda x, y: -np.abs(x - y).sum()),
])
def test_similarity_functions(name, expected):
    matrix = util.ALL_PAIRS[name](A, B)
    assert np.allclose(matrix, [[expected(x, y) for y in B] for x in A], atol=1e-5)
    assert np.allclose(util.PAIRWISE[name](A[:30], B), np.diag(matrix[:30]), atol=1e-5)
    assert util.ALL_PAIRS[name](A[0].tolist(), B).shape == (1, 30)
    with pytest.raises(ValueError, match="components"):
        util.ALL_PAIRS[name](A, B[:, :3])
    with pytest.raises(ValueError, match="equal numbers"):
        util.PAIRWISE[name](A, B)


@pytest.mark.parametrize("name", util.PAIRWISE)
def test_types_and_shapes_of_similarities(name):
    """The shapes and types are those of sentence-transformers."""
    pairwise, all_pairs = util.PAIRWISE[name], util.ALL_PAIRS[name]
    number = pairwise(A[0], A[1])
    assert np.shape(number) == () and number.dtype == np.float32 and number == pairwise(A[:1], A[1:2])[0]
    assert np.allclose(pairwise(A[0], B), all_pairs(A[0], B)[0], atol=1e-5)  # one embedding with each of the others
    for given, result in ((np.float64, np.float64), (np.float32, np.float32), (np.float16, np.float32),
                          (np.int8, np.float32), (np.int64, np.float64)):
        x, y = (10 * A).astype(given), (10 * A[::-1]).astype(given)
        assert all_pairs(x, y).dtype == pairwise(x, y).dtype == pairwise(x[0], y[0]).dtype == result
        assert all_pairs(x[:0], y).dtype == result and all_pairs(x[:0], y).shape == (0, len(y))
    assert all_pairs(A.tolist(), B.tolist()).dtype == np.float32
    assert all_pairs(list(A.astype(np.float64)), B).dtype == np.float64
    exact = np.array([[1 + 2.0**-40, 0]])
    assert util.pairwise_dot_score(exact, exact)[0] > 1 + 2.0**-40  # is not rounded to float32
    unit = util.normalize_embeddings(A[0])
    assert unit.shape == A[0].shape and np.allclose(unit, A[0] / np.linalg.norm(A[0]), atol=1e-6)


def test_quantized_embeddings():
    for precision, kind, columns in (("int8", np.int8, 16), ("uint8", np.uint8, 16), ("binary", np.int8, 2),
                                     ("ubinary", np.uint8, 2), ("float32", np.float32, 16)):
        for ranges in (None, np.stack([A.min(0), A.max(0)])):
            empty = util.quantize_embeddings(A[:0], precision, ranges=ranges)
            assert empty.shape == (0, columns) and empty.dtype == kind
        assert util.quantize_embeddings([], precision) == []
        one = util.quantize_embeddings(A[3], precision, calibration_embeddings=A)
        assert np.array_equal(one, util.quantize_embeddings(A, precision, calibration_embeddings=A)[3])
    for shape in ((16,), (1, 16), (2, 15), (16, 2), (3, 16)):
        with pytest.raises(ValueError, match=r"ranges must have the shape \(2, 16\)"):
            util.quantize_embeddings(A, "int8", ranges=np.zeros(shape))
    with pytest.raises(TypeError, match="already quantized"):
        util.quantize_embeddings(A.astype(np.int8), "binary")
    with pytest.raises(ValueError, match="calibration_embeddings is empty"):
        util.quantize_embeddings(A, "int8", calibration_embeddings=A[:0])
    with pytest.raises(ValueError, match="precision"):
        util.quantize_embeddings([], "int4")


def test_number_of_hits():
    assert util.semantic_search(A[:3], B, top_k=0) == [[], [], []]
    assert len(util.semantic_search(A[:1], B, top_k=np.int64(2))[0]) == 2
    for top_k, error in ((-1, ValueError), (2.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match="top_k"):
            util.semantic_search(A, B, top_k=top_k)


@pytest.mark.parametrize("function", [util.cos_sim, util.dot_score])
def test_semantic_search(function):
    found = util.semantic_search(A, B, top_k=5, score_function=function, query_chunk_size=7)
    for scores, hits in zip(function(A, B), found):
        order = np.argsort(-scores, kind="stable")[:5]
        assert [hit["corpus_id"] for hit in hits] == order.tolist()
        assert np.allclose([hit["score"] for hit in hits], scores[order], atol=1e-5)
    assert len(util.semantic_search(A[0], B, top_k=100)[0]) == len(B)


def test_paraphrase_mining():
    pairs = util.paraphrase_mining_embeddings(A, top_k=len(A))
    expected = sorted(((cosines(A, A)[i, j], i, j) for i in range(40) for j in range(i + 1, 40)), reverse=True)
    assert len(pairs) == len(expected)
    assert [p[1:] for p in pairs[:50]] == [[i, j] for _, i, j in expected[:50]]
    assert util.paraphrase_mining_embeddings(A, max_pairs=3) == util.paraphrase_mining_embeddings(A)[:3]
    double = np.concatenate([A[:3]] * 3)  # equal vectors
    assert len(util.paraphrase_mining_embeddings(double, top_k=8)) == 9 * 8 // 2
    assert util.paraphrase_mining_embeddings(A[:1]) == []


def test_communities():
    centers = np.eye(4, 16, dtype=np.float32)
    points = np.concatenate([c + 0.05 * RANDOM.standard_normal((n, 16), np.float32)
                             for c, n in zip(centers, (12, 20, 3, 11))])
    groups = util.community_detection(points, threshold=0.8, min_community_size=10, batch_size=5)
    assert [sorted(group) for group in groups] == [list(range(12, 32)), list(range(12)), list(range(35, 46))]
    assert util.community_detection(points[:5]) == [] and util.community_detection(np.empty((0, 4))) == []


def test_values_that_are_no_embeddings():
    with pytest.raises(TypeError, match="numbers"):
        util.cos_sim(["a"], B)
    with pytest.raises(ValueError, match="dimensions"):
        util.cos_sim(A[None], B)
    with pytest.raises(ValueError, match="not finite"):
        util.semantic_search(A * np.nan, B)


@pytest.mark.parametrize("call, error, words", [
    (lambda v: util.paraphrase_mining_embeddings(v, top_k=-1), ValueError, "top_k must not be negative"),
    (lambda v: util.paraphrase_mining_embeddings(v, max_pairs=-1), ValueError, "max_pairs must not be negative"),
    (lambda v: util.paraphrase_mining(None, [], max_pairs=1.5), TypeError, "max_pairs must be an integer"),
    (lambda v: util.community_detection(v, threshold=float("nan")), ValueError, "threshold must be a number"),
    (lambda v: util.community_detection(v, threshold="0.5"), ValueError, "threshold must be a number"),
    (lambda v: util.community_detection(v, min_community_size=1.5), TypeError, "must be an integer"),
    (lambda v: util.community_detection(v, batch_size=0), ValueError, "batch_size must be a positive"),
    (lambda v: util.community_detection(np.vstack([v, v * np.nan])), ValueError, r"embeddings\[3\] is not finite"),
])
def test_arguments_without_meaning(call, error, words):
    """They would give other groups or pairs without a message."""
    with pytest.raises(error, match=words):
        call(np.eye(3, dtype=np.float32))
