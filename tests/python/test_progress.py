# SPDX-License-Identifier: MIT
"""The progress bar for environments without tqdm, in the form that terminals and notebooks show."""
from aoe._progress import Bar


def shown(text):
    r"""Returns the lines that a terminal or a notebook shows: \r moves to the begin of the line."""
    lines = []
    for line in text.split("\n"):
        screen = ""
        for part in line.split("\r"):
            screen = part + screen[len(part):]
        lines.append(screen.rstrip())
    return lines


def test_a_shorter_text_replaces_a_longer_one(capsys):
    bar = Bar(2, "Training", "steps")
    bar.set_postfix({"loss": "1000000.125"})
    bar.update(1)
    bar.set_postfix({"loss": "1.5"})
    bar.update(1)
    bar.close()
    text = capsys.readouterr().err
    assert text.count("\r") == 2
    line, end = shown(text)
    assert line.startswith("Training: 2/2 steps, ") and line.endswith(" s left, loss 1.5") and end == ""


def test_a_bar_without_updates_shows_nothing(capsys):
    Bar(2, "Training", "steps").close()
    assert capsys.readouterr().err == ""
