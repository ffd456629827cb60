# SPDX-License-Identifier: MIT
"""Exports the encoder of torch_encoder.py for ort_encoder.js: export_onnx.py SHAPE FILE."""
import os
import sys

import torch

from torch_encoder import SHAPES, encoder


def main():
    shape, path = sys.argv[1:3]
    torch.manual_seed(42)
    batch_axes = {0: "texts", 1: "length"}
    torch.onnx.export(
        encoder(shape).eval(),
        (torch.randint(SHAPES[shape][4], (2, 16)), torch.ones(2, 16)),
        path + ".part",
        input_names=["ids", "attend"],
        output_names=["hidden"],
        dynamic_axes={"ids": batch_axes, "attend": batch_axes, "hidden": batch_axes},
        opset_version=14,
    )
    os.replace(path + ".part", path)


if __name__ == "__main__":
    main()
