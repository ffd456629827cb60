# SPDX-License-Identifier: MIT
"""Text embeddings on CPUs, without PyTorch, with the calls of sentence-transformers.

    import aoe
    model = aoe.SentenceTransformer()                    # the default model, which is part of the package
    vectors = model.encode(["She cooks rice.", "She boils rice."])
    print(model.similarity(vectors, vectors))
"""
from . import util
from ._data import Data
from ._documents import Document, Hit, Hits
from ._model import download
from ._native import (AoeError, AoeFileExistsError, AoeFileNotFoundError, AoeMemoryError, AoeOSError,
                      AoeUnsupportedError, AoeValueError, load as _load)
from .cross_encoder import CrossEncoder
from .evaluation import (evaluate_pairs, evaluate_rerank, evaluate_retrieval, evaluate_sts, evaluate_suite,
                         evaluate_triplets)
from .index import Index
from .pretraining import pretrain, pretraining_options
from .runs import StopTraining, TrainingEvent
from .sentence_transformer import SentenceTransformer
from .trainer import Trainer
from .training import train, training_options

__version__: str = _load().aoe_version().decode()
__all__ = ["AoeError", "AoeFileExistsError", "AoeFileNotFoundError", "AoeMemoryError", "AoeOSError",
           "AoeUnsupportedError", "AoeValueError", "CrossEncoder", "Data", "Document", "Hit", "Hits", "Index",
           "SentenceTransformer", "StopTraining", "Trainer", "TrainingEvent", "download", "evaluate_pairs",
           "evaluate_rerank", "evaluate_retrieval", "evaluate_sts", "evaluate_suite", "evaluate_triplets",
           "pretrain", "pretraining_options", "train", "training_options", "util"]
