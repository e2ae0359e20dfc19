"""What the planner prices is what Partition and Lower make, plan by plan: each
conversion and the whole to the nanosecond, memory within 5 % below and 10 %
above."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "endtoend"))
from share import sample_size  # noqa: E402
from train_steps import Step  # noqa: E402

BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
MODELS = ROOT / "test" / "models"
# Of each machine: a mesh, a cluster, and whether its devices fuse. On the meshes
# with a 3 shards are uneven.
PLANS = sample_size(50)
MACHINES = [("2x2", "cpu:4", True), ("3x2", "cpu:6", False),
            ("2x2", "dgx-h100:8", False), ("3x2", "dgx-h100:8", True)]
SMALL = ["bert", "gpt2", "llama", "resnet", "segformer", "t5", "vit"]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True,
                          text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def dump_of(model, folder, *flags):
    dump = folder / "import.mlir"
    dump.write_text(run(BUILD / "bin" / "divisi", "compile", model, *flags,
                        "--dump-after", "import", "-o", "-"))
    return dump


def without_fusion(cluster, folder):
    """The file of the same machine whose kernels do not go on."""
    text = run(BUILD / "bin" / "divisi", "cluster", cluster)
    changed, count = re.subn(r"(fuses:\s+)true", r"\1false", text)
    assert count > 0, text
    file = folder / f"{cluster.replace(':', '-')}.yaml"
    file.write_text(changed)
    return file


def compare(name, dump, machine, capsys):
    mesh, cluster, fuses = machine
    if not fuses:
        cluster = without_fusion(cluster, dump.parent)
    out = run(BUILD / "bin" / "price-plans", dump, "--mesh", mesh,
              f"--plans={PLANS}", f"--cluster={cluster}")
    conversions = int(re.search(r"(\d+) conversions,", out).group(1))
    fused = int(re.search(r"(\d+) fused operators:", out).group(1))
    # A plan that converts nothing shows nothing.
    assert conversions > PLANS, out
    assert fused > PLANS if fuses else fused == 0, out
    off = re.search(r"memory at worst (\S+) off", out).group(1)
    with capsys.disabled():
        print(f"\ncounted: {PLANS} plans of {name} on {mesh} of "
              f"{Path(cluster).stem}: {conversions} conversions and {fused} "
              f"fused operators priced as made, memory at worst {off} off")


on_machines = pytest.mark.parametrize("machine", MACHINES, ids=str)


@pytest.mark.sample("name", "machine")
@on_machines
@pytest.mark.parametrize("name", SMALL)
def test_random_plans_cost_what_was_said(name, machine, tmp_path, capsys):
    model = MODELS / f"{name}.onnx"
    inputs = MODELS / f"{name}.inputs.npz"
    compare(name, dump_of(model, tmp_path, "--shapes-from", inputs), machine,
            capsys)


@pytest.mark.sample("name", "mesh")
@pytest.mark.parametrize("mesh", ["x0=2:[18,7],x1=2,x2=2",
                                  "x0=8:[5,5,5,5,1,1,1,1]", "2x2x2"])
@pytest.mark.parametrize("name", ["gpt2", "resnet"])
def test_memory_is_right_by_kind_of_device(name, mesh, tmp_path, capsys):
    cluster = ROOT / "test" / "endtoend" / "Inputs" / "a100-v100.yaml"
    dump = dump_of(MODELS / f"{name}.onnx", tmp_path, "--shapes-from",
                   MODELS / f"{name}.inputs.npz")
    compare(name, dump, (mesh, cluster, True), capsys)


@pytest.mark.sample()
@on_machines
def test_random_plans_of_a_training_step_cost_what_was_said(machine, tmp_path,
                                                            capsys):
    step = Step(batch=256, width=512, layers=3)
    step.write(tmp_path)
    compare("a training step", tmp_path / "step.mlir", machine, capsys)


@pytest.mark.sample()
@on_machines
def test_random_plans_of_gpt2_124m_cost_what_was_said(machine, tmp_path, capsys):
    model = tmp_path / "gpt2.onnx"
    run(sys.executable, ROOT / "models" / "gpt2.py", "--size", "small", "--batch",
        4, "--seq", 128, "--weightless", "-o", model)
    compare("GPT-2 124M", dump_of(model, tmp_path), machine, capsys)
