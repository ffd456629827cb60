# SPDX-License-Identifier: MIT
"""scikit-learn: parameters, clone, pipelines, grid search, column transformers, pickle."""
import pickle

import numpy as np
import pandas
import pytest
from conftest import TEXTS, expected
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import aoe
from aoe.sklearn import AoeTransformer

LABELS = [0, 0, 1, 1]
MANY = [f"She cooks {food}." for food in ("rice", "soup", "beans", "pasta", "fish", "corn")] + \
    [f"The train to {city} is late." for city in ("Bonn", "Berlin", "Rome", "Paris", "Oslo", "Bern")]


def test_vectors(prompted):
    q, d = expected(prompted, TEXTS, TEXTS)
    assert np.array_equal(AoeTransformer(prompted).fit_transform(TEXTS), d)
    assert np.array_equal(AoeTransformer(prompted, kind="query").transform(np.array(TEXTS)), q)
    with aoe.SentenceTransformer(prompted) as model:
        plain = model.encode(TEXTS, prompt="")
        assert np.array_equal(AoeTransformer(model, kind="none").transform(pandas.Series(TEXTS)), plain)
        short = AoeTransformer(model, truncate_dim=64, normalize=True).transform(TEXTS)
    assert short.shape == (4, 64) and np.allclose(np.linalg.norm(short, axis=1), 1, atol=1e-6)
    assert AoeTransformer().transform([]).shape == (0, 384)


def test_parameters_and_clone(model):
    transformer = AoeTransformer(model, kind="query", truncate_dim=8)
    assert transformer.get_params() == {"model": model, "kind": "query", "truncate_dim": 8, "normalize": False}
    copy = clone(transformer)
    assert np.array_equal(copy.transform(TEXTS), transformer.transform(TEXTS))
    assert copy.set_params(truncate_dim=4).transform(TEXTS).shape == (4, 4)
    assert list(copy.get_feature_names_out()) == ["aoe0", "aoe1", "aoe2", "aoe3"]
    assert clone(AoeTransformer()).get_params()["model"] is None


def test_set_params_opens_another_model(prompted):
    transformer = AoeTransformer()
    first = transformer.transform(TEXTS)
    assert not np.array_equal(transformer.set_params(model=prompted).transform(TEXTS), first)


def test_pipeline_and_pickle():
    pipeline = make_pipeline(AoeTransformer(), LogisticRegression()).fit(MANY, [0] * 6 + [1] * 6)
    assert list(pipeline.predict(["He bakes bread.", "The bus to Vienna is late."])) == [0, 1]
    again = pickle.loads(pickle.dumps(pipeline))
    assert np.array_equal(again.predict_proba(TEXTS), pipeline.predict_proba(TEXTS))


def test_grid_search_in_processes():
    search = GridSearchCV(make_pipeline(AoeTransformer(), LogisticRegression()),
                          {"aoetransformer__truncate_dim": [16, None]}, cv=2, n_jobs=2)
    search.fit(MANY, [0] * 6 + [1] * 6)
    assert search.best_score_ == 1.0


def test_table_with_other_columns():
    frame = pandas.DataFrame({"text": TEXTS, "n": [1.0, 2.0, 3.0, 4.0]})
    columns = ColumnTransformer([("text", AoeTransformer(truncate_dim=5), "text"), ("rest", "passthrough", ["n"])])
    assert columns.fit_transform(frame).shape == (4, 6)
    assert list(columns.get_feature_names_out())[-1] == "rest__n"
    columns.set_output(transform="pandas")
    assert list(columns.fit_transform(frame).columns)[:2] == ["text__aoe0", "text__aoe1"]
    assert AoeTransformer().transform(frame[["text"]]).shape == (4, 384)


def test_wrong_input():
    for texts in ("one string", None, [None], [1], [["a"]], pandas.DataFrame({"a": ["x"], "b": ["y"]})):
        with pytest.raises((TypeError, ValueError)):
            AoeTransformer().fit(texts)
        with pytest.raises((TypeError, ValueError)):
            AoeTransformer().transform(texts)
    for arguments in ({"kind": "other"}, {"truncate_dim": 0}):
        with pytest.raises(ValueError):
            AoeTransformer(**arguments).fit(TEXTS)
