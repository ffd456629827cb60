# SPDX-License-Identifier: MIT
"""A reference of JinaBERT (jina-embeddings-v2) in float64 NumPy. transformers has no implementation of this
architecture. The forward pass follows the formulas of the architecture, and the backward pass contains their
derivatives."""
import math

import numpy as np
from scipy.special import erf

CODE = "jinaai/jina-bert-v2-qk-post-norm"


def shapes(config):
    """Returns the shapes of the weights, by the names of published checkpoints."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    norm = lambda name: {name + ".weight": (hidden,), name + ".bias": (hidden,)}
    linear = lambda name, rows, columns: {name + ".weight": (rows, columns), name + ".bias": (rows,)}
    result = {"embeddings.word_embeddings.weight": (config["vocab_size"], hidden),
              "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], hidden),
              **norm("embeddings.LayerNorm")}
    for layer in (f"encoder.layer.{i}." for i in range(config["num_hidden_layers"])):
        for name in ("query", "key", "value"):
            result |= linear(f"{layer}attention.self.{name}", hidden, hidden)
        if config["_name_or_path"] == CODE:
            result |= norm(layer + "attention.self.layer_norm_q") | norm(layer + "attention.self.layer_norm_k")
        result |= linear(layer + "attention.output.dense", hidden, hidden) | norm(layer + "attention.output.LayerNorm")
        if config["_name_or_path"] == CODE:
            result |= norm(layer + "layer_norm_1") | norm(layer + "layer_norm_2")
            result |= {layer + "mlp.up_gated_layer.weight": (2 * inner, hidden)} | linear(layer + "mlp.down_layer",
                                                                                          hidden, inner)
        else:
            result |= {layer + "mlp.gated_layers.weight": (2 * inner, hidden)} | linear(layer + "mlp.wo", hidden, inner)
            result |= norm(layer + "mlp.layernorm")
    return result


def slopes(heads):
    """Slopes of ALiBi. For a power of two, slope h is 2^(-8 h / heads), h = 1, 2, ...; other numbers of heads take the
    slopes of the next lower power P, and then every second slope of 2 P."""
    if heads & (heads - 1) == 0:
        return [2 ** (-8 * h / heads) for h in range(1, heads + 1)]
    power = 2 ** int(math.log2(heads))
    return (slopes(power) + slopes(2 * power)[0::2])[:heads]


def gelu(x):
    """Returns GELU(x) and its derivative."""
    cdf = 0.5 * (1 + erf(x / math.sqrt(2)))
    return x * cdf, cdf + x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def head_shapes(config, labels):
    """Returns the shapes of the weights of the classification head, by name."""
    hidden = config["hidden_size"]
    return {"bert.pooler.dense.weight": (hidden, hidden), "bert.pooler.dense.bias": (hidden,),
            "classifier.weight": (labels, hidden), "classifier.bias": (labels,)}


def score(config, weights, head, ids, token_types):
    """Returns the outputs of a cross-encoder for one pair of texts: the classification head of BERT, a dense layer with
    tanh on the first hidden state and a linear layer."""
    first = Reference(config, weights).forward(ids, token_types)[-1][0]
    pooled = np.tanh(head["bert.pooler.dense.weight"] @ first + head["bert.pooler.dense.bias"])
    return head["classifier.weight"] @ pooled + head["classifier.bias"]


class Reference:
    """Computes one text. Each method of an operation returns its result and a function that maps the gradient of the
    result to the gradient of the input, and adds the gradients of the weights to `gradients`."""

    def __init__(self, config, weights):
        self.config, self.weights, self.gradients, self.steps = config, weights, {}, []

    def add(self, name, gradient):
        self.gradients[name] = self.gradients[name] + gradient

    def linear(self, name, x):
        weight, bias = self.weights[name + ".weight"], self.weights.get(name + ".bias")

        def backward(dy):
            self.add(name + ".weight", dy.T @ x)
            if bias is not None:
                self.add(name + ".bias", dy.sum(0))
            return dy @ weight

        return x @ weight.T + (0 if bias is None else bias), backward

    def norm(self, name, x):
        weight = self.weights[name + ".weight"]
        centered = x - x.mean(1, keepdims=True)
        scale = 1 / np.sqrt((centered**2).mean(1, keepdims=True) + self.config["layer_norm_eps"])
        unit = centered * scale

        def backward(dy):
            self.add(name + ".weight", (dy * unit).sum(0))
            self.add(name + ".bias", dy.sum(0))
            d = dy * weight
            return scale * (d - d.mean(1, keepdims=True) - unit * (d * unit).mean(1, keepdims=True))

        return unit * weight + self.weights[name + ".bias"], backward

    def attention(self, q, k, v):
        heads = self.config["num_attention_heads"]
        split = lambda x: x.reshape(len(x), heads, -1).transpose(1, 0, 2)
        join = lambda x: x.transpose(1, 0, 2).reshape(x.shape[1], -1)
        q, k, v = split(q), split(k), split(v)
        factor = 1 / math.sqrt(q.shape[-1])
        position = np.arange(q.shape[1])
        bias = np.array(slopes(heads))[:, None, None] * np.abs(position[:, None] - position[None, :])
        scores = factor * q @ k.transpose(0, 2, 1) - bias
        weights = np.exp(scores - scores.max(2, keepdims=True))
        weights /= weights.sum(2, keepdims=True)

        def backward(dy):
            dy = split(dy)
            dw = dy @ v.transpose(0, 2, 1)
            ds = factor * weights * (dw - (dw * weights).sum(2, keepdims=True))
            return join(ds @ k), join(ds.transpose(0, 2, 1) @ q), join(weights.transpose(0, 2, 1) @ dy)

        return join(weights @ v), backward

    def attention_block(self, layer, x, code):
        own, steps, rows = layer + "attention.self.", {}, {}
        for name in ("query", "key", "value"):
            rows[name], steps[name] = self.linear(own + name, x)
        if code:
            rows["query"], norm_q = self.norm(own + "layer_norm_q", rows["query"])
            rows["key"], norm_k = self.norm(own + "layer_norm_k", rows["key"])
        context, attend = self.attention(rows["query"], rows["key"], rows["value"])
        out, dense = self.linear(layer + "attention.output.dense", context)
        y, norm = self.norm(layer + "attention.output.LayerNorm", out + x)

        def backward(dy):
            dsum = norm(dy)
            dq, dk, dv = attend(dense(dsum))
            if code:
                dq, dk = norm_q(dq), norm_k(dk)
            return dsum + steps["query"](dq) + steps["key"](dk) + steps["value"](dv)

        return y, backward

    def feed_forward(self, first, second, x, gate_is_first):
        both, up = self.linear(first, x)
        inner = both.shape[1] // 2
        gate, value = (both[:, :inner], both[:, inner:]) if gate_is_first else (both[:, inner:], both[:, :inner])
        activated, derivative = gelu(gate)
        y, down = self.linear(second, activated * value)

        def backward(dy):
            d = down(dy)
            dgate, dvalue = d * value * derivative, d * activated
            return up(np.concatenate([dgate, dvalue] if gate_is_first else [dvalue, dgate], axis=1))

        return y, backward

    def plain_layer(self, layer, x):
        a, attention = self.attention_block(layer, x, False)
        f, mlp = self.feed_forward(layer + "mlp.gated_layers", layer + "mlp.wo", a, True)
        y, norm = self.norm(layer + "mlp.layernorm", a + f)

        def backward(dy):
            d = norm(dy)
            return attention(d + mlp(d))

        return y, backward

    def code_layer(self, layer, x):
        a, attention = self.attention_block(layer, x, True)
        h, norm1 = self.norm(layer + "layer_norm_1", x + a)
        f, mlp = self.feed_forward(layer + "mlp.up_gated_layer", layer + "mlp.down_layer", h, False)
        y, norm2 = self.norm(layer + "layer_norm_2", h + f)

        def backward(dy):
            d = norm2(dy)
            d = norm1(d + mlp(d))
            return d + attention(d)

        return y, backward

    def forward(self, ids, token_types=0):
        """Returns the hidden states: the embedding output, and the output of each layer."""
        words, types = "embeddings.word_embeddings.weight", "embeddings.token_type_embeddings.weight"
        x, norm = self.norm("embeddings.LayerNorm", self.weights[words][ids] + self.weights[types][token_types])

        def embedding_backward(dy):
            d = norm(dy)
            np.add.at(self.gradients[words], ids, d)
            np.add.at(self.gradients[types], token_types, d if np.ndim(token_types) else d.sum(0))

        hidden, self.steps = [x], [embedding_backward]
        compute = self.code_layer if self.config["_name_or_path"] == CODE else self.plain_layer
        for i in range(self.config["num_hidden_layers"]):
            x, backward = compute(f"encoder.layer.{i}.", x)
            hidden.append(x)
            self.steps.append(backward)
        return hidden

    def backward(self, hidden_gradients):
        """Returns the gradients of all weights by name, given the gradients of the hidden states that forward
        returned."""
        self.gradients = {name: np.zeros_like(weight) for name, weight in self.weights.items()}
        d = 0
        for step, own in zip(reversed(self.steps), reversed(hidden_gradients)):
            d = step(own + d)
        return self.gradients
