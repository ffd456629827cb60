# SPDX-License-Identifier: MIT
"""Writes the texts that run.py measures. They come from the data sets in $AOE_DATA: the sentences and scored pairs from
the STS-B training set, the abstracts from cranfield. If $AOE_DATA is not set, they come from examples/train.tsv, whose
texts are repeated and concatenated. The texts of one input are distinct, and none has more than 256 tokens, so that no
library truncates a text.
"""
import json
import os
import pathlib

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "train.tsv"
MAX_TOKENS = 256  # maximum sequence length of all-MiniLM-L6-v2
MIN_ABSTRACT_TOKENS = 130


def read(path):
    """Returns the rows (sentence1, sentence2, score) of a tab-separated file."""
    with open(path, encoding="utf-8") as file:
        header, *rows = [line.rstrip("\n").split("\t") for line in file]
    columns = [header.index(name) for name in ("sentence1", "sentence2", "score")]
    return [(row[columns[0]], row[columns[1]], float(row[columns[2]])) for row in rows]


def first_rows(source, output, count):
    """Writes the header and the first rows of a table to `output`, and returns its path."""
    with open(source, encoding="utf-8") as file:
        lines = [line for _, line in zip(range(count + 1), file)]
    output.write_text("".join(lines), encoding="utf-8")
    return output


class Corpus:
    def __init__(self, work, model):
        """work: folder of the files; model: directory with the tokenizer that counts the tokens."""
        from tokenizers import Tokenizer

        self.work = work
        self.tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.data = pathlib.Path(os.environ["AOE_DATA"]) if os.environ.get("AOE_DATA") else None
        self.rows = read(self.data / "stsb" / "train.tsv" if self.data else EXAMPLES)
        self.titles = {}  # path -> description of the input

    def count_tokens(self, path):
        return sum(len(encoding.ids)
                   for encoding in self.tokenizer.encode_batch(path.read_text(encoding="utf-8").splitlines()))

    def count(self, path):
        return len(path.read_text(encoding="utf-8").splitlines())

    def write(self, name, texts, kind):
        path = self.work / name
        path.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
        self.titles[path] = f"{len(texts):,} {kind}"
        return path

    def distinct(self, texts, count):
        """Returns the first `count` distinct texts of at most MAX_TOKENS tokens."""
        found = {}
        for text in texts:
            text = " ".join(text.split())
            if len(found) < count and text not in found and len(self.tokenizer.encode(text).ids) <= MAX_TOKENS:
                found[text] = None
        return list(found)

    def all_sentences(self):
        for round_number in range(100):
            for first, second, _ in self.rows:
                # repeated texts become distinct with a word in front of them
                yield first if not round_number else f"{round_number} {first}"
                if not self.data:
                    yield second if not round_number else f"{round_number} {second}"

    def all_abstracts(self):
        if self.data:
            with open(self.data / "ir" / "cranfield" / "corpus.jsonl", encoding="utf-8") as file:
                texts = [json.loads(line)["text"] for line in file]
        else:
            sentences = [row[i] for row in self.rows for i in (0, 1)]
            texts = (" ".join(sentences[(start + i) % len(sentences)] for i in range(16))
                     for start in range(0, 10000, 7))
        return (text for text in texts if len(self.tokenizer.encode(text).ids) >= MIN_ABSTRACT_TOKENS)

    def sentences(self, count):
        return self.write(f"sentences-{count}.txt", self.distinct(self.all_sentences(), count),
                          "STS-B sentences" if self.data else "sentences")

    def abstracts(self, count):
        return self.write(f"abstracts-{count}.txt", self.distinct(self.all_abstracts(), count),
                          "abstracts" if self.data else "paragraphs")

    def calibration(self, count):
        """Texts for the calibration of an int8 model, which are not measured: the second texts of the last pairs."""
        texts = self.distinct((row[1] for row in reversed(self.rows)), count)
        return self.write(f"calibration-{count}.txt", texts, "texts")

    def single(self, tokens):
        """A file with one text of this number of tokens, special tokens included."""
        for text in self.all_abstracts():
            words = text.split()
            for n in range(1, len(words)):
                start = " ".join(words[:n])
                length = len(self.tokenizer.encode(start).ids)
                if length == tokens:
                    return self.write(f"single-{tokens}.txt", [start], f"text of {tokens} tokens")
                if length > tokens:
                    break
        raise ValueError(f"no text has a beginning of {tokens} tokens")

    def cycled_rows(self, count):
        return [self.rows[i % len(self.rows)] for i in range(count)]

    def pairs(self, count):
        """A table of scored pairs."""
        path = self.work / f"pairs-{count}.tsv"
        lines = [f"{score}\t{first}\t{second}\n" for first, second, score in self.cycled_rows(count)]
        path.write_text("score\tsentence1\tsentence2\n" + "".join(lines), encoding="utf-8")
        return path

    def positives(self, count):
        """The texts of `pairs` as a table of positives."""
        path = self.work / f"positives-{count}.tsv"
        lines = [f"{first}\t{second}\n" for first, second, _ in self.cycled_rows(count)]
        path.write_text("query\tpositive\n" + "".join(lines), encoding="utf-8")
        return path
