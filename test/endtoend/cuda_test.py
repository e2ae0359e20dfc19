"""GPUs that are not there: models through the backend `cuda` on the emulated
driver of test/emulator, which does the work of streams in an order drawn by a
seed, reports races whatever the order was, and runs generated kernels thread by
thread. (The tests of its parts: test/emulator.)"""

import os
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from conftest import assert_close, load, model
from share import drawn, is_sweep, sample_size

pytestmark = pytest.mark.as_written

DEVICE = 9
MODELS = ["gpt2", "bert", "llama", "vit", "t5", "resnet", "segformer"]
PLANS = {
    "one": ["--devices", 1],
    "found": ["--devices", 2],
    "four": ["--devices", 4],
    "uneven": ["--mesh", "3", "--solver", "random", "--seed", 3],
}
EMULATOR = Path(os.environ["DIVISI_BUILD"]) / "test" / "emulator" / "lib"


HAS_PRODUCTS = any(EMULATOR.glob("libcublasLt.so.*"))
HAS_CONVOLUTIONS = any(EMULATOR.glob("libcudnn.so.*"))
HAS_NCCL = (EMULATOR / "libnccl.so.2").exists()
# Without NCCL's header GPUs meet with the host.
GPU = ["--gpu", "emulated", "--collectives", "nccl" if HAS_NCCL else "host"]


@pytest.fixture(autouse=True)
def _needs_emulator(divisi, monkeypatch):
    if not (EMULATOR / "libcuda.so.1").exists():
        pytest.skip("the build found no cuda.h")
    # Where the user's key is, which says whose code is run.
    monkeypatch.setenv("XDG_DATA_HOME", str(divisi.path("user")))


@pytest.fixture
def needs_products():
    if not HAS_PRODUCTS:
        pytest.skip("the build found no cublasLt.h")


@pytest.fixture
def needs_convolutions():
    if not HAS_CONVOLUTIONS:
        pytest.skip("the build found no cudnn_graph.h")


def emulator(**settings):
    """The environment of a machine with emulated GPUs. `bytes` are those that can be
    asked for, unless contexts and the like are charged, too."""
    if "bytes" in settings:
        settings = {"charges": 0, **settings}
    named = {f"DIVISI_EMULATOR_{name.upper()}": str(value)
             for name, value in settings.items()}
    return {**os.environ, **named, "LD_LIBRARY_PATH": str(EMULATOR)}


def compile_for_gpus(divisi, name, plan):
    m = model(name)
    divisi("compile", m.onnx, *m.shapes, *PLANS[plan], *GPU, "-o", "g.divisi")
    return m


def run_with_seed(divisi, m, seed, runs):
    result = divisi("run", "g.divisi", "--inputs", m.inputs, "--repeat", runs,
                    "--verbose", "-o", "out.npz", env=emulator(seed=seed))
    assert "by kernels of 'cuda': " in result.err
    assert "emulator: " not in result.err
    for line in result.err.splitlines():
        assert not HAS_NCCL or " meets others " not in line or (
            "between GPUs by NCCL" in line)
    for line in result.err.splitlines():
        if HAS_PRODUCTS and "'cuda'" not in line and " runs " in line:
            assert "nn.matmul" not in line
        if HAS_CONVOLUTIONS and "'cuda'" not in line and " runs " in line:
            assert "nn.conv" not in line and "fused" not in line
    print(f"counted: interleavings of emulated GPUs: {runs}")
    return load(divisi.path("out.npz"))


@pytest.mark.sample("plan")
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", MODELS)
def test_gpus_give_what_the_model_gives(divisi, name, plan):
    m = compile_for_gpus(divisi, name, plan)
    assert_close(run_with_seed(divisi, m, 1, 2), load(m.outputs))


# Each run is another interleaving; more of them: cuda_programs_test.py.
@pytest.mark.sample()
@pytest.mark.parametrize("name", MODELS)
def test_every_interleaving_gives_the_same_bits(divisi, name):
    m = compile_for_gpus(divisi, name, "found")
    first = run_with_seed(divisi, m, 1, 2)
    for key, values in run_with_seed(divisi, m, 2, 2).items():
        assert values.tobytes() == first[key].tobytes()


def waits_of(divisi, run):
    """How many waits `run(waits=)` has."""
    run(waits=divisi.path("waits"))
    return int(divisi.path("waits").read_text())


