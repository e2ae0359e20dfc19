#!/usr/bin/env python3
"""Writes samples to train on, as `divisi train --data` takes them.

    samples.py text models/texts/alice.txt --seq 32 -o text
    samples.py images --count 512 -o images

A text becomes windows of characters, each one a token: its number in the order
of all characters that the text has. Images show one of four figures (disc,
square, cross, stripes) somewhere, in some color, under noise.
"""

import argparse
import sys
from pathlib import Path

import packages

packages.require("numpy")

import numpy as np

FIGURES = ["disc", "square", "cross", "stripes"]


def text_samples(text, seq, stride):
    """Windows of `seq` tokens, `stride` apart. Labels are the tokens: a model
    of next tokens is compiled with --shift-labels."""
    characters = sorted(set(text))
    numbers = {character: i for i, character in enumerate(characters)}
    tokens = np.array([numbers[character] for character in text], np.int64)
    begins = range(0, len(tokens) - seq + 1, stride)
    windows = np.stack([tokens[begin:begin + seq] for begin in begins])
    return {"input_ids": windows, "labels": windows}, len(characters)


def figure(kind, x, y, size):
    """Where it is, on a grid of distances from its middle."""
    return {"disc": x * x + y * y < size * size,
            "square": np.maximum(abs(x), abs(y)) < size * 0.8,
            "cross": (np.minimum(abs(x), abs(y)) < 1)
            & (np.maximum(abs(x), abs(y)) < size),
            "stripes": (np.maximum(abs(x), abs(y)) < size)
            & (np.floor(y) % 3 == 0)}[kind]


def image_samples(count, extent, seed):
    random = np.random.default_rng(seed)
    labels = random.integers(0, len(FIGURES), count)
    images = random.standard_normal((count, 3, extent, extent)) * 0.3
    row, column = np.mgrid[:extent, :extent]
    for image, label in zip(images, labels):
        at = random.uniform(extent * 0.35, extent * 0.65, 2)
        size = random.uniform(extent * 0.25, extent * 0.35)
        there = figure(FIGURES[label], column - at[0], row - at[1], size)
        image += there * random.uniform(0.5, 1.5, (3, 1, 1))
    return {"image": images.astype(np.float32), "labels": labels}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    kinds = parser.add_subparsers(dest="kind", required=True)
    text = kinds.add_parser("text")
    text.add_argument("file")
    text.add_argument("--seq", type=int, default=32)
    text.add_argument("--stride", type=int, default=3)
    images = kinds.add_parser("images")
    images.add_argument("--count", type=int, default=512)
    images.add_argument("--image", type=int, default=16)
    images.add_argument("--seed", type=int, default=0)
    for kind in text, images:
        kind.add_argument("-o", dest="output", required=True)
    args = parser.parse_args()
    if args.kind == "text":
        data, characters = text_samples(Path(args.file).read_text(), args.seq,
                                        args.stride)
        said = f"{characters} different characters"
    else:
        data = image_samples(args.count, args.image, args.seed)
        said = f"{len(FIGURES)} classes"
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "samples.npz", **data)
    print(f"{folder / 'samples.npz'}: {len(data['labels'])} samples, {said}",
          file=sys.stderr)


if __name__ == "__main__":
    main()
