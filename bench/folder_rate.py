#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures `aoe index` and `aoe search` on a generated folder of Markdown files.

    bench/folder_rate.py SENTENCES [--files 10000] [--passages 100000] [--runs 11] [--work DIR] [-m MODEL]

SENTENCES is a file with one sentence per line. The folder has FILES Markdown files with a title, headings and
paragraphs of eight sentences. The benchmark prints:

    index   the time to index the folder, and the time in which `aoe embed` embeds the same texts (the headings and
            texts of the passages) with the same model and threads, in alternating runs
    change  the time of `aoe search` with refresh after one file has changed, from the start of the process to its end
    search  the time of `aoe search` without changes, on an index of PASSAGES passages: those of the folder and rows of
            a table

Times are the fastest and the median. DIR keeps the generated files and indexes.
"""
import argparse
import itertools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
AOE = os.environ.get('AOE', str(ROOT / 'build' / 'aoe'))
QUESTIONS = ('how do I renew the certificate', 'the history of a small railway in the north', 'rivers and lakes',
             'who won the election', 'a species of beetle in the family', 'the album was released by the band')


def seconds(*command):
    start = time.perf_counter()
    done = subprocess.run([AOE, *map(str, command)], check=False, capture_output=True, text=True)
    elapsed = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f'{" ".join(map(str, command))}: {done.stderr or done.stdout}')
    return elapsed


def show(name, times, unit=1):
    print(f'{name:<28} fastest {min(times) * unit:9.2f}   median {statistics.median(times) * unit:9.2f}', flush=True)


def generate(folder, sentences, files):
    """Writes the Markdown files. The words of the first sentence of a section are its heading."""
    shutil.rmtree(folder, ignore_errors=True)
    for i in range(files):
        path = folder / f'{i // 100:03}' / f'{i:05}.md'
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f'# {" ".join(next(sentences).split()[:6])}', '']
        for _ in range(1 + i % 3):
            paragraph = list(itertools.islice(sentences, 8))
            lines += [f'## {" ".join(paragraph[0].split()[:5])}', '', *paragraph, '']
        path.write_text('\n'.join(lines), encoding='utf-8')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('sentences')
    parser.add_argument('--files', type=int, default=10000)
    parser.add_argument('--passages', type=int, default=100000)
    parser.add_argument('--runs', type=int, default=11)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--work')
    parser.add_argument('-m', '--model')
    a = parser.parse_args()
    model = ['-m', a.model] if a.model else []
    work = pathlib.Path(a.work or tempfile.mkdtemp(prefix='folder-rate-'))
    work.mkdir(parents=True, exist_ok=True)
    with open(a.sentences, encoding='utf-8') as f:
        lines = [line.strip() for line in f if line.strip()]
    sentences = itertools.cycle(lines)
    folder, index, texts = work / 'folder', work / 'index', work / 'texts.jsonl'
    generate(folder, sentences, a.files)

    times = {'index': [], 'embed': []}
    for _ in range(a.rounds):
        shutil.rmtree(index, ignore_errors=True)
        times['index'].append(seconds('index', '-o', index, *model, folder))
        if not texts.exists() or not times['embed']:
            seconds('index', '-o', index, '--export', 'jsonl', '--export-to', work / 'passages.jsonl')
            with open(work / 'passages.jsonl', encoding='utf-8') as f, open(texts, 'w', encoding='utf-8') as out:
                for line in f:
                    p = json.loads(line)
                    out.write(json.dumps({'text': (p['heading'] + '\n' if p['heading'] else '') + p['text']}) + '\n')
        times['embed'].append(seconds('embed', *model, texts, '--format', 'npy', '-o', work / 'texts.npy'))
    for name, values in times.items():
        show(f'{name}, s', values)
    print(f'rate of index, of embed: fastest {min(times["embed"]) / min(times["index"]):.3f}, '
          f'median {statistics.median(times["embed"]) / statistics.median(times["index"]):.3f}')

    changed = folder / '000' / '00007.md'
    values = []
    for i in range(a.runs):
        changed.write_text(f'# Change {i}\n\nThe number of this change is {i}. {next(sentences)}\n', encoding='utf-8')
        values.append(seconds('search', '-i', index, QUESTIONS[i % len(QUESTIONS)]))
    show('search after a change, ms', values, 1000)

    with open(work / 'passages.jsonl', encoding='utf-8') as f:
        rows = max(a.passages - sum(1 for _ in f), 0)
    table = work / 'rows.txt'
    table.write_text('\n'.join(itertools.islice(sentences, rows)) + '\n', encoding='utf-8')
    seconds('index', '-o', index, *model, folder, table)
    values = [seconds('search', '-i', index, QUESTIONS[i % len(QUESTIONS)]) for i in range(a.runs)]
    show(f'search, {a.passages} passages, ms', values, 1000)
    values = [seconds('search', '-i', index, '--refresh', 'never', QUESTIONS[i % len(QUESTIONS)])
              for i in range(a.runs)]
    show('  with --refresh never, ms', values, 1000)


if __name__ == '__main__':
    main()
