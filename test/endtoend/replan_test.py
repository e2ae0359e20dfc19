"""--replan plans again by what the plan was asked for, also for other devices,
and says what it keeps, and what it cannot."""

import re

import pytest
from conftest import Divisi, ROOT, run_python

GPUS = ("--gpu", "off")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    divisi = Divisi(tmp_path_factory.mktemp("replan"))
    run_python(ROOT / "models" / "mlp.py", "--widths", "32,64,32", "--batch",
                   "16", "-o", divisi.path("m.onnx"))
    return divisi


def plan(divisi, *flags, source="m.onnx", to="p.mlir", cluster="dgx-h100:8"):
    machine = ("--cluster", cluster) if cluster else ()
    err = divisi("plan", source, *machine, *flags, *GPUS, "-o", to).err
    text = divisi.path(to).read_text()
    found = re.search(r"roles = \"([^\"]*)\"", text)
    grids = re.findall(r"spmd.grid @\w+ \(([^)]*)\)", text)
    return found.group(1), grids, re.findall(
        r"note: (--replan.*)", err), text


DEGREES = ("--data-parallel-size", 2, "--tensor-parallel-size", 4)
KEEPS = "--replan keeps what the plan was made with: "


@pytest.mark.parametrize("flags, cluster, roles, note", [
    ((), None, "data model model",
     [KEEPS + "--data-parallel-size 2, --tensor-parallel-size 4"]),
    ((), "dgx-h100:16", "data data model model",
     [KEEPS + "--data-parallel-size 4 (2 before), --tensor-parallel-size 4"]),
    ((), "dgx-h100:4", "model model",
     [KEEPS + "--data-parallel-size 1 (2 before), --tensor-parallel-size 4"]),
    (("--tensor-parallel-size", 2), None, "data data model", []),
    (("--mesh", "x=4,y=2"), None, "any any", []),
    (("--keep", "nn.matmul"), None, "data model model", []),
])
def test_degrees_stay(made, flags, cluster, roles, note):
    first = plan(made, *DEGREES)
    again = plan(made, "--replan", *flags, source="p.mlir", to="q.mlir",
                 cluster=cluster)
    assert first[0] == "data model model"
    assert again[0] == roles and again[2] == note
    if not flags and not cluster:
        assert again[3] == first[3]


def test_degrees_that_do_not_divide_are_refused(made):
    plan(made, *DEGREES)
    err = made("plan", "p.mlir", "--replan", "--cluster", "dgx-h100:6", *GPUS,
               "-o", "q.mlir", exits=2).err
    assert ("--replan: the plan has --tensor-parallel-size 4, and there are 6 "
            "devices, which it does not divide; give --tensor-parallel-size or "
            "--data-parallel-size") in err


def test_a_named_mesh_stays_on_as_many_devices(made):
    mesh = "data=2,model=2,other=2"
    first = plan(made, "--mesh", mesh)
    again = plan(made, "--replan", source="p.mlir", to="q.mlir", cluster=None)
    assert again[3] == first[3] and again[2] == [KEEPS + f"--mesh {mesh}"]
    roles, _, notes, _ = plan(made, "--replan", source="p.mlir", to="q.mlir",
                              cluster="dgx-h100:16")
    assert "data" not in roles
    assert notes == [f"--replan: the mesh {mesh} of the plan is for 8 devices, "
                     "and there are 16: its axes may be used for anything now; "
                     "give --mesh, or degrees"]


def test_options_stay(made):
    first = plan(made, "--memory-limit", "1GiB", "--batch-dim", 1)
    again = plan(made, "--replan", source="p.mlir", to="q.mlir", cluster=None)
    assert again[3] == first[3]
    assert again[2] == [KEEPS + "--batch-dim 1, --memory-limit 1073741824"]
    _, _, notes, text = plan(made, "--replan", "--memory-limit", "2GiB",
                             source="p.mlir", to="q.mlir", cluster=None)
    assert "memory_limit = 2147483648" in text
    assert notes == [KEEPS + "--batch-dim 1"]


def test_states_of_training_stay(made):
    train = ("--train", "--loss", "mse", "--optimizer", "adam", "--lr", 1)
    first = plan(made, *train, "--zero", 3, "--recompute", "none")
    again = plan(made, "--replan", source="p.mlir", to="q.mlir", cluster=None)
    assert again[3] == first[3]
    assert "--zero 3" in again[2][0] and "--recompute none" in again[2][0]


@pytest.mark.parametrize("flags, count, note", [
    ((), 2, [KEEPS + "--pipeline-parallel-size 2"]),
    (("--pipeline-parallel-size", 1), 1, []),
])
def test_stages_stay(made, flags, count, note):
    plan(made, "--pipeline-parallel-size", 2, "--micro-batches", 4)
    _, grids, notes, _ = plan(made, "--replan", *flags, source="p.mlir",
                              to="q.mlir", cluster=None)
    assert len(grids) == count and notes == note
