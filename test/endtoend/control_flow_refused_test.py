"""What cannot be done of branches, loops, sequences and counted rows is refused by
node, with the reason."""

import numpy as np
import onnx
import pytest
from control_flow import (FLOAT, INT, ZERO, graph, model, node,
                          positive_sum, value)

CONTENT, UNSUPPORTED = 4, 5
SPLIT = node("SplitToSequence", "x parts", "s", axis=1)
PARTS = {"parts": np.array([2, 2])}
ROWS = [value("x")], [value("y", ("n",), INT)]
CASES = []


def refuses(code, text):
    """A model that is refused so: what the function returns is model()'s."""
    def add(function):
        CASES.append(pytest.param(code, text, function,
                                  id=function.__name__))
        return function
    return add


def on_data(then, shape=(3, 4), constants=None, kind=FLOAT):
    """A branch whose condition is data: `then`, which gives `a`, or zeros."""
    other = graph([node("Identity", "k", "b")], [], [value("b", shape, kind)])
    k = np.zeros(shape, np.int64 if kind == INT else np.float32)
    return (positive_sum() + [node("If", "c", "y", then_branch=graph(
        then, [], [value("a", shape, kind)]), else_branch=other)],
        [value("x")], [value("y", shape, kind)],
        ZERO | {"k": k} | (constants or {}))


@refuses(UNSUPPORTED, "how many rows it gives only the run knows, and it stands "
         "in a branch or loop that data decides on")
def rows_in_a_branch():
    return on_data([node("NonZero", "x", "i"), node("Slice", "i lo hi", "a")],
                   (2, 12), {"lo": np.array([0]), "hi": np.array([9])}, INT)


@refuses(UNSUPPORTED, "it draws random numbers in a body; move it out")
def random_in_a_branch():
    return on_data([node("RandomNormalLike", "x", "a")])


@refuses(UNSUPPORTED, "it takes rows into a branch or a loop")
def rows_into_a_branch():
    then = graph([node("Identity", "i", "a")], [], [value("a", (2, 12), INT)])
    return (positive_sum() +
            [node("NonZero", "x", "i"),
             node("If", "c", "y", then_branch=then, else_branch=graph(
                 [node("Neg", "i", "b")], [], [value("b", (2, 12), INT)]))],
            [value("x")], [value("y", (2, "n"), INT)], ZERO)


@refuses(UNSUPPORTED, "it joins rows with other dims")
def rows_in_one_line():
    return ([node("NonZero", "x", "i"), node("Reshape", "i m", "y")], *ROWS,
            {"m": np.array([-1])})


@refuses(UNSUPPORTED, "it takes rows of two kinds")
def rows_of_two():
    return ([node("NonZero", "x", "i"), node("Neg", "x", "n"),
             node("Relu", "n", "r"), node("NonZero", "r", "j"),
             node("Add", "i j", "y")], [value("x")],
            [value("y", (2, "n"), INT)], None)


@refuses(CONTENT, "the optional holds nothing")
def nothing_held():
    kind = onnx.helper.make_tensor_type_proto(FLOAT, [3, 4])
    return ([node("Optional", "", "o", type=kind),
             node("OptionalGetElement", "o", "e"), node("Add", "e x", "y")],
            [value("x")], [value("y")], None)


@refuses(UNSUPPORTED, "it writes rows of several kinds: only the run knows how")
def rows_into_rows():
    return ([node("NonZero", "x", "i"), node("Transpose", "i", "t"),
             node("Neg", "t", "u"), node("Slice", "t zero one axes", "at"),
             node("ScatterND", "t at u", "y")], [value("x")],
            [value("y", ("n", 2), INT)],
            {"zero": np.array([0]), "one": np.array([1]),
             "axes": np.array([1])})


@refuses(CONTENT, "got conditions of shape [4, 3] for an extent of 3")
def conditions_of_two_dims():
    return ([node("Transpose", "x", "t"), node("Greater", "t zero", "c"),
             node("Compress", "x c", "y", axis=0)],
            [value("x")], [value("y", ("n", 4))], ZERO)


@refuses(CONTENT, "got boxes of shape [1, 5, 4] and scores of shape [1, 2, 6], "
         "expected [batch, boxes, 4] and [batch, classes, boxes]")
def boxes_without_scores():
    return ([node("NonMaxSuppression", "x s", "y")],
            [value("x", (1, 5, 4)), value("s", (1, 2, 6))],
            [value("y", ("n", 3), INT)], None)


@refuses(CONTENT, "position 2 of a sequence of 2")
def a_position_too_far():
    return ([SPLIT, node("SequenceAt", "s at", "y")], [value("x")],
            [value("y", (3, 2))], PARTS | {"at": np.int64(2)})


@refuses(CONTENT, "the sequence has nothing to erase")
def an_empty_one():
    return ([node("SequenceEmpty", "", "s"), node("SequenceErase", "s", "e"),
             node("SequenceLength", "e", "y")], [value("x")],
            [value("y", (), INT)], None)


