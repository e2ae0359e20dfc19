"""A decoder whose caches are states (--state past=present): the devices keep
them between runs, and each step gives what ONNX Runtime gives where the outputs
of the step before are its inputs."""

import itertools

import numpy as np
import onnx
import onnxruntime
import pytest
import runtime_models
from conftest import assert_close, load
from onnx import TensorProto, helper, numpy_helper

pytestmark = pytest.mark.as_written

BATCH, HEADS, LENGTH, DEPTH, STEPS = 2, 4, 8, 8, 6
WIDTH = HEADS * DEPTH
DIFFERS = 8
CACHE = 4 * BATCH * HEADS * LENGTH * DEPTH
STATES = ("--state", "past.*=present.*")
EXTENTS = ("--dim", f"batch={BATCH}", "--dim", f"room={LENGTH}")


class Decoder:
    """One token after the other, by caches of a fixed length into which rows
    are written as exporters have it: `written` is the operator that does."""

    def __init__(self, written, layers=2, grows=False):
        self.nodes, self.values = [], []
        random = np.random.default_rng(0)
        cache = ["batch", HEADS, "room", DEPTH]
        inputs = [("x", TensorProto.FLOAT, ["batch", 1, WIDTH]),
                  ("position", TensorProto.INT64, [1])]
        outputs = []
        places = self.value(np.arange(LENGTH + grows).reshape(1, 1, 1, -1))
        seen = self.node("LessOrEqual", places, "position")
        x = "x"
        for layer in range(layers):
            q, k, v = (self.heads(x, random) for _ in range(3))
            full = []
            for row, name in ((k, "key"), (v, "value")):
                past, present = (f"{when}.{layer}.{name}" for when in
                                 ("past", "present"))
                inputs.append((past, TensorProto.FLOAT, cache))
                outputs.append((present, TensorProto.FLOAT,
                                ["batch", HEADS, None, DEPTH]))
                getattr(self, written)(past, row, present)
                full.append(present)
            scores = self.node("MatMul", q, self.node(
                "Transpose", full[0], perm=[0, 1, 3, 2]))
            scores = self.node("Where", seen, scores,
                               self.value(np.float32(-1e9)))
            y = self.node("MatMul", self.node("Softmax", scores, axis=-1),
                          full[1])
            y = self.node("Transpose", y, perm=[0, 2, 1, 3])
            y = self.node("Reshape", y, self.value(np.array([0, 1, WIDTH])))
            y = self.node("MatMul", y, self.weights(random))
            x = self.node("Add", x, y, to="y" if layer + 1 == layers else None)
        outputs.insert(0, ("y", TensorProto.FLOAT, ["batch", 1, WIDTH]))
        graph = helper.make_graph(
            self.nodes, "decoder",
            *([helper.make_tensor_value_info(*value) for value in values]
              for values in (inputs, outputs)), self.values)
        self.model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)

    def value(self, array):
        self.values.append(numpy_helper.from_array(
            array, f"c{len(self.values)}"))
        return self.values[-1].name

    def weights(self, random):
        return self.value((random.standard_normal((WIDTH, WIDTH)) /
                           np.sqrt(WIDTH)).astype(np.float32))

    def node(self, kind, *inputs, to=None, **attributes):
        name = to or f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name,
                                           **attributes))
        return name

    def heads(self, x, random):
        y = self.node("MatMul", x, self.weights(random))
        y = self.node("Reshape", y, self.value(np.array([0, 1, HEADS, DEPTH])))
        return self.node("Transpose", y, perm=[0, 2, 1, 3])

    def scatter_nd(self, past, row, present):
        """Of index_put along the third dim, which stands first for that."""
        index = self.node("Unsqueeze", "position", self.value(np.array([-1])))
        past, row = (self.node("Transpose", x, perm=[2, 0, 1, 3])
                     for x in (past, row))
        y = self.node("ScatterND", past, index, row)
        self.node("Transpose", y, to=present, perm=[1, 2, 0, 3])

    def scatter_elements(self, past, row, present):
        index = self.node("Reshape", "position",
                          self.value(np.array([1, 1, 1, 1])))
        index = self.node("Expand", index, self.node("Shape", row))
        self.node("ScatterElements", past, index, row, to=present, axis=2)

    def where(self, past, row, present):
        places = self.value(np.arange(LENGTH).reshape(1, 1, -1, 1))
        self.node("Where", self.node("Equal", places, "position"), row, past,
                  to=present)

    def concat(self, past, row, present):
        self.node("Concat", past, row, to=present, axis=2)


