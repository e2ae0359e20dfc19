"""Which inputs of an ONNX model shapes depend on: they are constants of what is
compiled."""

from __future__ import annotations

from typing import Any, Iterator

# By operator, the inputs, by place, from whose values the shapes of results
# follow, or with which the importer cannot do until run time.
SHAPE_INPUTS = {
    "AffineGrid": [1], "BlackmanWindow": [0], "CenterCropPad": [1],
    "Col2Im": [1, 2], "Compress": [1], "ConstantOfShape": [0],
    "CumProd": [1], "CumSum": [1], "DFT": [1, 2], "Dropout": [1, 2],
    "Expand": [1], "HammingWindow": [0], "HannWindow": [0], "If": [0],
    "Loop": [0, 1], "MaxUnpool": [2], "MelWeightMatrix": [0, 1, 2, 3, 4],
    "NonMaxSuppression": [0, 1, 2, 3, 4], "NonZero": [0], "OneHot": [1],
    "Pad": [1, 2, 3], "Range": [0, 1, 2], "ReduceL1": [1], "ReduceL2": [1],
    "ReduceLogSum": [1], "ReduceLogSumExp": [1], "ReduceMax": [1],
    "ReduceMean": [1], "ReduceMin": [1], "ReduceProd": [1],
    "ReduceSum": [1], "ReduceSumSquare": [1], "Reshape": [1],
    "Resize": [1, 2, 3], "STFT": [1, 3], "SequenceAt": [1],
    "SequenceErase": [1], "SequenceInsert": [2], "Slice": [1, 2, 3, 4],
    "Split": [1], "SplitToSequence": [1], "Squeeze": [1], "Tile": [1],
    "TopK": [1], "Trilu": [1], "Unique": [0], "Unsqueeze": [1],
    "Upsample": [1],
}
# Whose results are known where the shapes of their operands are.
_OF_SHAPES = {"Shape", "Size"}


def open_inputs(model: Any) -> list[Any]:
    """The graph's inputs that no initializer provides."""
    provided = {tensor.name for tensor in model.graph.initializer}
    return [info for info in model.graph.input if info.name not in provided]


def _nodes(graph: Any) -> Iterator[Any]:
    """Those of its bodies too."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)
            for body in attribute.graphs:
                yield from _nodes(body)


def shape_inputs(model: Any) -> set[str]:
    """The names of its inputs, traced from the operators whose results' shapes
    depend on values."""
    nodes = list(_nodes(model.graph))
    producers = {name: node for node in nodes for name in node.output}
    wanted = [node.input[at] for node in nodes
              for at in SHAPE_INPUTS.get(node.op_type, ())
              if at < len(node.input)]
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        node = producers.get(name)
        if name in seen:
            continue
        seen.add(name)
        if node is not None and node.op_type not in _OF_SHAPES:
            wanted += node.input
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    for inner in _nodes(attribute.g):
                        wanted += inner.input
    return seen & {info.name for info in open_inputs(model)}