def leave_out_waits(run, waits, least, tells="emulator: race: ", behind=0):
    """Leaves out each of a share of `waits`, if there are so many, after the first
    `behind` of `run(drop=, seed=)`: those of a first run, in which the host waits
    for collectives. Threads of the host order work of GPUs, too, as it
    happens, so that a wait may not be missed in one run: then others are tried.
    How many were reported, and how many others imply: of all waits `least` at
    least, and no more than were reported; of a share one."""
    reported, implied = _leave_out(run, waits, tells, behind)
    assert reported >= (least if is_sweep() else 1)
    assert implied <= reported or not is_sweep()
    return reported, implied


def leave_out_later_waits(divisi, inputs, waits, least):
    """The same of a second run of g.divisi on `inputs`."""
    def run(runs, **settings):
        return divisi("run", "g.divisi", "--inputs", inputs, "--repeat", runs,
                      "--no-graphs", "-o", "out.npz", exits=None,
                      env=emulator(**settings))

    first = waits_of(divisi, partial(run, 1))
    return leave_out_waits(partial(run, 2), waits, least, behind=first)


def _leave_out(run, waits, tells, behind):
    reported = implied = 0
    for count, dropped in enumerate(drawn(range(1, waits + 1))):
        if count >= sample_size(waits, 4) and reported > 0:
            break
        isThere = isReported = isImplied = False
        for seed in range(1, 6):
            told = run(drop=behind + dropped, seed=seed)
            isThere = "emulator: left out a wait" in told.err
            if not isThere:
                break
            isReported = re.search(tells, told.err) is not None
            assert told.code == (DEVICE if isReported else 0), told.err
            isImplied |= "emulator: others imply the wait" in told.err
            if isReported:
                break
        if not isThere:
            continue
        assert isReported or isImplied, f"wait {dropped}: {told.err}"
        reported, implied = reported + isReported, implied + (not isReported)
    return reported, implied


@pytest.mark.whole
def test_a_wait_that_is_left_out_is_reported(divisi):
    m = compile_for_gpus(divisi, "gpt2", "found")
    reported, implied = leave_out_later_waits(divisi, m.inputs, 24, 3)
    print(f"counted: waits left out: {reported} reported as races, {implied} "
          "that others imply")


def test_what_is_missing_is_named(divisi):
    m = compile_for_gpus(divisi, "gpt2", "found")
    run = ["run", "g.divisi", "--inputs", m.inputs, "-o", "out.npz"]
    few = divisi(*run, exits=DEVICE, env=emulator(devices=1))
    assert ("no CUDA device 1: this process sees 1; use fewer devices, or let "
            "CUDA_VISIBLE_DEVICES name more") in few.err
    full = divisi(*run, exits=DEVICE, env=emulator(bytes=4096))
    assert "out of memory (CUDA_ERROR_OUT_OF_MEMORY)" in full.err
    none = {key: value for key, value in os.environ.items()
            if key != "LD_LIBRARY_PATH"}
    small = divisi(*run, exits=DEVICE, env=emulator(bytes=256 << 20, charges=1))
    assert re.search(r"CUDA cannot begin on device [01]: out of memory", small.err)
    absent = divisi(*run, exits=DEVICE, env=none)
    assert ("no CUDA device: libcuda.so.1: cannot open shared object file: No "
            "such file or directory; libcuda.so.1 comes with NVIDIA's driver "
            "for the GPU; compile the model with --gpu off where there is "
            "none") in absent.err


def test_gpus_are_named_by_compute_capability(divisi):
    m = model("gpt2")
    for wrong in ("sm_70", "sm_", "h100"):
        result = divisi("compile", m.onnx, *m.shapes, "--gpu", wrong, "-o",
                        "g.divisi", exits=2)
        assert (f"--gpu '{wrong}': expected auto, off, emulated, or "
                "sm_N") in result.err
    said = divisi("compile", m.onnx, *m.shapes, "--gpu", "sm_90", "--cubins",
                  "off", "-o", "g.divisi", "--dump-after", "lower",
                  "--dump-to", ".")
    [dump] = divisi.folder.glob("*.lower.mlir")
    assert 'for "nvptx64-nvidia-cuda-grid1:sm_90"' in dump.read_text()
    assert "kernels for GPUs: PTX for sm_90 on, no cubins" in said.err
    said = divisi("compile", m.onnx, *m.shapes, "--gpu", "emulated", "-o",
                  "g.divisi")
    assert "kernels for GPUs: for the emulator" in said.err