def tokens():
    random = np.random.default_rng(1)
    return {"x": random.standard_normal((STEPS, BATCH, 1, WIDTH), np.float32),
            "position": np.arange(STEPS).reshape(-1, 1)}


def by_hand(model, steps, shape, grow=False):
    """What ONNX Runtime gives in each step, fed with what it gave before."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    past = {x.name: np.zeros(shape, np.float32)
            for x in session.get_inputs() if x.name.startswith("past")}
    results = []
    for step in steps:
        got = dict(zip(names, session.run(names, {**step, **past})))
        past = {name: got[name.replace("past", "present")] for name in past}
        results.append(got[names[0]])
    return {names[0]: np.stack(results)}


@pytest.fixture(scope="module")
def expected():
    made = {}

    def get(kind):
        if kind not in made:
            inputs = tokens()
            steps = [{name: value[i] for name, value in inputs.items()}
                     for i in range(STEPS)]
            made[kind] = by_hand(Decoder(kind).model, steps,
                                 (BATCH, HEADS, LENGTH, DEPTH))
        return made[kind]
    return get


def start(divisi, kind, **options):
    onnx.save(Decoder(kind, **options).model, divisi.path("m.onnx"))
    np.savez(divisi.path("x.npz"), **tokens())


@pytest.mark.sample("kind", "devices", "launched")
@pytest.mark.parametrize("launched", [(), ("--launch", 2)])
@pytest.mark.parametrize("devices", [1, 2, 3])
@pytest.mark.parametrize("kind", ["scatter_nd", "scatter_elements", "where"])
def test_steps_are_those_fed_by_hand(divisi, expected, kind, devices, launched):
    if launched and devices == 1:
        launched = ("--launch", 1)
    start(divisi, kind)
    divisi("compile", "m.onnx", *EXTENTS, *STATES, "--devices", devices, "-o",
           "m.divisi")
    err = divisi("run", "m.divisi", "--inputs", "x.npz", "--sequence",
                 "--verbose", "-o", "y.npz", *launched).err
    assert_close(load(divisi.path("y.npz")), expected(kind))
    # No second cache is made, and none is an input or an output.
    assert " and copies 0" in err and "past.0.key" not in err


@pytest.mark.parametrize("kind", ["scatter_nd", "scatter_elements"])
def test_of_a_cache_one_row_is_written(divisi, kind):
    start(divisi, kind)
    divisi("plan", "m.onnx", *EXTENTS, *STATES, "--devices", 1, "-o", "m.mlir")
    text = divisi.path("m.mlir").read_text()
    assert text.count("nn.insert") == 4 and "nn.transpose" not in text
    assert text.count("nn.update") == 4 and "nn.scatter" not in text


@pytest.mark.sample("devices")
@pytest.mark.parametrize("devices", [1, 2, 3])
def test_group_query_attention_writes_into_its_cache(divisi, devices):
    """Of ONNX Runtime's language models, whose cache has room for all."""
    inputs = runtime_models.language_model(divisi.path("m.onnx"))
    ids = np.random.default_rng(2).integers(0, runtime_models.WORDS,
                                            (STEPS, BATCH, 1))
    steps = [{"input_ids": one, "attention_mask": np.ones((BATCH, i + 1),
                                                          np.int64)}
             for i, one in enumerate(ids)]
    [shape] = {tuple(shape[1::2]) for name, _, shape in inputs
               if name.startswith("past")}
    wanted = by_hand(onnx.load(divisi.path("m.onnx")), steps,
                     (BATCH, shape[0], 0, shape[1]))
    mask = np.arange(LENGTH) <= np.arange(STEPS)[:, None, None]
    np.savez(divisi.path("x.npz"), input_ids=ids, attention_mask=np.broadcast_to(
        mask, (STEPS, BATCH, LENGTH)).astype(np.int64))
    divisi("compile", "m.onnx", *STATES, "--devices", devices, "-o", "m.divisi",
           *itertools.chain.from_iterable(("--dim", f"{name}={extent}")
                                          for name, extent in
                                          {"batch": BATCH, "length": 1,
                                           "past": LENGTH,
                                           "total": LENGTH}.items()))
    err = divisi("run", "m.divisi", "--inputs", "x.npz", "--sequence",
                 "--verbose", "-o", "y.npz").err
    assert_close(load(divisi.path("y.npz")), wanted)
    assert " and copies 0" in err


