#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares `aoe search` with semble on the sources and documents of this project, in one run.

    bench/peers/folders.py [--model DIR] [--semble PYTHON] [--questions FILE] [--folder DIR] [--misses]

--model DIR       static model that semble uses, and aoe in one of its rows (default: potion-base-2M of $AOE_MODELS)
--semble PYTHON   Python interpreter of an environment with semble (default: left out)
--questions FILE  table of questions (default: questions.tsv next to this file, written before the first run)
--folder DIR      folder to search (default: a copy of the files of the last commit)
--misses          prints the questions without an answer among the first three results

A question counts as answered if one of the first three results is a passage of a file whose name begins with one of
the expected names. The time to index is that of a new index, with all CPUs. The time of a query is the median of a
process that is already running: `aoe search --queries` for aoe, and a Python object that has answered a query for
semble. The column "process" is the median time of `aoe search QUESTION` from its start to its end, with refresh. The
output is a Markdown table.
"""
import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TOP = 3


def read_questions(path):
    with open(path, newline='') as f:
        return [(r['question'], r['expected'].split('|')) for r in csv.DictReader(f, delimiter='\t')]


def answered(found, expected):
    return any(name.startswith(e) for name in found[:TOP] for e in expected)


def run_semble(folder, model, questions):
    """Runs inside the environment of semble and prints one JSON object."""
    from semble import SembleIndex
    from semble.types import ContentType

    start = time.perf_counter()
    index = SembleIndex.from_path(folder, content=[ContentType.CODE, ContentType.DOCS], model_path=model)
    seconds = time.perf_counter() - start
    index.search('first query', top_k=TOP)
    found, times = [], []
    for question in questions:
        start = time.perf_counter()
        results = index.search(question, top_k=TOP)
        times.append(time.perf_counter() - start)
        found.append([r.chunk.file_path for r in results])
    print(json.dumps({'seconds': seconds, 'times': times, 'found': found}))


def run_aoe(folder, model, questions, mode, work):
    """Returns the same figures as run_semble, and the times of a process per question."""
    aoe = os.environ.get('AOE', str(ROOT / 'build' / 'aoe'))
    index = os.path.join(work, f'index-{mode}-{os.path.basename(model or "default")}')
    option = ['-m', model] if model else []
    start = time.perf_counter()
    subprocess.run([aoe, 'index', '-o', index, *option, folder], check=True, capture_output=True)
    result = {'seconds': time.perf_counter() - start, 'found': [], 'times': [], 'process': []}
    search = [aoe, 'search', '-i', index, '-k', str(TOP), '--mode', mode, '--json']
    for question in questions:
        start = time.perf_counter()
        output = subprocess.run([*search, question], check=False, capture_output=True, text=True)
        result['process'].append(time.perf_counter() - start)
        hits = json.loads(output.stdout)['hits'] if output.returncode == 0 else []
        result['found'].append([h['name'] for h in hits])
    with tempfile.NamedTemporaryFile('w', suffix='.txt') as f:
        repeated = questions * 20
        f.write(''.join(q + '\n' for q in repeated))
        f.flush()
        spans = []
        for file in ('/dev/null', f.name):  # the time of a process that answers no query is subtracted
            start = time.perf_counter()
            subprocess.run([*search, '--refresh', 'never', '--queries', file], check=False, capture_output=True)
            spans.append(time.perf_counter() - start)
        result['times'] = [(spans[1] - spans[0]) / len(repeated)]
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', default=os.path.join(os.environ.get('AOE_MODELS', ''), 'potion-base-2M'))
    parser.add_argument('--semble')
    parser.add_argument('--questions', default=HERE / 'questions.tsv')
    parser.add_argument('--folder')
    parser.add_argument('--misses', action='store_true')
    parser.add_argument('--inside', help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    questions = read_questions(arguments.questions)
    texts = [q for q, _ in questions]
    if arguments.inside:
        return run_semble(arguments.inside, arguments.model, texts)
    with tempfile.TemporaryDirectory() as work:
        folder = arguments.folder
        if not folder:
            folder = os.path.join(work, 'project')
            os.mkdir(folder)
            archive = subprocess.run(['git', '-C', ROOT, 'archive', 'HEAD'], check=True, capture_output=True).stdout
            subprocess.run(['tar', '-x', '-C', folder], input=archive, check=True)
        name = os.path.basename(arguments.model)
        rows = [('aoe hybrid, default model', lambda: run_aoe(folder, None, texts, 'hybrid', work)),
                (f'aoe hybrid, {name}', lambda: run_aoe(folder, arguments.model, texts, 'hybrid', work)),
                ('aoe dense, default model', lambda: run_aoe(folder, None, texts, 'dense', work)),
                ('aoe lexical', lambda: run_aoe(folder, None, texts, 'lexical', work))]
        if arguments.semble:
            command = [arguments.semble, __file__, '--inside', folder, '--model', arguments.model, '--questions',
                       str(arguments.questions)]
            environment = dict(os.environ, XDG_CACHE_HOME=work, HF_HUB_OFFLINE='1')
            rows.append((f'semble, {name}', lambda: json.loads(
                subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)))
        print(f'| engine | index, s | query, ms | process, ms | answered of {len(questions)} |')
        print('| --- | ---: | ---: | ---: | ---: |')
        missed = []
        for label, run in rows:
            r = run()
            process = f'{1000 * statistics.median(r["process"]):.0f}' if 'process' in r else '-'
            right = [answered(found, expected) for found, (_, expected) in zip(r['found'], questions)]
            print(f'| {label} | {r["seconds"]:.2f} | {1000 * statistics.median(r["times"]):.1f} | {process} | '
                  f'{sum(right)} |', flush=True)
            missed += [f'{label}: {q}: {", ".join(f[:TOP])}' for q, f, ok in zip(texts, r['found'], right) if not ok]
        if arguments.misses:
            print('\n'.join(missed))


if __name__ == '__main__':
    sys.exit(main())
