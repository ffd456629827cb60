# SPDX-License-Identifier: MIT
"""Writes the figures of run.py as Markdown tables.

    tables.py FIGURES.json [FILE]    prints the tables, or replaces the tables in FILE (run.py --docs)
"""
import json
import re
import sys

BEGIN, END = "<!-- bench-peers -->", "<!-- end of bench-peers -->"

# The engines of other projects that compute in one type.
PEERS = {
    "f32": ["PyTorch f32", "sentence-transformers f32", "ONNX Runtime f32", "llama.cpp F32"],
    "bf16": ["PyTorch bf16", "PyTorch bf16, compiled", "sentence-transformers bf16", "OpenVINO bf16", "llama.cpp BF16"],
    "int8": ["ONNX Runtime int8", "OpenVINO int8 (NNCF)", "llama.cpp Q8_0"],
}

# Targets of the project: engine of aoe, other engine (a key of PEERS: the best of these engines), metric, pattern of
# the input, least ratio. For times, the ratio is that of the other engine to aoe, so that a larger ratio is better for
# every metric.
MINILM, BERT = "^all-MiniLM-L6-v2", "^BERT-base"
TARGETS = [
    ("aoe int8", "aoe bf16", "tokens_per_second", MINILM, 1.6),
    ("aoe int8", "ONNX Runtime int8", "tokens_per_second", MINILM, 1.25),
    ("aoe int8", "aoe bf16", "tokens_per_second", BERT, 1.6),
    ("aoe int8", "ONNX Runtime int8", "tokens_per_second", BERT, 1.25),
    ("aoe bf16", "OpenVINO bf16", "tokens_per_second", MINILM, 1.25),
    ("aoe bf16", "PyTorch bf16", "tokens_per_second", MINILM, 1.4),
    ("aoe bf16", "OpenVINO bf16", "tokens_per_second", BERT, 1.15),
    ("aoe bf16", "PyTorch bf16", "tokens_per_second", BERT, 1.3),
    ("aoe f32", "ONNX Runtime f32", "tokens_per_second", " sentences$", 1.1),
    ("aoe f32", "ONNX Runtime f32", "tokens_per_second", " (abstracts|paragraphs)$", 1.25),
    ("aoe bf16", "bf16", "p50_ms", MINILM + ", one text of 16", 1.33),
    ("aoe f32", "f32", "p50_ms", MINILM + ", one text of 16", 1.33),
    ("aoe int8", "int8", "p50_ms", MINILM + ", one text of 16", 1.33),
    ("aoe bf16", "PyTorch bf16", "step_ms", "^fine-tuning", 3.0),
]


def number(value, digits=1):
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 or digits == 0 else f"{value:.{digits}f}"


def cosine(value):
    return "" if value is None else f"{value:.4f}"


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines) + "\n"


def select(figures, measure):
    return [result for result in figures["results"] if result["measure"] == measure]


def distinct(values):
    return list(dict.fromkeys(values))


def find(results, **wanted):
    """Returns the result with these values, or {} if there is none."""
    return next((r for r in results if all(r[key] == value for key, value in wanted.items())), {})


def plural(threads):
    return f"{threads} thread" + ("" if threads == 1 else "s")


def speed(figures):
    results, text = select(figures, "embed"), ""
    threads = [n for n in figures["threads"] if find(results, threads=n)]
    for name in distinct(r["input"] for r in results):
        tokens = find(results, input=name)["tokens"]
        header = ["engine", *(f"{what}, {plural(n)}" for n in threads for what in ("texts/s", "tokens/s")),
                  "lowest cosine", "mean cosine"]
        rows = []
        for engine in distinct(r["engine"] for r in results if r["input"] == name):
            found = [find(results, input=name, engine=engine, threads=n) for n in threads]
            cells = [number(r.get(key)) for r in found for key in ("texts_per_second", "tokens_per_second")]
            last = next(r for r in found if r)
            rows.append([engine, *cells, cosine(last["cosine_min"]), cosine(last["cosine_mean"])])
        text += f"**{name}** ({tokens:,} tokens)\n\n" + table(header, rows)
    return text