def test_an_initializer_is_what_a_state_begins_with(divisi):
    """A counter that begins at 3, and is no output."""
    graph = onnx.parser.parse_graph(
        "g (float[2] x, int64 n) => (float[2] y, int64 next) <int64 n = {3}> {"
        " one = Constant <value = int64 {1}> ()"
        " next = Add (n, one) f = Cast <to = 1> (next) y = Mul (x, f) }")
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 18)]), divisi.path("m.onnx"))
    np.savez(divisi.path("x.npz"), x=np.array([1, 2], np.float32))
    divisi("compile", "m.onnx", "--state", "n=next", "--devices", 2, "-o",
           "m.divisi")
    divisi("run", "m.divisi", "--inputs", "x.npz", "--repeat", 3, "-o", "y.npz")
    assert_close(load(divisi.path("y.npz")),
                 {"y": np.array([6, 12], np.float32)})
    divisi("check", "m.onnx", "--state", "n=next", "--devices", 2)


@pytest.mark.parametrize("step, code", [(1, 0), (2, DIFFERS)])
def test_check_compares_what_a_run_has_left(divisi, step, code):
    """The first runs of both programs give the same."""
    for name, one in (("m", 1), ("other", step)):
        graph = onnx.parser.parse_graph(
            "g (float[2] x, float n) => (float[2] y, float next) {"
            f" one = Constant <value = float {{{one}}}> ()"
            " next = Add (n, one) y = Mul (x, n) }")
        onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[
            helper.make_opsetid("", 18)]), divisi.path(f"{name}.onnx"))
    divisi("check", "m.onnx", "--before", "other.onnx", "--state", "n=next",
           "--devices", 2, exits=code)


@pytest.mark.parametrize("given, message", [
    (("--state", "past.*=present"), "--state 'past.*=present': expected "
     "INPUT=OUTPUT, or one * in both, as in past.*=present.*"),
    (("--state", "past"), "--state 'past': expected INPUT=OUTPUT"),
    (("--state", "passed.*=present.*"), "--state passed.*=present.*: the model "
     "has no input 'passed.*'; its inputs are 'x', 'position', 'past.0.key', "),
    (("--state", "past.*=now.*"), "--state past.*=now.*: the model has no "
     "output 'now.0.key' for the input 'past.0.key'; its outputs are 'y', "),
    ((*STATES, "--state", "past.0.key=y"), "--state names the input "
     "'past.0.key' twice; expected each in one pair"),
    ((*STATES, "--state", "x=present.0.key"), "--state names the output "
     "'present.0.key' twice; expected each in one pair"),
    (("--state", "past.0.key=y"), "--state past.0.key=y: the input is f32[2, "
     "4, 8, 8] and the output f32[2, 1, 32], and a state keeps type and shape"),
    ((*STATES, "--train", "--loss", "mse", "--optimizer", "sgd",
      "--lr", 1), "--state is for inference, and "
     "--train makes a training step"),
    ((*STATES, "--constant", "past.0.key=past.0.key.npy"), "'past.0.key' is "
     "given by --state and by --constant; give one of them"),
])
def test_what_is_no_state(divisi, given, message):
    start(divisi, "where")
    np.save(divisi.path("past.0.key.npy"),
            np.zeros((BATCH, HEADS, LENGTH, DEPTH), np.float32))
    assert message in divisi("plan", "m.onnx", *EXTENTS, *given, "-o", "m.mlir",
                             exits=2).err


def test_a_cache_that_grows_is_refused(divisi):
    start(divisi, "concat", grows=True)
    err = divisi("plan", "m.onnx", *EXTENTS, *STATES, "-o", "m.mlir",
                 exits=2).err
    assert ("--state past.0.key=present.0.key: the input is f32[2, 4, 8, 8] and "
            "the output f32[2, 4, 9, 8], and a state keeps type and shape: "
            "export the model with a cache of fixed length") in err


@pytest.mark.parametrize("change, flags, code, message", [
    ({}, ("--repeat", 2), 2, "--sequence says by its inputs how often to run"),
    ({"position": np.arange(5).reshape(-1, 1)}, (), 4, "--sequence: input "
     "'position' is for 5 runs, and 'x' for 6"),
    ({"x": tokens()["x"][0], "position": np.array([0])}, (), 4, "--sequence: "
     "no input has one more dim in front, of as many indices as there are runs; "
     "entry 'forward' takes 'x' as f32[2, 1, 32]"),
])
def test_what_is_no_sequence(divisi, change, flags, code, message):
    start(divisi, "where")
    divisi("compile", "m.onnx", *EXTENTS, *STATES, "--devices", 1, "-o",
           "m.divisi")
    np.savez(divisi.path("x.npz"), **{**tokens(), **change})
    err = divisi("run", "m.divisi", "--inputs", "x.npz", "--sequence", *flags,
                 exits=code).err
    assert message in err
