"""Operators that one kernel can compute are one call, unless --no-fuse says
otherwise. The program then computes the same: to the bit by the reference
kernels, and up to rounding by those that compute several operators at once."""

import re

import numpy as np
import onnx
import pytest
from conftest import load, model
from loop_programs import jacobi, jacobi_tensors, lstm, lstm_tensors
from onnx import TensorProto, helper, numpy_helper
from train_steps import Step
from written_programs import write_program

pytestmark = pytest.mark.as_written

MODELS = ["gpt2", "bert", "llama", "t5", "vit", "resnet", "segformer"]
PLANS = {
    "one": ["--devices", 1],
    "found": ["--devices", 4],
    "order": ["--devices", 2, "--no-overlap"],
    "random": ["--devices", 3, "--solver", "random", "--seed", 7],
    "uneven": ["--mesh", "3x2", "--solver", "random", "--seed", 3],
}


def compile_both(divisi, *arguments):
    """Compiles with and without --no-fuse; the lowered modules, fused first."""
    texts = []
    for name, flags in (("fused", []), ("apart", ["--no-fuse"])):
        divisi.path(name).mkdir(exist_ok=True)
        divisi("compile", *arguments, *flags, "-o", f"{name}.divisi",
               "--dump-after", "lower", "--dump-to", name)
        [dump] = divisi.path(name).glob("*.mlir")
        texts.append(dump.read_text(encoding="utf-8"))
        dump.unlink()
    return texts


def run_both(divisi, *arguments):
    """What both programs compute."""
    results = []
    for name in ("fused", "apart"):
        divisi("run", f"{name}.divisi", *arguments, "-o", f"{name}.npz")
        results.append(load(divisi.path(f"{name}.npz")))
    return results


def expect_equal(fused, apart, tolerance=0):
    assert fused.keys() == apart.keys() and fused
    for name, values in fused.items():
        scale = np.abs(apart[name]).max(initial=1)
        np.testing.assert_allclose(values, apart[name], err_msg=name,
                                   rtol=tolerance, atol=tolerance * scale)


@pytest.mark.sample("plan")
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", MODELS)
def test_models_compute_the_same_bits(divisi, name, plan):
    m = model(name)
    fused, apart = compile_both(divisi, m.onnx, *m.shapes, *PLANS[plan])
    calls = [text.count("exec.call ") for text in (fused, apart)]
    # Random plans may leave nothing to fuse.
    assert calls[0] < calls[1] or plan in ("random", "uneven")
    parts = re.findall(r"^ +%\d+ = nn\.", fused, flags=re.M)
    assert len(parts) + calls[0] - fused.count('exec.call "fused"') >= calls[1]
    expect_equal(*run_both(divisi, "--inputs", m.inputs), tolerance=1e-5)
    if plan in ("found", "one"):
        expect_equal(*run_both(divisi, "--inputs", m.inputs, "--backend",
                               "reference", "--threads-per-device", 2))


@pytest.mark.parametrize("devices", [1, 4])
def test_a_training_step_changes_globals_alike(divisi, devices):
    Step(batch=32, width=24, layers=3).write(divisi.folder)
    # Code for a region rounds otherwise than its parts do.
    fused, _ = compile_both(divisi, "step.mlir", "--data-parallel-size",
                            devices, "--native", "off")
    assert 'exec.call "fused"' in fused
    expect_equal(*run_both(divisi, "--inputs", "x.npz", "--repeat", 3))


@pytest.mark.parametrize("devices", [1, 2, 3])
def test_bodies_of_loops_have_fused_calls(divisi, devices):
    w, r, x = lstm_tensors()
    for program, tensors, weights in (
            (lstm(devices, True), {"x": x}, (w, r)),
            (jacobi(devices, True), jacobi_tensors(17), ())):
        divisi.path("weights.bin").write_bytes(
            b"".join(array.tobytes() for array in weights))
        write_program(divisi.path("m.mlir"), program)
        np.savez(divisi.path("in.npz"), **tensors)
        fused, _ = compile_both(divisi, "m.mlir", "--devices", devices,
                                "--native", "off")
        body = fused[fused.index("exec.program @", fused.index("body")):]
        assert 'exec.call "fused"' in body
        expect_equal(*run_both(divisi, "--inputs", "in.npz"))


def test_a_bad_index_in_a_fused_call_is_told(divisi):
    divisi.path("m.mlir").write_text("""
func.func @forward(%x: tensor<4x3xf32> {nn.name = "x"},
    %i: tensor<2xi64> {nn.name = "i"})
    -> (tensor<2x3xf32> {nn.name = "y"}) {
  %0 = nn.gather %x, %i {axis = 0 : i64, batch_dims = 0 : i64}
      : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32> loc("rows")
  %1 = nn.neg %0 : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("less")
  return %1 : tensor<2x3xf32>
}
""")
    np.savez(divisi.path("in.npz"), x=np.ones((4, 3), np.float32),
             i=np.array([1, 9]))
    fused, _ = compile_both(divisi, "m.mlir", "--devices", 2)
    assert 'exec.call "fused"' in fused
    result = divisi("run", "fused.divisi", "--inputs", "in.npz", exits=4)
    assert "node 'rows + less' (fused): index 9 at [1]" in result.err


# As tokens of two kinds that begin alike.
@pytest.mark.parametrize("flags", [("--devices", 1), ("--devices", 3)])
def test_what_is_joined_may_be_so_twice(divisi, flags):
    token, bias = (helper.make_tensor(name, TensorProto.FLOAT, shape,
                                      np.linspace(0, 1, np.prod(shape)))
                   for name, shape in (("t", [2, 1, 33]), ("b", [1, 7, 33])))
    graph = helper.make_graph(
        [helper.make_node("Concat", ["t", "t", "x"], ["j"], axis=1),
         helper.make_node("Add", ["j", "b"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 5, 33])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 7, 33])],
        [token, bias])
    onnx.save(helper.make_model(
        graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)]),
        divisi.path("m.onnx"))
    x = np.random.default_rng(1).standard_normal([2, 5, 33], dtype=np.float32)
    t, b = (numpy_helper.to_array(tensor) for tensor in (token, bias))
    np.savez(divisi.path("in.npz"), x=x)
    divisi("compile", "m.onnx", *flags, "-o", "m.divisi")
    divisi("run", "m.divisi", "--inputs", "in.npz", "-o", "out.npz")
    np.testing.assert_array_equal(load(divisi.path("out.npz"))["y"],
                                  np.concatenate([t, t, x], axis=1) + b)
