# SPDX-License-Identifier: MIT
"""Creates the files of the engines that engine.py and step.py measure.

    prepare.py FORMAT MODEL OUTPUT [ARGUMENT]

FORMAT is one of
    bert-base        OUTPUT: a directory of sentence-transformers with the shape of BERT-base, random weights, and the
                     tokenizer and the settings of MODEL
    onnx             OUTPUT: MODEL with mean pooling and normalization as an ONNX graph
    onnx-int8        MODEL: an ONNX graph; OUTPUT: the graph with int8 weights, one scale per output channel, and
                     activations that are quantized at run time
    openvino         MODEL: an ONNX graph; OUTPUT: the graph in the format of OpenVINO (.xml)
    openvino-int8    MODEL: a graph of OpenVINO; OUTPUT: the graph quantized by NNCF with the texts of a file; ARGUMENT:
                     the directory of the tokenizer, a comma, and the file
    gguf-TYPE        OUTPUT: MODEL in the format of llama.cpp; TYPE: f32, bf16 or q8_0; ARGUMENT: the directory of the
                     sources of llama-cpp-python, which contain the converter
"""
import json
import os
import shutil
import subprocess
import sys


def bert_base(source, output):
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(42)
    config = BertConfig()
    BertModel(config).save_pretrained(output)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "modules.json",
                 "sentence_bert_config.json", "config_sentence_transformers.json"):
        if os.path.exists(os.path.join(source, name)):
            shutil.copy(os.path.join(source, name), output)
    os.makedirs(os.path.join(output, "1_Pooling"), exist_ok=True)
    with open(os.path.join(source, "1_Pooling", "config.json"), encoding="utf-8") as file:
        pooling = json.load(file)
    pooling.update({key: config.hidden_size for key in pooling if key.endswith("embedding_dimension")})
    with open(os.path.join(output, "1_Pooling", "config.json"), "w", encoding="utf-8") as file:
        json.dump(pooling, file, indent=2)


def onnx(model, output):
    import torch
    from transformers import AutoModel

    class Embedder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = AutoModel.from_pretrained(model, attn_implementation="eager")

        def forward(self, ids, mask):
            hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
            mask = mask[:, :, None].float()
            return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)

    ones = torch.ones(2, 8, dtype=torch.long)
    axes = {0: "texts", 1: "length"}
    torch.onnx.export(Embedder().eval(), (ones, ones), output, input_names=["ids", "mask"], output_names=["vectors"],
                      dynamic_axes={"ids": axes, "mask": axes, "vectors": {0: "texts"}}, opset_version=17, dynamo=False)


def onnx_int8(graph, output):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(graph, output, weight_type=QuantType.QInt8, per_channel=True)


def openvino(graph, output):
    import openvino as ov

    ov.save_model(ov.convert_model(graph), output, compress_to_fp16=False)


def openvino_int8(graph, output, argument):
    import nncf
    import openvino as ov

    from engine import Batches

    tokenizer, texts = argument.split(",")
    with open(texts, encoding="utf-8") as file:
        lines = file.read().splitlines()
    batches = Batches(tokenizer)
    items = [{"ids": ids, "mask": mask} for line in lines for _, ids, mask in batches.of([line])]
    quantized = nncf.quantize(ov.Core().read_model(graph), nncf.Dataset(items), model_type=nncf.ModelType.TRANSFORMER,
                              subset_size=len(items))
    ov.save_model(quantized, output, compress_to_fp16=False)


def gguf(kind, model, output, sources):
    converter = os.path.join(sources, "vendor", "llama.cpp", "convert_hf_to_gguf.py")
    subprocess.run([sys.executable, converter, model, "--outfile", output, "--outtype", kind], check=True)


def main():
    kind, *arguments = sys.argv[1:]
    if kind.startswith("gguf-"):
        gguf(kind[len("gguf-") :], *arguments)
    else:
        {"bert-base": bert_base, "onnx": onnx, "onnx-int8": onnx_int8, "openvino": openvino,
         "openvino-int8": openvino_int8}[kind](
            *arguments)


if __name__ == "__main__":
    main()
