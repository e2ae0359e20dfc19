"""The steps that are measured: a model as it is trained, and a batch.

NAMES imports nothing, so that run.py reads it without torch. Sizes are those at
which a step takes seconds on two cores.
"""

NAMES = {
    "gpt2-124m": ("gpt2", 4, 128),
    "gpt2-124m-s512": ("gpt2", 1, 512),
    "bert-base": ("bert", 4, 128),
    "resnet50": ("resnet", 8),
}

# How the loss and the optimizer are asked for, of divisi compile.
FLAGS = {
    "gpt2": ("--shift-labels", "--optimizer", "adamw", "--lr", "1e-4",
             "--weight-decay", "0.01"),
    "bert": ("--optimizer", "adamw", "--lr", "1e-4", "--weight-decay", "0.01"),
    "resnet": ("--optimizer", "sgd", "--lr", "1e-3", "--momentum", "0.9"),
}


def flags_of(name):
    return ("--train", "--loss", "cross_entropy", *FLAGS[NAMES[name][0]])
