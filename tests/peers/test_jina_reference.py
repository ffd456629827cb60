# SPDX-License-Identifier: MIT
"""Compares the gradients of the NumPy reference of JinaBERT with finite differences."""
import numpy as np
import pytest

from architectures.jina_bert import SIZES
from jina_reference import CODE, Reference, shapes


@pytest.mark.parametrize("origin", ["plain", CODE], ids=["plain", "code"])
def test_gradients(origin):
    random = np.random.default_rng(1)
    config = {**SIZES, "_name_or_path": origin}
    weights = {name: random.normal(size=shape) / (shape[-1] ** 0.5) for name, shape in shapes(config).items()}
    ids = random.integers(0, 40, 13)
    factors = [random.normal(size=(13, 24)) for _ in range(3)]
    types = np.array([0] * 8 + [1] * 5)
    value = lambda: sum((f * h).sum() for f, h in zip(factors, Reference(config, weights).forward(ids, types)))
    reference = Reference(config, weights)
    reference.forward(ids, types)
    gradients = reference.backward(factors)
    for name, weight in weights.items():
        direction = random.normal(size=weight.shape)
        step = 1e-6
        weights[name] = weight + step * direction
        higher = value()
        weights[name] = weight - step * direction
        slope = (higher - value()) / (2 * step)
        weights[name] = weight
        assert slope == pytest.approx((gradients[name] * direction).sum(), rel=1e-6, abs=1e-7), name