def test_gpus_that_do_not_exist_are_refused(divisi):
    m = model("gpt2")
    told = divisi("compile", m.onnx, *m.shapes, "--gpu", "sm_95", "-o",
                  "g.divisi", exits=5)
    assert ("there is no code for 'sm_95', which LLVM does not know"
            in told.err)
    assert len(told.err.splitlines()) == 1


@pytest.mark.whole
def test_the_cluster_says_which_gpus(divisi, generated):
    m = generated("gpt3.py", "--layers", 2, "--width", 64, "--heads", 4,
                  "--vocabulary", 128, "--seq", 16, "--dtype", "f32")
    said = divisi("compile", m.onnx, "--precision", "bf16", "--cluster",
                  "dgx-h100:8", "--cubins", "off", "-o", "g.divisi").err
    assert "kernels for GPUs: PTX for sm_90 on" in said
    told = divisi("explain", "g.divisi").out
    if HAS_PRODUCTS:
        assert re.search(r"^kernels: cuBLASLt and generated  ?matmul", told,
                         re.MULTILINE), told
    assert re.search(r"^kernels: generated .*normalize", told, re.MULTILINE)
    for flags in (["--cluster", "dgx-h100:8", "--gpu", "off"],
                  ["--cluster", "dgx-v100:8"], ["--devices", 2]):
        said = divisi("compile", m.onnx, *flags, "-o", "g.divisi").err
        assert "kernels for GPUs" not in said
    said = divisi("compile", m.onnx, "--cluster", "dgx-a100:8", "--cubins",
                  "off", "--gpu", "sm_100", "-o", "g.divisi").err
    assert "kernels for GPUs: PTX for sm_100 on" in said


def without_assembler():
    """The environment of a machine without NVIDIA's toolkit."""
    return {**os.environ, "CUDA_HOME": "/nowhere", "PATH": "/usr/bin:/bin"}


# What the artifact has is told; the same each time, whether it was kept or not.
@pytest.mark.whole
def test_kernels_are_assembled_where_that_can_be_done(divisi, monkeypatch):
    m = model("gpt2")

    def compile_in(cache, *flags, **others):
        monkeypatch.setenv("XDG_CACHE_HOME", str(divisi.path(cache)))
        said = divisi("compile", m.onnx, *m.shapes, *flags, "-o", "g.divisi",
                      **others)
        return said.err, divisi.path("g.divisi").read_bytes()

    said, plain = compile_in("a", "--gpu", "sm_90",
                             env=without_assembler())
    assert "kernels for GPUs: PTX for sm_90 on, no cubins" in said
    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin"
    if not all((home / tool).exists() for tool in ("ptxas", "fatbinary")):
        pytest.skip(f"no ptxas and fatbinary in {home}")
    said, first = compile_in("a", "--gpu", "sm_90")
    assert "PTX for sm_90 on, cubins for sm_90, sm_100" in said
    # An ELF file for each of two machines, and PTX, of each kernel.
    kernels = int(re.search(r"(\d+) kernels for GPUs", said)[1])
    assert first.count(b"\x7fELF") - plain.count(b"\x7fELF") == 2 * kernels
    assert first.count(b".target sm_90") == kernels
    assert compile_in("a", "--gpu", "sm_90") == (said, first)
    assert compile_in("b", "--gpu", "sm_90") == (said, first)
    told = divisi("explain", m.onnx, *m.shapes, "--gpu", "sm_89").out
    assert re.search(r"code for GPUs +\d+ kernels, .*, PTX for sm_89 on, cubins "
                     r"for sm_89, sm_90, sm_100", told)


# PTX is nothing that the emulator could run, as a GPU refuses what is too new.
def test_kernels_for_another_machine_are_refused(divisi):
    m = model("gpt2")
    divisi("compile", m.onnx, *m.shapes, "--gpu", "sm_80", "-o", "g.divisi")
    result = divisi("run", "g.divisi", "--inputs", m.inputs, "-o", "out.npz",
                    exits=DEVICE, env=emulator())
    assert "CUDA cannot load a generated kernel" in result.err