def pair(result):
    return f"{result['p50_ms']:.2f} / {result['p99_ms']:.2f}" if result else ""


def single(figures):
    latency, start, embed = select(figures, "latency"), select(figures, "start"), select(figures, "embed")
    inputs = distinct(r["input"] for r in latency)
    if not inputs:
        return ""
    threads = [n for n in figures["threads"] if find(latency, threads=n)]
    last = threads[-1]
    short = [re.sub(r".*one text of ", "", name) for name in inputs]
    header = ["engine", *(f"{name}, {plural(n)}" for name in short for n in threads),
              f"first vector, ms, {plural(last)}", f"peak memory, MB, {plural(last)}"]
    rows = []
    for engine in distinct(r["engine"] for r in latency):
        cells = [pair(find(latency, input=name, engine=engine, threads=n)) for name in inputs for n in threads]
        first = find(start, engine=engine, threads=last).get("first_vector_ms")
        rows.append([engine, *cells, number(first), number(find(embed, engine=engine, threads=last).get("peak_mb"), 0)])
    model = inputs[0].split(",")[0]
    return f"**{model}: latency of one text (ms, p50 / p99), cold start and memory**\n\n" + table(header, rows)


def training(figures):
    results = select(figures, "train")
    if not results:
        return ""
    rows = [[r["input"], r["engine"], number(r["step_ms"]), number(r["pairs_per_second"]), number(r["peak_mb"], 0)]
            for r in results]
    title = f"**Training** ({plural(results[0]['threads'])})\n\n"
    return title + table(["task", "engine", "ms per step", "pairs/s", "peak memory, MB"], rows)


def matmuls(figures):
    results = select(figures, "matmul")
    if not results:
        return ""
    rows = []
    for name in distinct(r["input"] for r in results):
        cells = [find(results, input=name, engine=engine) for engine in ("aoe", "oneDNN")]
        rows.append([name, *(f"{r['gflops']:.0f}, {100 * r['of_peak']:.0f}%" if r else "" for r in cells)])
    title = f"**Matmuls** M x N x K, GFLOP/s and percentage of the peak ({plural(results[0]['threads'])})\n\n"
    return title + table(["matmul", "aoe", "oneDNN"], rows)


def ratios(figures):
    rows = []
    for own, other, metric, pattern, target in TARGETS:
        for result in figures["results"]:
            if result["engine"] != own or not re.search(pattern, result["input"]) or not result.get(metric):
                continue
            peers = [find(figures["results"], engine=name, input=result["input"], threads=result["threads"])
                     for name in PEERS.get(other, [other])]
            # of several engines, the best one has the smallest ratio
            compared = [((peer[metric] / result[metric] if metric.endswith("ms") else result[metric] / peer[metric]),
                         peer["engine"])
                        for peer in peers if peer.get(metric)]
            if compared:
                ratio, name = min(compared)
                rows.append([result["input"], str(result["threads"]), f"{own} to {name}", f"{ratio:.2f}",
                             f"{target:.2f}", "yes" if ratio >= target else "no"])
    header = ["input", "threads", "speed of", "ratio", "target", "reached"]
    return "**Ratios of the medians**\n\n" + table(header, rows) if rows else ""


def markdown(figures):
    rounds = f"{figures['rounds']} round" + ("" if figures["rounds"] == 1 else "s")
    text = f"{figures['cpu']}, {rounds}. {', '.join(figures['versions'].values())}.\n\n"
    text += speed(figures) + single(figures) + training(figures) + matmuls(figures) + ratios(figures)
    if figures["missing"]:
        text += "Not measured: " + "; ".join(f"{what} ({reason})" for what,
                                             reason in figures["missing"].items()) + ".\n\n"
    return text.rstrip("\n") + "\n"


def replace(path, text, begin=BEGIN, end=END):
    """Replaces the lines of a file between the lines `begin` and `end`."""
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(begin + "\n", 1)
    _, after = rest.split(end + "\n", 1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{begin}\n\n{text}\n{end}\n{after}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = markdown(json.load(file))
    if len(sys.argv) > 2:
        replace(sys.argv[2], text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
