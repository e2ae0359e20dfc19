"""The backend of torch.compile, and what divisi.torch makes of modules.

PyTorch is no part of the project's Python. DIVISI_TORCH names one that has it, with
the packages of bench/onnxruntime/requirements.txt; without it, the environment that
bench/onnxruntime has made is used, if there is one.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench" / "onnxruntime"))

import environment  # noqa: E402
import names  # noqa: E402

HERE = Path(__file__).resolve().parent
PROGRAM = Path(os.environ.get("DIVISI_BUILD", ROOT / "build")) / "bin" / "divisi"
MADE = environment.folder_of(environment.REQUIREMENTS) / "bin" / "python"
TORCH = os.environ.get("DIVISI_TORCH") or (
    str(MADE) if MADE.exists() else sys.executable)


def has_torch():
    done = subprocess.run([TORCH, "-c", "import importlib.util as util, sys; "
                           "sys.exit(not all(map(util.find_spec, "
                           "('torch', 'onnxscript'))))"])
    return done.returncode == 0


pytestmark = pytest.mark.skipif(
    not has_torch(), reason="no PyTorch and onnxscript: DIVISI_TORCH names a "
    "Python that has them")

CASES = ["weights_change", "threads_take_turns", "shapes_are_dynamic",
         "memory_is_shared", "falls_back", "branches", "fused_layers",
         "small_floats", "groups_of_rows",
         "programs_are_compiled", "options_are_refused", "plan_files_are_read",
         "cache_is_found", "page"]
# Of those that take less than minutes.
MODELS = [name for name in names.MODELS if not name.endswith("-b8")]


def host(*cases):
    done = subprocess.run([TORCH, HERE / "torch_host.py", *cases],
                          capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.count("passed ") == len(cases)


def test_backend():
    host("smoke")


@pytest.mark.whole
def test_cases():
    host(*CASES)


@pytest.mark.whole
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("case", ["gpt2", "bert", "resnet", "mixtral"])
def test_training(case, devices):
    host(f"training:{case}:{devices}")


@pytest.mark.whole
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_models(name, devices):
    host(f"model:{name}:{devices}")


def torchrun(processes, program, *arguments):
    """What processes of gloo print."""
    done = subprocess.run(
        [TORCH, "-m", "torch.distributed.run", "--standalone",
         "--nproc-per-node", str(processes), HERE / program, *arguments],
        capture_output=True, text=True, timeout=550,
        env=dict(os.environ, PYTHONPATH=str(ROOT / "python")))
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.whole
@pytest.mark.parametrize("processes, devices", [(2, 2), (3, 4)])
def test_group(processes, devices):
    """Processes of torchrun share the devices of what is compiled."""
    cases = ["forward", "shapes", "blocks", "training", "falls_back", "differs"]
    told = torchrun(processes, "torch_group_host.py", str(devices), *cases)
    assert told.count("passed ") == len(cases)


@pytest.mark.whole
def test_moves():
    """Conversions between layouts of DTensor."""
    assert "passed" in torchrun(4, "torch_moves_host.py", "60")


def mesh(processes, name, *program, **options):
    """What process 0 tells of a module on a mesh of gloo; `program` plans it, or
    else the module's own plan is applied."""
    told = torchrun(processes, "torch_mesh_host.py", name, json.dumps(options),
                    *program)
    return json.loads(next(line for line in told.splitlines()
                           if line.startswith("{")))


@pytest.mark.whole
@pytest.mark.parametrize("processes, options", [
    (2, {"tensor_parallel_size": 2}), (4, {"mesh": {"model": 4}}),
    (4, {"mesh": {"data": 2, "model": 2}, "tensor_parallel_size": 2,
         "data_parallel_size": 2})])
@pytest.mark.parametrize("name", ["gpt2", "llama", "vit", "windows"])
def test_mesh(name, processes, options):
    told = mesh(processes, name, **options)
    plan = told["plan"]
    assert plan["mesh"]["shape"] == list(
        options.get("mesh", {"model": processes}).values())
    # Heads are divided, also of a product that makes three things at once.
    fused = {"gpt2": "model.transformer.h.0.attn.c_attn.weight",
             "vit": "blocks.1.attn.qkv.weight"}.get(name)
    if fused:
        assert "_StridedShard" in str(plan["parameters"][fused]), plan
    # All that is moved is planned, and the other way around.
    moving = [each for each in told["planned"] if each["bytes"]]
    count = sum(each["bytes"] for each in moving)
    if name == "windows":  # whose table of positions is planned to be divided
        assert told["bytes"] < count
        assert told["report"] == [f"a call moves {told['bytes']} bytes to a "
                                  f"device, {count} are planned"]
    else:
        assert told["moved"] == Counter(each["kind"] for each in moving)
        assert told["bytes"] == count
        assert told["report"] == []


@pytest.mark.whole
@pytest.mark.parametrize("name", ["gpt2", "llama", "vit"])
def test_mesh_planned_with_backward(name):
    """Of such a plan the forward pass moves what it says. Weights are divided here,
    for in the backward pass the gradients of whole ones cost more."""
    told = mesh(2, name, backward=True)
    moving = [each for each in told["planned"] if each["bytes"]]
    assert told["moved"] == Counter(each["kind"] for each in moving)
    assert told["bytes"] == sum(each["bytes"] for each in moving)
    assert told["bytes"] and not mesh(2, name)["bytes"]


@pytest.mark.whole
@pytest.mark.parametrize("name", ["gpt2", "llama", "vit"])
def test_mesh_of_exported_plan(name):
    """A file of the command line is applied as the module's own plan is."""
    of_file, own = (mesh(2, name, *program, tensor_parallel_size=2)
                    for program in ((PROGRAM,), ()))
    assert len(own["products"]) > 8
    assert of_file["products"] == own["products"]
    # Of GPT-2 the exporter makes two weights of one, which rest differently.
    assert of_file["bytes"] <= (1.2 if name == "gpt2" else 1) * own["bytes"]


@pytest.mark.whole
@pytest.mark.parametrize("name", ["gpt2", "llama", "vit"])
def test_four_processes_of_an_exported_plan(name):
    """Outputs, loss and gradients, which the processes compare with one's."""
    told = mesh(4, name, PROGRAM, mesh={"model": 4})
    assert told["plan"]["mesh"]["shape"] == [4]
    assert len(told["products"]) > 8