@refuses(CONTENT, "the sequence is empty, so it has no shape")
def joined_of_nothing():
    return ([node("SequenceEmpty", "", "s"),
             node("ConcatFromSequence", "s", "y", axis=0)], [value("x")],
            [value("y", ("n",))], None)


@refuses(CONTENT, "parts of [2, 3] of a dim of 4")
def parts_that_do_not_fit():
    return ([SPLIT, node("SequenceAt", "s at", "y")], [value("x")],
            [value("y", (3, 2))], {"parts": np.array([2, 3]),
                                   "at": np.int64(0)})


@refuses(CONTENT, "it joins tensors of shapes [3, 1] and [3, 3] along axis 0")
def joined_of_two_shapes():
    return ([SPLIT, node("ConcatFromSequence", "s", "y", axis=0)],
            [value("x")], [value("y", ("n", "m"))],
            {"parts": np.array([1, 3])})


@refuses(UNSUPPORTED, "a sequence of tensors would be an output, or be carried "
         "by a loop that is not written out: join its tensors before")
def a_sequence_in_a_branch():
    then = graph([node("SequenceAt", "s one", "t"),
                  node("SequenceConstruct", "t", "a")], [],
                 [onnx.helper.make_tensor_sequence_value_info(
                     "a", FLOAT, (3, 2))])
    other = graph([node("Identity", "s", "b")], [],
                  [onnx.helper.make_tensor_sequence_value_info(
                      "b", FLOAT, (3, 2))])
    return (positive_sum() +
            [SPLIT, node("If", "c", "q", then_branch=then, else_branch=other),
             node("ConcatFromSequence", "q", "y", axis=0)], [value("x")],
            [value("y", ("n", 2))], ZERO | PARTS | {"one": np.int64(1)})


@refuses(UNSUPPORTED, "it takes a sequence of tensors, which only the operators "
         "of sequences do here: export the model with tensors")
def a_sequence_as_a_tensor():
    return ([SPLIT, node("Neg", "s", "y")], [value("x")],
            [value("y", (3, 2))], PARTS)


def mapped(inputs, taken):
    """A SequenceMap of `inputs`, whose body takes that many tensors."""
    body = graph([node("Neg", "e0", "f")],
                 [value(f"e{i}", (3, 2)) for i in range(taken)],
                 [value("f", (3, 2))])
    ones = node("SplitToSequence", "x one", "t", axis=1)
    return ([SPLIT, ones, node("SequenceMap", inputs, "q", body=body),
             node("ConcatFromSequence", "q", "y", axis=0)], [value("x")],
            [value("y", ("n", 2))], PARTS | {"one": np.int64(1)})


@refuses(CONTENT, "input 0 is a tensor, expected a sequence of tensors")
def a_tensor_that_is_mapped():
    return mapped("x", 1)


@refuses(CONTENT, "input 1 is left out, or no sequence of 2 tensors, as input 0 "
         "is")
def sequences_of_two_lengths():
    return mapped("s t", 2)


@refuses(CONTENT, "its body does not take 1 tensors and give 1")
def a_body_of_other_inputs():
    return mapped("s", 2)


@refuses(UNSUPPORTED, "dtype 7 is no type of floats that can be computed with")
def random_integers():
    return ([node("RandomNormalLike", "x", "y", dtype=INT)], [value("x")],
            [value("y", (3, 4), INT)], None)


@refuses(CONTENT, "its dtype is neither int32 nor int64")
def classes_of_floats():
    return ([node("Multinomial", "x", "y", dtype=FLOAT)], [value("x")],
            [value("y", (3, 1))], None)


@refuses(CONTENT, "its shape is [2, -1]")
def random_of_no_shape():
    return ([node("RandomNormal", "", "y", shape=[2, -1])], [value("x")],
            [value("y", (2, "n"))], None)


@refuses(UNSUPPORTED, "dtype 8 cannot be computed with")
def coins_of_text():
    return ([node("Bernoulli", "x", "y", dtype=onnx.TensorProto.STRING)],
            [value("x")], [value("y", (3, 4), onnx.TensorProto.STRING)], None)


@refuses(CONTENT, "its input is not of floats, and it has no dtype")
def numbers_like_integers():
    return ([node("Cast", "x", "i", to=INT),
             node("RandomUniformLike", "i", "y")], [value("x")],
            [value("y")], None)


@refuses(CONTENT, "its input has the rank 3, expected 2, and 1 samples are drawn")
def classes_of_three_dims():
    return ([node("Multinomial", "x", "y")], [value("x", (1, 2, 3))],
            [value("y", (1, 1), onnx.TensorProto.INT32)], None)


@pytest.mark.parametrize("code, text, made", CASES)
def test_refused(divisi, code, text, made):
    nodes, inputs, outputs, constants = made()
    onnx.save(model(nodes, inputs, outputs, constants, check=False),
              divisi.path("m.onnx"))
    assert text in divisi("plan", "m.onnx", exits=code).err
