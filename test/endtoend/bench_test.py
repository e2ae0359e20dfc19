"""divisi bench: how long runs take, and what of it devices do together."""

import json
import shutil

import numpy as np
import pytest
from conftest import BUILD, model

PRODUCT = """
spmd.grid @g (x = 2)
func.func @forward(%a: tensor<16x64xf32> {nn.name = "a",
      spmd.place = #spmd.place<@g: [*, x]>},
    %b: tensor<64x128xf32> {nn.name = "b",
      spmd.place = #spmd.place<@g: [x, *]>})
    -> (tensor<16x128xf32> {nn.name = "y",
      spmd.place = #spmd.place<@g: [*, *]>}) {
  %0 = nn.matmul %a, %b
      {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>}
      : (tensor<16x64xf32>, tensor<64x128xf32>) -> tensor<16x128xf32>
  return %0 : tensor<16x128xf32>
}
"""

needs_mpi = pytest.mark.skipif(
    not (BUILD / "lib" / "libdivisi_mpi.so").exists()
    or not shutil.which("mpirun"),
    reason="there is no MPI here (Debian: libopenmpi-dev openmpi-bin)")


@pytest.fixture
def product(divisi):
    """A product with one all-reduce of 8 KiB over two devices, m.divisi."""
    divisi.path("m.mlir").write_text(PRODUCT)
    divisi("compile", "m.mlir", "-o", "m.divisi")


def measure(divisi, *arguments):
    result = json.loads(divisi("bench", *arguments, "--json").out)
    assert result["schema_version"] == 1
    for run in result["runs"]:
        times = sorted(run["ns"])
        assert all(time > 0 for time in times)
        # So much of them is not exceeded, and no less time would do.
        for share, name in [(0.5, "median_ns"), (0.9, "p90_ns"),
                            (0.99, "p99_ns")]:
            below = sum(time <= run[name] for time in times)
            assert run[name] in times and below >= share * len(times)
            assert sum(time < run[name] for time in times) < share * len(times)
        for device in run["devices"]:
            assert 0 <= device["waiting_share"] <= 1
    return result["runs"]


def test_times_bytes_and_waiting(divisi, product):
    [run] = measure(divisi, "m.divisi", "--repeat", 37, "--warm-up", 2)
    assert len(run["ns"]) == 37
    assert (run["input"], run["entry"]) == ("m.divisi", "forward")
    assert [device["device"] for device in run["devices"]] == [0, 1]
    for device in run["devices"]:
        # Half to the one who combines it, and the half that it combines.
        assert device["collectives"] == {
            "all_reduce": {"steps": 1, "bytes": 4 * 16 * 128}}


def test_as_text(divisi, product):
    lines = divisi("bench", "m.divisi", "--repeat", 3).out.splitlines()
    assert lines[0].startswith("m.divisi: median ")
    assert lines[0].endswith("; 3 runs of entry 'forward' on 2 devices")
    assert lines[1] == ("  all_reduce x 1: a device sends up to 8.0 KiB to "
                        "others")
    assert lines[2].startswith("  waiting for others: ") and len(lines) == 3


def test_two_artifacts_by_turns(divisi):
    made = model("classifier")
    for devices in (1, 2):
        divisi("compile", made.onnx, *made.shapes, "--devices", devices,
               "-o", f"{devices}.divisi")
    first, second = measure(divisi, "2.divisi", "1.divisi", "--inputs",
                            made.inputs, "--repeat", 4)
    assert len(first["devices"]) == 2 and len(second["devices"]) == 1
    assert len(first["ns"]) == len(second["ns"]) == 4
    assert second["devices"][0]["collectives"] == {}


def test_a_model(divisi):
    made = model("classifier")
    [run] = measure(divisi, made.onnx, "--devices", 2, "--repeat", 4,
                    "--inputs", made.inputs)
    assert run["input"] == str(made.onnx) and len(run["devices"]) == 2
    err = divisi("bench", made.onnx, "--devices", 2, exits=2).err
    assert "--shape" in err


def test_an_artifact_beside_a_model(divisi):
    """Options that decide on the plan are the model's."""
    made = model("classifier")
    options = (*made.shapes, "--devices", 2)
    divisi("compile", made.onnx, *made.shapes, "-o", "1.divisi")
    first, second = measure(divisi, "1.divisi", made.onnx, *options,
                            "--repeat", 3)
    assert len(first["devices"]) == 1 and len(second["devices"]) == 2
    err = divisi("bench", "1.divisi", "1.divisi", *options, exits=2).err
    assert "--devices is decided already: '1.divisi' is an artifact" in err


@needs_mpi
def test_in_two_processes(divisi, product):
    [run] = measure(divisi, "m.divisi", "--launch", 2, "--repeat", 5)
    assert [device["device"] for device in run["devices"]] == [0, 1]
    assert [d["collectives"]["all_reduce"]["bytes"] for d in run["devices"]
            ] == [8192, 8192]


def test_what_it_takes(divisi, product):
    for arguments, message in [
            (("m.divisi",) * 3, "bench compares two inputs at most, got 3"),
            (("m.divisi", "--repeat", 0),
             "--repeat 0: expected 1 to 10000000"),
            (("m.divisi", "--warm-up", -1),
             "--warm-up -1: expected 0 to 10000000")]:
        assert message in divisi("bench", *arguments, exits=2).err
    divisi("bench", "gone.divisi", exits=3)
    np.savez(divisi.path("x.npz"), a=np.zeros((16, 64), np.float32))
    divisi("bench", "m.divisi", "--inputs", "x.npz", exits=4)
