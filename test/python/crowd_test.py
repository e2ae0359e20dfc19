"""Compiling and running between the work of other compilers in the process."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import onnx
import pytest
from conftest import ROOT, perceptron
from share import sample_size

# What a user's program may have beside Divisi: each compiles by LLVM, or computes
# by threads of its own.
OTHERS = {
    "llvmlite": """
        import ctypes
        import llvmlite.binding as llvm
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        def other(number):
            module = llvm.parse_assembly(
                "define i64 @f(i64 %x) { %y = add i64 %x, " + str(number) +
                " ret i64 %y }")
            engine = llvm.create_mcjit_compiler(
                module, llvm.Target.from_default_triple()
                .create_target_machine())  # which the engine owns
            engine.finalize_object()
            function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(
                engine.get_function_address("f"))
            return function(7) - number == 7
        """,
    "jax": """
        import jax, jax.numpy as jnp
        def other(number):
            function = jax.jit(lambda x: jnp.tanh(x) @ x.T + number)
            return bool(jnp.isfinite(function(jnp.ones((4, 4)))).all())
        """,
    "torch": """
        import torch
        threads = torch.get_num_threads()
        def other(number):
            x = torch.full((64, 64), 1.0)
            return (bool(((x @ x) == 64).all())
                    and torch.get_num_threads() == threads)
        """,
    "onnxruntime": """
        import onnxruntime
        peer = onnxruntime.InferenceSession(
            open(sys.argv[1], "rb").read())
        def other(number):
            return peer.run(None, {"x": x})[0].shape == (8, 4)
        """,
}

PROGRAM = """
    import sys
    import numpy as np
    x = np.load(sys.argv[2])
    if {other_first}:
        {other}
    import divisi
    first = divisi.Session(divisi.compile(sys.argv[1], devices=2)).run(x)["y"]
    if not {other_first}:
        {other}
    for number in range(int(sys.argv[3])):
        assert other(number), number
        artifact = divisi.compile(sys.argv[1], devices=2)
        assert other(-number), number
        y = divisi.Session(artifact).run(x)["y"]
        np.testing.assert_array_equal(y, first)
    np.save(sys.argv[4], first)
"""


@pytest.mark.parametrize("other_first", [True, False])
@pytest.mark.parametrize("name", OTHERS)
def test_compiles_and_runs_between_those_of(name, other_first, tmp_path, x):
    pytest.importorskip(name)
    onnx.save(perceptron(), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", x)
    other = textwrap.indent(textwrap.dedent(OTHERS[name]), "    ")
    text = textwrap.dedent(PROGRAM).replace(
        "{other_first}", str(other_first)).replace("    {other}", other)
    done = subprocess.run(
        [sys.executable, "-c", text, tmp_path / "m.onnx", tmp_path / "x.npy",
         str(sample_size(200, 3, slow=True)), tmp_path / "y.npy"],
        env=dict(os.environ, PYTHONPATH=str(ROOT / "python")),
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    import divisi
    expected = divisi.Session(divisi.compile(perceptron(), devices=2)).run(x)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected["y"])
