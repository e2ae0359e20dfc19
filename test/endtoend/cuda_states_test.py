"""Globals that entries update lie in the memory of GPUs: steps copy what they are
given and what they return, and what they make of states stays there. On emulated
GPUs."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from conftest import assert_close, load
from cuda_test import (GPU, HAS_NCCL, _needs_emulator, emulator)  # noqa: F401
from launched import needs_mpi
from onnx import TensorProto, helper, numpy_helper
from programs_test import batch, forward, program
from states_test import (BATCH, DEPTH, EXTENTS, HEADS, LENGTH, STATES, Decoder,
                         by_hand, tokens)
from train_runs import BATCH as BATCH_OF_STEP
from train_runs import (checkpoints, compile_classifier, losses, safetensors,
                        samples, save_classifier, state, train, write_data)

pytestmark = pytest.mark.as_written

__all__ = ["program"]
ROOT = Path(__file__).resolve().parents[2]
CACHE_SHAPE = (BATCH, HEADS, LENGTH, DEPTH)
TRAIN = ["--train", "--loss", "cross_entropy", "--lr", "0.02"]
STEPS = {
    "sgd": ["--optimizer", "sgd", "--momentum", 0.9],
    "adamw": ["--optimizer", "adamw", "--freeze", "shift"],
    "clipped": ["--optimizer", "adamw", "--clip-norm", 0.5],
    "accumulated": ["--optimizer", "adamw", "--micro-batches", 6,
                    "--pipeline-parallel-size", 1],
    "bf16": ["--optimizer", "adamw", "--precision", "bf16"],
}


def copies(divisi, artifact):
    """Of each entry those between host and GPU, and what it is given and returns."""
    report = json.loads(divisi("explain", artifact, "--json").out)
    return ({own["entry"]: (own["copies"], own["bytes"])
             for own in report.get("space_copies", [])}, report)


def compile_both(divisi, step, devices):
    compile_classifier(divisi, devices, "g.divisi", [*TRAIN, *STEPS[step], *GPU])
    compile_classifier(divisi, devices, "h.divisi", [*TRAIN, *STEPS[step]])
    write_data(divisi.path("data"))


def states_at_end(divisi, artifact, steps, *flags, **options):
    """The losses, and all that is updated; no order of streams has a race."""
    folder = f"{artifact}.states"
    result = train(divisi, "--steps", steps, "--seed", 5, "--checkpoint", folder,
                   "--json", *flags, artifact=artifact, **options)
    assert "emulator: " not in result.err
    lines = [json.loads(line) for line in result.out.splitlines()]
    return ({line["step"]: line["loss"] for line in lines},
            state(divisi.path(f"{folder}/step-{steps:010}")))


@pytest.mark.sample("step")
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("step", STEPS)
def test_steps_copy_no_state_and_equal_those_of_the_host(divisi, step, devices):
    compile_both(divisi, step, devices)
    found, report = copies(divisi, "g.divisi")
    ends = [t for t in report["tensors"]]
    [(count, moved)] = found.values()
    # Each micro-batch's samples come alone: as many bytes in six copies.
    spare = 5 if step == "accumulated" else 0
    assert len(ends) <= count <= len(ends) + spare, (count, ends)
    given = {"x": 4, "labels": 8, "loss": 4}  # bytes of an element
    sizes = sum(given[t["name"]] * math.prod(t["shape"]) for t in ends)
    assert step != "accumulated" or moved == sizes, (moved, sizes)
    host, at_host = states_at_end(divisi, "h.divisi", 5)
    gpu, at_gpu = states_at_end(divisi, "g.divisi", 5, env=emulator(seed=3))
    close = {"rtol": 2e-2, "atol": 2e-2} if step == "bf16" else {
        "rtol": 1e-3, "atol": 2e-4}
    np.testing.assert_allclose(list(gpu.values()), list(host.values()), **close)
    assert at_host.keys() == at_gpu.keys() and at_gpu
    for name, want in at_host.items():
        np.testing.assert_allclose(at_gpu[name], want, err_msg=name, **close)


@pytest.mark.parametrize("plan", [
    ("--mesh", 2, "--solver", "random", "--seed", 3),
    ("--mesh", "2x2", "--solver", "random", "--seed", 4),
    ("--mesh", 3, "--solver", "random", "--seed", 5)])
@pytest.mark.sample("plan")
def test_any_plan_gives_the_same_states(divisi, plan):
    """States that rest in parts, and that GPUs gather; each interleaving has the
    same bits."""
    save_classifier(divisi.path("m.onnx"))
    write_data(divisi.path("data"))
    flags = ["m.onnx", *TRAIN, *STEPS["adamw"]]
    divisi("compile", *flags, *plan, *GPU, "-o", "g.divisi")
    divisi("compile", *flags, "--devices", 1, "-o", "h.divisi")
    _, want = states_at_end(divisi, "h.divisi", 3)
    runs = []
    for seed in (1, 2):
        _, got = states_at_end(divisi, "g.divisi", 3, env=emulator(seed=seed))
        shutil.rmtree(divisi.path("g.divisi.states"))
        runs.append(got)
    for name, values in want.items():
        np.testing.assert_allclose(runs[0][name], values, rtol=1e-3, atol=2e-4)
        assert runs[0][name].tobytes() == runs[1][name].tobytes()


def test_stages_of_a_pipeline_have_theirs(divisi):
    """Programs of several kinds: none writes before all have committed."""
    save_classifier(divisi.path("m.onnx"))
    write_data(divisi.path("data"))
    flags = ["m.onnx", *TRAIN, *STEPS["adamw"], "--micro-batches", 4]
    divisi("compile", *flags, "--devices", 2, "--pipeline-parallel-size", 2, *GPU,
           "-o", "g.divisi")
    divisi("compile", *flags, "--devices", 1, "--pipeline-parallel-size", 1, "-o",
           "h.divisi")
    host, want = states_at_end(divisi, "h.divisi", 3)
    gpu, got = states_at_end(divisi, "g.divisi", 3, env=emulator(seed=1))
    np.testing.assert_allclose(list(gpu.values()), list(host.values()), rtol=1e-3)
    for name, values in want.items():
        np.testing.assert_allclose(got[name], values, rtol=1e-3, atol=2e-4)
    # Each micro-batch has its inputs; what is moved is these and losses.
    [(_, moved)] = copies(divisi, "g.divisi")[0].values()
    assert moved <= sum(values[:4 * BATCH_OF_STEP].nbytes for values in
                        samples(100).values()) + 64


@pytest.mark.skipif(not HAS_NCCL, reason="the build found no nccl.h")
@needs_mpi
def test_processes_keep_those_of_their_gpu(divisi):
    """Each saves the boxes that its GPU has."""
    compile_both(divisi, "adamw", 2)
    one, want = states_at_end(divisi, "g.divisi", 3, env=emulator(seed=1))
    shutil.rmtree(divisi.path("g.divisi.states"))
    divisi.path("meeting").mkdir()
    both, got = states_at_end(
        divisi, "g.divisi", 3, "--launch", 2,
        env=emulator(seed=1, nccl_folder=divisi.path("meeting")))
    assert both == one
    assert all(np.array_equal(got[name], want[name]) for name in want)


@pytest.mark.parametrize("kind", ["scatter_nd", "where"])
def test_caches_of_a_decoder_lie_there(divisi, kind):
    """A step copies a token, its position, and what comes out."""
    onnx.save(Decoder(kind).model, divisi.path("m.onnx"))
    inputs = tokens()
    np.savez(divisi.path("x.npz"), **inputs)
    divisi("compile", "m.onnx", *EXTENTS, *STATES, "--devices", 1, *GPU, "-o",
           "g.divisi")
    found, _ = copies(divisi, "g.divisi")
    assert [count for count, _ in found.values()] == [3]
    err = divisi("run", "g.divisi", "--inputs", "x.npz", "--sequence",
                 "--verbose", "-o", "y.npz", env=emulator(seed=2)).err
    assert "emulator: " not in err
    steps = [{name: value[i] for name, value in inputs.items()}
             for i in range(len(inputs["x"]))]
    assert_close(load(divisi.path("y.npz")),
                 by_hand(Decoder(kind).model, steps, CACHE_SHAPE))
    # Nobody else reads the old ones: a row is all that is written.
    assert " and copies 0" in err


def test_what_resumes_goes_on_as_if_nothing_were(divisi):
    compile_both(divisi, "adamw", 2)
    at = {"env": emulator(seed=1)}
    whole, want = states_at_end(divisi, "g.divisi", 8, **at)
    half = losses(divisi, "--steps", 5, "--seed", 5, "--save-every", 2,
                  "--checkpoint", "cut", artifact="g.divisi", **at)
    assert checkpoints(divisi, "cut") == [f"step-{n:010}" for n in (2, 4, 5)]
    rest = losses(divisi, "--steps", 8, "--resume", "--checkpoint", "cut",
                  artifact="g.divisi", **at)
    assert {**half, **rest} == whole
    got = state(divisi.path("cut/step-0000000008"))
    assert all(np.array_equal(got[name], want[name]) for name in want)
    # What a GPU has saved goes on with the host, and the other way round.
    host = losses(divisi, "--steps", 9, "--resume", "--checkpoint", "cut",
                  artifact="h.divisi")
    np.testing.assert_allclose(
        list(host.values()), list(losses(
            divisi, "--steps", 9, "--resume", "--checkpoint", "g.divisi.states",
            artifact="g.divisi", **at).values()), rtol=1e-3)


def test_trained_weights_are_exported(divisi):
    compile_both(divisi, "adamw", 1)
    _, want = states_at_end(divisi, "g.divisi", 3, env=emulator())
    divisi("export-weights", "g.divisi.states", "--model", "m.onnx", "-o", "w.safetensors")
    got = safetensors(divisi.path("w.safetensors"))
    moved = 0
    for name, array in got.items():
        if name in want:
            assert np.array_equal(array, want[name]), name
            moved += 1
    assert moved > 0


def test_a_step_that_fails_leaves_the_last_checkpoint(divisi):
    """A launch far behind the load fails; what was saved before goes on."""
    compile_both(divisi, "adamw", 1)
    whole, _ = states_at_end(divisi, "g.divisi", 6, env=emulator())
    result = train(divisi, "--steps", 6, "--seed", 5, "--save-every", 1,
                   "--checkpoint", "cut", artifact="g.divisi", exits=9,
                   env=emulator(fail_launch=60))
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in result.err
    done = len(losses(divisi, "--steps", 6, "--resume", "--checkpoint", "cut",
                      artifact="g.divisi", env=emulator()))
    assert 0 < done < 6
    got = state(divisi.path("cut/step-0000000006"))
    want = state(divisi.path("g.divisi.states/step-0000000006"))
    assert all(np.array_equal(got[name], want[name]) for name in want)


def save_normalized(path):
    """A batch norm in training mode, whose running statistics are states."""
    random = np.random.default_rng(0)
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("BatchNormalization",
                         ["a", "scale", "shift", "mean", "var"],
                         ["b", "new_mean", "new_var"], training_mode=1),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("MatMul", ["c", "v"], ["logits"])]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                                   [8, 6])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [8, 4])],
        [numpy_helper.from_array(value, name) for name, value in
         {"w": draw(6, 16), "scale": 1 + draw(16) / 9, "shift": draw(16) / 9,
          "mean": draw(16) / 9, "var": 1 + draw(16) ** 2 / 9,
          "v": draw(16, 4)}.items()])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


@pytest.mark.parametrize("devices", [1, 2])
def test_running_statistics_lie_there(divisi, devices):
    save_normalized(divisi.path("m.onnx"))
    write_data(divisi.path("data"))
    flags = [*TRAIN, "--optimizer", "sgd", "--devices", devices]
    divisi("compile", "m.onnx", *flags, "-o", "h.divisi")
    divisi("compile", "m.onnx", *flags, *GPU, "-o", "g.divisi")
    found, report = copies(divisi, "g.divisi")
    [(count, _)] = found.values()
    assert count == len(report["tensors"])
    host, at_host = states_at_end(divisi, "h.divisi", 4)
    gpu, at_gpu = states_at_end(divisi, "g.divisi", 4, env=emulator(seed=2))
    np.testing.assert_allclose(list(gpu.values()), list(host.values()), rtol=1e-3)
    assert any("mean" in name for name in at_gpu)
    for name, want in at_host.items():
        np.testing.assert_allclose(at_gpu[name], want, rtol=1e-3, atol=1e-4)


# An entry that reads what another updates, and one that returns it.
MORE_ENTRIES = """
func.func @predict(%x: tensor<8x12xf32> {nn.name = "x"})
    -> (tensor<8x6xf32> {nn.name = "y"}) {
  %w1 = nn.read @w1 : tensor<12x16xf32>
  %w2 = nn.read @w2 : tensor<16x6xf32>
  %a = nn.matmul %x, %w1 {labels = "bi,ih->bh"}
      : (tensor<8x12xf32>, tensor<12x16xf32>) -> tensor<8x16xf32>
  %h = nn.relu %a : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = nn.matmul %h, %w2 {labels = "bh,ho->bo"}
      : (tensor<8x16xf32>, tensor<16x6xf32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}
func.func @weights() -> (tensor<16x6xf32> {nn.name = "w"}) {
  %w2 = nn.read @w2 : tensor<16x6xf32>
  return %w2 : tensor<16x6xf32>
}
"""
SESSION = """
import sys, json
import numpy as np
from divisi import Session, load
data = np.load("in.npz")
session = Session(load("g.divisi"))
x, t = data["x"], data["t"]
out = {"before": session.run({"x": x}, entry="predict")["y"]}
for step in range(3):
    out[f"loss{step}"] = session.run({"x": x, "t": t}, entry="train_step")["loss"]
out["after"] = session.run({"x": x}, entry="predict")["y"]
out["w"] = session.run({}, entry="weights")["w"]
out.update({"state." + n: np.asarray(session.state[n]) for n in ("w1", "w2")})
session.state.reset()
out["again"] = session.run({"x": x}, entry="predict")["y"]
np.savez("out.npz", **out)
"""


@pytest.mark.parametrize("devices", [1, 2])
def test_entries_share_them(divisi, program, devices):
    path = divisi.path(program("train_step.mlir"))
    text = path.read_text().replace("x = 4", f"x = {devices}")
    end = text.rstrip().rindex("}")
    path.write_text(text[:end] + MORE_ENTRIES + text[end:])
    divisi("compile", path, "--devices", devices, *GPU, "-o", "g.divisi")
    found, _ = copies(divisi, "g.divisi")
    assert {entry: count for entry, (count, _) in found.items()} == {
        "train_step": 3, "predict": 2, "weights": 1}
    x, t = batch(8)
    np.savez(divisi.path("in.npz"), x=x, t=t)
    run = subprocess.run(
        [sys.executable, "-c", SESSION], cwd=divisi.folder, capture_output=True,
        text=True, env={**emulator(seed=4), "PYTHONPATH": str(ROOT / "python")})
    assert run.returncode == 0, run.stderr
    got = load(divisi.path("out.npz"))
    _, before = forward(x, program.w1, program.w2)
    _, after = forward(x, got["state.w1"], got["state.w2"])
    assert_close({n: got[n] for n in ("before", "after", "again")},
                 {"before": before, "after": after, "again": before})
    # Who only reads them where they lie is one graph.
    np.savez(divisi.path("x.npz"), x=x)
    told = divisi("run", "g.divisi", "--entry", "predict", "--inputs", "x.npz",
                  "--repeat", 3, "--verbose", env=emulator(seed=5)).err
    assert "from the second run on" in told and "no graph" not in told
    assert np.array_equal(got["w"], got["state.w2"])
    assert not np.allclose(got["w"], program.w2)
    assert got["loss2"] < got["loss0"]
