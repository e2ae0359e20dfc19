"""Small models, and data for them, that are trained by `divisi train`; what
checkpoints hold."""

import hashlib
import json
import struct

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BATCH, FEATURES, HIDDEN, CLASSES = 8, 6, 16, 4
GOLDEN, MASK = 0x9e3779b97f4a7c15, (1 << 64) - 1


def save(path, nodes, inputs, outputs, weights, external=False):
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info(name, kind, shape)
         for name, kind, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
         for name, shape in outputs],
        [numpy_helper.from_array(value, name)
         for name, value in weights.items()])
    model = helper.make_model(graph,
                              opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    if external:
        onnx.save(model, path, save_as_external_data=True, size_threshold=0,
                  location=f"{path.name}.weights")
    else:
        onnx.save(model, path)


def save_classifier(path, seed=0, external=False, frozen=0.0):
    """Two layers; `shift` can be frozen."""
    random = np.random.default_rng(seed)

    def draw(*shape):
        return random.standard_normal(shape).astype(np.float32) / 2
    nodes = [
        helper.make_node("MatMul", ["x", "first.weight"], ["a"], "/first/MatMul"),
        helper.make_node("Add", ["a", "first.bias"], ["b"], "/first/Add"),
        helper.make_node("Add", ["b", "shift"], ["s"]),
        helper.make_node("Tanh", ["s"], ["c"]),
        helper.make_node("MatMul", ["c", "onnx::MatMul_7"], ["logits"],
                         "/block/block.1/MatMul")]
    weights = {"first.weight": draw(FEATURES, HIDDEN),
               "first.bias": draw(HIDDEN),
               "shift": draw(HIDDEN) + np.float32(frozen),
               "onnx::MatMul_7": draw(HIDDEN, CLASSES)}
    save(path, nodes, [("x", TensorProto.FLOAT, [BATCH, FEATURES])],
         [("logits", [BATCH, CLASSES])], weights, external)


def save_identity(path):
    """The loss is the sample: its number, of a batch of one."""
    nodes = [helper.make_node("Mul", ["x", "w"], ["y"]),
             helper.make_node("ReduceSum", ["y"], ["loss"], keepdims=0)]
    save(path, nodes, [("x", TensorProto.FLOAT, [1, 2])], [("loss", [])],
         {"w": np.ones(2, np.float32)})


STEP = ["--train", "--loss", "cross_entropy", "--optimizer", "adamw", "--lr",
        "0.02", "--freeze", "shift"]


def compile_classifier(divisi, devices=1, out="m.divisi", flags=STEP, **kind):
    save_classifier(divisi.path("m.onnx"), **kind)
    divisi("compile", "m.onnx", *flags, "--devices", devices, "-o", out)


def samples(count, seed=1):
    """Points of classes that can be told apart."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, CLASSES, count)
    x = random.standard_normal((count, FEATURES)) / 3
    x[np.arange(count), labels] += 2
    return {"x": x.astype(np.float32), "labels": labels}


def write_data(folder, count=100, cuts=(30, 35), **more):
    """Shards of these sizes, and one of the rest."""
    folder.mkdir(exist_ok=True)
    data = {**samples(count), **more}
    bounds = [0, *cuts, count]
    for i, (begin, end) in enumerate(zip(bounds, bounds[1:])):
        np.savez(folder / f"part-{i}.npz",
                 **{name: value[begin:end] for name, value in data.items()})
    return data


def train(divisi, *arguments, artifact="m.divisi", **options):
    return divisi("train", artifact, "--data", "data", *arguments, **options)


def losses(divisi, *arguments, **options):
    result = train(divisi, *arguments, "--json", **options)
    lines = [json.loads(line) for line in result.out.splitlines()]
    return {line["step"]: line["loss"] for line in lines}


def mix(x):
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9 & MASK
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb & MASK
    return x ^ (x >> 31)


def order(seed, count, epoch):
    """What SampleOrder.h says."""
    half = 4
    while 1 << (2 * half) < count:
        half += 1
    keys = [mix((mix(seed) + (8 * epoch + r + 1) * GOLDEN) & MASK)
            for r in range(8)]

    def permute(number):
        left, right = number >> half, number & ((1 << half) - 1)
        for key in keys:
            left, right = right, left ^ (mix((key + right) & MASK)
                                         & ((1 << half) - 1))
        return left << half | right
    places = []
    for place in range(count):
        number = permute(place)
        while number >= count:
            number = permute(number)
        places.append(number)
    return places


def safetensors(path):
    """Name -> array, of f32 and f64."""
    data = path.read_bytes()
    [size] = struct.unpack("<Q", data[:8])
    found = {}
    for name, row in json.loads(data[8:8 + size]).items():
        begin, end = row["data_offsets"]
        kind = {"F32": np.float32, "F64": np.float64, "I64": np.int64}
        found[name] = np.frombuffer(
            data[8 + size + begin:8 + size + end],
            kind[row["dtype"]]).reshape(row["shape"])
    return found


def state(checkpoint):
    """The tensors of a checkpoint, whole, by what its manifest says."""
    manifest = json.loads((checkpoint / "manifest.json").read_text())
    whole = {}
    for tensor in manifest["tensors"]:
        kind = {"f32": np.float32, "f64": np.float64}[tensor["type"]]
        array = whole[tensor["name"]] = np.full(tensor["dims"], np.nan, kind)
        for box in tensor["boxes"]:
            cut = tuple(map(slice, box["begin"], box["end"]))
            size = array[cut].nbytes
            data = (checkpoint / box["file"]).read_bytes()
            data = data[box["offset"]:box["offset"] + size]
            assert hashlib.sha256(data).hexdigest() == box["sha256"]
            array[cut] = np.frombuffer(data, kind).reshape(array[cut].shape)
        assert not np.isnan(array).any()
    return whole


def checkpoints(divisi, folder="m.checkpoints"):
    return sorted(path.name for path in divisi.path(folder).glob("step-*"))
