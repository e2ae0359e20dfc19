"""Sessions: results, state, what they tell, and how they end."""

import gc
import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import onnx
import onnxruntime
import pytest
from conftest import ROOT, compile_file, perceptron
from share import sample_size

import divisi


def test_results_are_those_of_onnx_runtime(small, x):
    model = perceptron().SerializeToString()
    [expected] = onnxruntime.InferenceSession(model).run(None, {"x": x})
    session = divisi.Session(small)
    for inputs in ((x,), ({"x": x},)):
        np.testing.assert_allclose(session.run(*inputs)["y"], expected, 1e-4,
                                   1e-5)


def test_artifact_says_what_it_is(small):
    assert small.devices == 2 and len(small.hash) == 64
    entry = small.entry()
    assert [value.name for value in entry.inputs] == ["x"]
    [output] = entry.outputs
    assert (output.shape, output.dtype, output.type_name) == (
        (8, 4), np.float32, "f32")
    assert set(small.globals) == {"w", "v"} and small.state_names == ()
    assert "x: 8x16xf32" in repr(small)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, str])
def test_artifact_from_bytes_and_files(small, x, tmp_path, kind):
    source = str(small.path) if kind is str else kind(bytes(small))
    artifact = divisi.load(source)
    assert artifact.hash == small.hash and bytes(artifact) == bytes(small)
    artifact.save(tmp_path / "copy.divisi")
    assert (tmp_path / "copy.divisi").read_bytes() == bytes(small)
    with pytest.raises(divisi.FileError):
        artifact.save(tmp_path / "none" / "copy.divisi")
    assert os.listdir(tmp_path) == ["copy.divisi"]
    np.testing.assert_array_equal(divisi.Session(artifact).run(x)["y"],
                                  divisi.Session(small).run(x)["y"])


def test_options_reach_the_runtime(small, x):
    plain = divisi.Session(small, backend=["reference"], threads=2, timeout=5,
                           check_indices=False)
    backends = {kernel["backend"] for entry in plain.describe()["entries"]
                for kernel in entry["kernels"]}
    assert backends == {"reference"}
    memory = plain.memory()
    assert len(memory) == 2 and memory[0].weights > 0
    np.testing.assert_allclose(plain.run(x)["y"],
                               divisi.Session(small).run(x)["y"], 1e-4, 1e-5)


def test_state_is_each_sessions_own(stateful):
    one, other = divisi.Session(stateful), divisi.Session(stateful)
    step = np.arange(4, dtype=np.float32)
    for count in (1, 2, 3):
        np.testing.assert_array_equal(one.run(step, entry="add")["y"],
                                      count * step)
    np.testing.assert_array_equal(one.run(entry="twice")["z"], 6 * step)
    np.testing.assert_array_equal(one.state["total"], 3 * step)
    np.testing.assert_array_equal(other.state["total"], 0 * step)
    one.state.reset()
    np.testing.assert_array_equal(one.state["total"], 0 * step)
    assert list(one.state) == ["total"] == list(stateful.state_names)


def test_sessions_end_with_their_last_reference(small, x):
    from divisi import _handles
    gc.collect()
    before = len(_handles._live)
    for _ in range(20):
        divisi.Session(small).run(x)
    gc.collect()
    assert len(_handles._live) == before


def script(text, *arguments):
    """What a Python of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)],
        env=dict(os.environ, PYTHONPATH=f"{ROOT / 'python'}"), timeout=60,
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout.split()


def test_import_is_quick_and_needs_no_numpy():
    times = script("""
        import sys, time
        start = time.perf_counter()
        import divisi
        print(time.perf_counter() - start, "numpy" in sys.modules)
        """)
    # 0.3 s on an idle machine; it takes 0.04.
    assert float(times[0]) < 1 and times[1] == "False"


@pytest.mark.parametrize("first, then", [
    ("onnx", "divisi"), ("divisi", "onnx"), ("torch", "divisi"),
    ("divisi", "torch"), ("llvmlite.binding", "divisi"),
    ("divisi", "llvmlite.binding"), ("onnxruntime", "divisi"),
    ("divisi", "onnxruntime")])
def test_either_order_of_imports(small, x, tmp_path, first, then):
    for name in (first, then):
        if name != "divisi":
            pytest.importorskip(name.split(".")[0])
    np.save(tmp_path / "x.npy", x)
    script(f"""
        import sys
        import {first}
        if "{first}" == "divisi":
            import numpy, divisi
            session = divisi.Session(sys.argv[1])
        import {then}
        import numpy, divisi
        session = divisi.Session(sys.argv[1])
        x = numpy.load(sys.argv[2])
        numpy.save(sys.argv[3], session.run(x)["y"])
        """, small.path, tmp_path / "x.npy", tmp_path / "y.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"),
                                  divisi.Session(small).run(x)["y"])


def test_forked_child_neither_uses_nor_frees(small):
    out = script("""
        import os, sys, numpy, divisi
        x = numpy.ones((8, 16), "f4")
        artifact = divisi.load(sys.argv[1])
        session = divisi.Session(artifact)
        before = session.run(x)["y"]
        child = os.fork()
        if child == 0:
            for call in (lambda: session.run(x), session.cancel,
                         lambda: divisi.Session(artifact)):
                try:
                    call()
                    print("used")
                except divisi.UsageError as error:
                    assert "forked" in str(error)
            mine = divisi.Session(divisi.load(sys.argv[1]))
            assert (mine.run(x)["y"] == before).all()
            session.close()
            del session
            print("child")
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert (session.run(x)["y"] == before).all()
        print("parent")
        """, small.path)
    assert out == ["child", "parent"]


def test_exit_with_a_run_in_progress(long):
    assert script("""
        import sys, threading, time, numpy, divisi
        session = divisi.Session(sys.argv[1], backend="reference")
        x = numpy.ones((96, 96), "f4")
        def work():
            while True:
                session.run(x)
        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
        print("left")
        """, long.path) == ["left"]


def test_warning_of_native_code_is_one_of_python(folder, tmp_path, monkeypatch):
    """Code of a key that nobody trusts is not run, and the caller hears it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> m (float[64, 64] x) => '
        "(float[64, 64] y) { a = Exp(x) b = Sqrt(a) c = Tanh(b) "
        "y = Mul(c, a) }")
    path = compile_file(model, folder / "native.divisi", "--native=auto")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "other"))
    with pytest.warns(divisi.DivisiWarning, match="native code .* is not run"):
        artifact = divisi.load(path)
    assert divisi.Session(artifact).run(np.ones((64, 64), "f4"))["y"].all()


def resident():
    """What this process has in memory, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_sessions_leave_nothing(small, x):
    """Neither memory, nor threads, nor descriptors; `make sweep`: 1,000 of them."""
    def use():
        with divisi.load(bytes(small)) as artifact:
            with divisi.Session(artifact, threads=2) as session:
                session.run(x)

    def held():
        """A thread that was joined is listed for a moment more."""
        counts = []
        for _ in range(20):
            counts.append((len(os.listdir("/proc/self/task")),
                           len(os.listdir("/proc/self/fd"))))
            time.sleep(0.005)
        return min(counts)

    for _ in range(20):
        use()
    before, things = resident(), held()
    count = sample_size(1000, 100)
    for _ in range(count):
        use()
    assert held() == things
    assert resident() - before < 2 << 20
