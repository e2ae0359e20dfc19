#!/usr/bin/env python3
"""Writes a GPT-3 in ONNX, as PyTorch exports Hugging Face's GPT-2.

    gpt3.py --weightless -o gpt3-175b.onnx

GPT-3 is GPT-2's architecture, larger and with 2,048 positions; names and
nodes are those of gpt2.py. Every layer attends to all tokens before, where
the paper lets layers take turns with banded sparse attention.
"""

import packages

packages.require("numpy", "onnx", "ml_dtypes")

import transformer
from gpt2 import Exporter, Size

# The sizes of "Language Models are Few-Shot Learners" whose heads divide
# their width, by number of parameters.
SIZES = {
    "1.3b": Size(24, 2048, 16, positions=2048),
    "6.7b": Size(32, 4096, 32, positions=2048),
    "175b": Size(96, 12288, 96, positions=2048),
}


if __name__ == "__main__":
    transformer.run_command(__doc__, Exporter, SIZES, "175b", batch=8,
                            seq=2048, floats="bf16")