def test_code_of_others_is_not_run(divisi):
    m = compile_for_gpus(divisi, "gpt2", "found")
    run = ["run", "g.divisi", "--inputs", m.inputs, "-o", "out.npz"]
    other = {**emulator(), "XDG_DATA_HOME": str(divisi.path("other"))}
    result = divisi(*run, exits=5, env=other)
    key = divisi("key", env=emulator()).out.strip()
    assert (f"the artifact's code for GPUs is not run: it is signed by '{key}', "
            "which is not trusted; trust who signed it (--trust), allow native "
            "code whoever made it (--allow-native), or compile the model again"
            ) in result.err
    divisi(*run, "--allow-native", env=other)
    divisi.path("keys").write_text(key + "\n")
    divisi.path("keys").chmod(0o644)
    divisi(*run, "--trust", "keys", env=other)


# Before any library is opened, none of which is there.
def test_a_driver_of_another_cuda_is_named(divisi):
    m = compile_for_gpus(divisi, "gpt2", "found")
    divisi.path("lib").mkdir()
    divisi.path("lib/libcuda.so.1").symlink_to(EMULATOR / "libcuda.so.1")
    old = 12080 if (EMULATOR / "libcublasLt.so.13").exists() else 11080
    result = divisi("run", "g.divisi", "--inputs", m.inputs, "-o", "out.npz",
                    exits=DEVICE, env={**emulator(driver=old), "LD_LIBRARY_PATH":
                                       str(divisi.path("lib"))})
    assert re.search(
        rf"NVIDIA's driver is for CUDA {old // 1000}\.8, expected at least "
        r"(\d+)\.0, as this build of divisi was made with CUDA \1; update it, or "
        rf"build divisi with CUDA {old // 1000}", result.err), result.err
    assert "libcublasLt" not in result.err and "libnccl" not in result.err


def test_a_library_that_is_missing_is_named(divisi, needs_products):
    m = compile_for_gpus(divisi, "gpt2", "one")
    divisi.path("lib").mkdir()
    divisi.path("lib/libcuda.so.1").symlink_to(EMULATOR / "libcuda.so.1")
    result = divisi("run", "g.divisi", "--inputs", m.inputs, "-o", "out.npz",
                    exits=DEVICE, env={**emulator(), "LD_LIBRARY_PATH":
                                       str(divisi.path("lib"))})
    assert "products on GPUs need cuBLASLt: libcublasLt.so." in result.err
    assert "comes with NVIDIA's CUDA toolkit: install it" in result.err


def test_cudnn_that_is_missing_or_too_old_is_named(divisi, needs_products,
                                                   needs_convolutions):
    m = compile_for_gpus(divisi, "resnet", "one")
    divisi.path("lib").mkdir()
    for library in EMULATOR.glob("lib*"):
        if not library.name.startswith("libcudnn"):
            divisi.path(f"lib/{library.name}").symlink_to(library)
    run = ["run", "g.divisi", "--inputs", m.inputs, "-o", "out.npz"]
    result = divisi(*run, exits=DEVICE, env={**emulator(), "LD_LIBRARY_PATH":
                                             str(divisi.path("lib"))})
    assert "convolutions on GPUs need cuDNN: libcudnn.so." in result.err
    assert "comes with NVIDIA's cuDNN: install it" in result.err
    result = divisi(*run, exits=DEVICE, env=emulator(cudnn=90002))
    assert "is of cuDNN 9.0.2, expected at least 9.1.0; update it" in result.err


def test_explain_names_cudnn(divisi, needs_convolutions):
    m = model("resnet")
    told = divisi("explain", m.onnx, *m.shapes, "--devices", 2, "--gpu",
                  "emulated")
    assert "cuDNN and generated conv+" in told.out


def test_products_are_rounded_if_they_may_be(divisi, needs_products):
    m = compile_for_gpus(divisi, "bert", "one")
    exact = run_with_seed(divisi, m, 1, 1)
    divisi("run", "g.divisi", "--inputs", m.inputs, "--tf32", "-o", "out.npz",
           env=emulator())
    rounded = load(divisi.path("out.npz"))
    assert any((rounded[name] != values).any()
               for name, values in exact.items())
    for name, values in exact.items():
        np.testing.assert_allclose(rounded[name], values, rtol=0.05, atol=0.05)
