"""Branches and loops that data decides on, and loops of many steps, give what
ONNX Runtime does, on any devices."""

import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from conftest import ROOT, load
from control_flow import (BOOL, CASES, FLOAT, INT, counted_loop, graph, model,
                          node, random, value, while_loop)
from onnx import helper

sys.path.insert(0, str(ROOT / "python"))
import divisi as package  # noqa: E402

pytestmark = pytest.mark.as_written

INVALID, UNSUPPORTED = 4, 5


def expected(case, tensors):
    session = onnxruntime.InferenceSession(
        case.model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    given = {name: np.asarray(x) for name, x in tensors.items()}
    return dict(zip(names, session.run(names, given)))


def counted(got, output, case):
    """The rows that count; those behind them are zeros."""
    shape = next(o.type.tensor_type.shape for o in case.model.graph.output
                 if o.name == output)
    axis = [d.dim_param for d in shape.dim].index("n")
    rows = np.moveaxis(got[output], axis, 0)
    count = int(got[output + ".count"])
    assert not rows[count:].any()
    return np.moveaxis(rows[:count], 0, axis)


@pytest.mark.sample("name", "devices")
@pytest.mark.parametrize("devices", [1, 2, 3])
@pytest.mark.parametrize("name", CASES)
def test_equal_to_onnx_runtime(divisi, name, devices):
    case = CASES[name]()
    onnx.save(case.model, divisi.path("m.onnx"))
    divisi("compile", "m.onnx", "--devices", devices, *case.options,
           "-o", "m.divisi")
    for tensors in case.inputs:
        np.savez(divisi.path("in.npz"), **tensors)
        divisi("run", "m.divisi", "--inputs", "in.npz", "-o", "out.npz")
        got = load(divisi.path("out.npz"))
        for output, want in expected(case, tensors).items():
            if output + ".count" in got:
                got[output] = counted(got, output, case)
            np.testing.assert_allclose(got[output], want, rtol=2e-5,
                                       atol=2e-5, err_msg=output)


@pytest.mark.parametrize("devices", [1, 3])
def test_sequences_and_optionals_go_in_and_out(divisi, devices):
    """Each tensor of a sequence by its position; what an optional holds."""
    kind = helper.make_tensor_type_proto(FLOAT, [3, "n"])
    held = helper.make_tensor_type_proto(FLOAT, [3, 1])
    body = graph([node("Mul", "a b", "m")],
                 [value("a", (3, "n")), value("b", (3, 1))],
                 [value("m", (3, "n"))])
    onnx.save(model(
        [node("OptionalGetElement", "o", "b"),
         node("SequenceMap", "x b", "q", body=body),
         node("SequenceInsert", "q b", "r"),
         node("ConcatFromSequence", "r", "y", axis=1)],
        [helper.make_value_info("x", helper.make_sequence_type_proto(kind)),
         helper.make_value_info("o", helper.make_optional_type_proto(held))],
        [helper.make_value_info("q", helper.make_sequence_type_proto(kind)),
         value("y", (3, "m"))], opset=18), divisi.path("m.onnx"))
    tensors = {"x[0]": random(3, 2), "x[1]": random(3, 4, seed=1),
               "o": random(3, 1, seed=2)}
    said = divisi("plan", "m.onnx", "--devices", devices, exits=UNSUPPORTED).err
    assert ("the elements of input 'x' are tensors; say the shape of each, as "
            "--shape 'x[0]=3x4' --shape 'x[1]=3x4' for two") in said
    divisi("compile", "m.onnx", "--devices", devices, "--shape", "x[0]=3x2",
           "--shape", "x[1]=3x4", "--shape", "o=3x1", "-o", "m.divisi")
    np.savez(divisi.path("in.npz"), **tensors)
    divisi("run", "m.divisi", "--inputs", "in.npz", "-o", "out.npz")
    got = load(divisi.path("out.npz"))
    wanted = [tensors[f"x[{i}]"] * tensors["o"] for i in (0, 1)]
    assert sorted(got) == ["q[0]", "q[1]", "y"]
    for i in (0, 1):
        np.testing.assert_array_equal(got[f"q[{i}]"], wanted[i])
    np.testing.assert_array_equal(got["y"], np.concatenate(
        [*wanted, tensors["o"]], 1))
    np.savez(divisi.path("y.npz"), **got)
    # With nothing in the optional.
    onnx.save(model([node("OptionalHasElement", "o", "y")],
                    [helper.make_value_info(
                        "o", helper.make_optional_type_proto(held))],
                    [value("y", (), BOOL)], opset=18), divisi.path("has.onnx"))
    for given, has in (([], False), (["--shape", "o=3x1"], True)):
        done = divisi("compile", "has.onnx", "--devices", devices, *given, "-o",
                      "has.divisi")
        assert ("the optional input 'o' holds nothing, as neither a shape nor a "
                "tensor is given for it" in done.err) != has
        inputs = ["--inputs", "in.npz"] if has else []
        np.savez(divisi.path("in.npz"), o=tensors["o"])
        divisi("run", "has.divisi", *inputs, "-o", "has.npz")
        assert load(divisi.path("has.npz"))["y"] == has
    np.savez(divisi.path("in.npz"), **tensors)
    divisi("check", "m.onnx", "--inputs", "in.npz", "--expect", "y.npz",
           "--devices", devices)


def test_a_loop_that_goes_on_ends_the_run(divisi):
    case = while_loop(20, None)
    onnx.save(case.model, divisi.path("m.onnx"))
    said = divisi("compile", "m.onnx", "--devices", 1, "-o", "m.divisi",
                  exits=UNSUPPORTED).err
    assert ("only its condition ends it: give --max-trip-count N, the most "
            "steps that it may take") in said
    divisi("compile", "m.onnx", "--devices", 1, "--max-trip-count", 2, "-o",
           "m.divisi")
    np.savez(divisi.path("in.npz"), x=np.full((3, 4), 0.5, np.float32))
    said = divisi("run", "m.divisi", "--inputs", "in.npz", "-o", "out.npz",
                  exits=INVALID).err
    assert "more_than_2_steps" in said


@pytest.mark.parametrize("devices", [1, 3])
def test_training_goes_through_loops(divisi, devices):
    """A loop that an input counts, against the same one written out."""
    def train(case, name, **more):
        onnx.save(case.model, divisi.path(f"{name}.onnx"))
        divisi("compile", f"{name}.onnx", *case.options, "--train", "--loss",
               "mse", "--optimizer", "sgd", "--lr", 0.5, "--devices", devices,
               "-o", f"{name}.divisi")
        session = package.Session(package.load(divisi.path(f"{name}.divisi")))
        tensors = {"x": case.inputs[0]["x"],
                   "labels": np.full((3, 4), 0.3, np.float32)} | more
        losses = [float(session.run(tensors)["loss"]) for _ in range(4)]
        return losses, np.array(session.state["w"])

    losses, w = train(counted_loop(), "loop", n=np.int64(6))
    written, v = train(counted_loop(6), "written")
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(losses, written, rtol=1e-5)
    np.testing.assert_allclose(w, v, rtol=1e-4, atol=1e-6)


def test_rows_that_are_joined_are_refused(divisi):
    onnx.save(model([node("NonZero", "x", "i"),
                     node("ReduceMax", "i", "y", axes=[1])],
                    [value("x")], [value("y", (2, 1), INT)]),
              divisi.path("m.onnx"))
    said = divisi("plan", "m.onnx", exits=UNSUPPORTED).err
    assert ("it combines rows, or chooses among them: only the run knows how "
            "many rows there are, and only what is made of each row for itself "
            'can follow (experts are exported without by '
            'set_experts_implementation("batched_mm"))') in said


def test_rows_are_written_in_place(divisi):
    """What a long loop stacks is not copied in each step."""
    onnx.save(CASES["loop of 520"]().model, divisi.path("m.onnx"))
    divisi("compile", "m.onnx", "--devices", 1, "-o", "m.divisi",
           "--dump-after", "lower")
    text = divisi.path("m.lower.mlir").read_text()
    assert "exec.new_value" in text
