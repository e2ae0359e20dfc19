#!/usr/bin/env python3
"""Trains the examples of docs/training.md and draws their losses.

    docs/draw_losses.py        writes docs/training.svg
"""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "training.md"
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
WIDTH, HEIGHT, MARGIN = 640, 300, 48
COLORS = {"gpt": "#1f5fa8", "resnet": "#b4501e"}


def commands():
    """The commands of the page's examples, each as one line."""
    section = PAGE.read_text().split("## Two examples")[1]
    lines = re.findall(r"^    ((?:.*\\\n)*.*)$", section, re.M)
    return [re.sub(r"\\\n\s*", "", line) for line in lines]


def run(folder, steps=None):
    """Losses by the name of the artifact; `steps` changes how many."""
    found = {}
    environment = dict(os.environ, PATH=f"{BUILD / 'bin'}:{os.environ['PATH']}")
    for line in commands():
        words = line.split()
        if words[0].startswith("models/"):
            words[0] = str(ROOT / words[0])
            words = [str(ROOT / word) if word.startswith("models/") else word
                     for word in words]
        if words[:2] == ["divisi", "train"]:
            if steps:
                words[words.index("--steps") + 1] = str(steps)
            words += ["--json", "--no-checkpoint"]
        done = subprocess.run(words, cwd=folder, env=environment, text=True,
                              capture_output=True)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        if words[:2] == ["divisi", "train"]:
            found[words[2].split(".")[0]] = [
                json.loads(row)["loss"] for row in done.stdout.splitlines()]
    return found


def draw(losses):
    top = max(max(row) for row in losses.values())
    last = max(len(row) for row in losses.values())

    def x(step):
        return MARGIN + (WIDTH - 2 * MARGIN) * step / last

    def y(loss):
        return HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * loss / top
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
             f'height="{HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for tick in range(int(top) + 1):
        parts.append(f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" '
                     f'y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#ddd"/>'
                     f'<text x="{MARGIN - 8}" y="{y(tick) + 4:.1f}" '
                     f'text-anchor="end">{tick}</text>')
    for tick in range(0, last + 1, 100):
        parts.append(f'<text x="{x(tick):.1f}" y="{HEIGHT - MARGIN + 18}" '
                     f'text-anchor="middle">{tick}</text>')
    for place, (name, row) in enumerate(losses.items()):
        points = " ".join(f"{x(i + 1):.1f},{y(loss):.1f}"
                          for i, loss in enumerate(row))
        parts.append(f'<polyline points="{points}" fill="none" '
                     f'stroke="{COLORS[name]}"/>'
                     f'<text x="{WIDTH - MARGIN - 90}" y="{24 + 16 * place}" '
                     f'fill="{COLORS[name]}">{name}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" '
                 'text-anchor="middle">step</text>'
                 f'<text x="12" y="24">loss</text></svg>')
    return "\n".join(parts) + "\n"


def main():
    with tempfile.TemporaryDirectory() as folder:
        losses = run(folder)
    PAGE.with_suffix(".svg").write_text(draw(losses))
    for name, row in losses.items():
        print(f"{name}: {row[0]:.3f} -> {row[-1]:.3f}")


if __name__ == "__main__":
    main()
