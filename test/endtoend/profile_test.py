"""divisi profile: what a machine can do, measured, as a file to plan for. GPUs
are those of the emulated driver, what joins them says the emulated NVML, whose
machines have names (test/emulator/NvmlApi.cpp), and they meet by the emulated
NCCL."""

import json
import os
import re

import pytest
from bad_input_test import FILES, USAGE, fails
from cuda_test import DEVICE, EMULATOR, HAS_NCCL, HAS_PRODUCTS, emulator

QUICK = ["--seconds", "0"]
COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]
# Small memories: copies are as large as a part of them.
SMALL = 1 << 24
needs_gpus = pytest.mark.skipif(
    not (EMULATOR / "libnvidia-ml.so.1").exists() or not HAS_PRODUCTS,
    reason="the build found no nvml.h or no cublasLt.h")
needs_nccl = pytest.mark.skipif(not HAS_NCCL,
                                reason="the build found no nccl.h")


def profile(divisi, *arguments, **options):
    """The file's text without notes, and what --json says."""
    result = divisi("profile", *arguments, *QUICK, "--cluster-out", "m.yaml",
                    "--json", **options)
    text = divisi.path("m.yaml").read_text()
    assert text.startswith("# Measured by divisi profile")
    said = json.loads(result.out)
    assert said["schema_version"] == 1
    for note in said["notes"]:
        assert f"# {note}\n" in text
        assert f"divisi: note: {note}\n" in result.err
    numbers = text[text.index("---"):]
    # The reader and the writer lose nothing.
    assert ("model_nanoseconds: " in numbers) == ("collective: " in numbers)
    assert divisi("cluster", "m.yaml").out == numbers
    return numbers, said


def value(said, what):
    found = [n for n in said["measurements"] if what in n["what"]]
    assert found and all(n["value"] > 0 and n["rounds"] >= 5 for n in found)
    return found[0]["value"]


def field(text, name):
    return float(re.search(rf"\b{name}: +([0-9.e+-]+)", text).group(1))


def test_processors_are_measured_and_planned_for(divisi, generated):
    text, said = profile(divisi, "cpu:2")
    # A core does more than one multiplication in a cycle of a slow clock, and
    # less than a thousand in one of a fast one.
    assert 1e8 < field(text, "f32") < 1e13
    assert value(said, "f32 products") == field(text, "f32")
    assert 1e8 < value(said, "memory, read and written") < 1e13
    assert 0 < value(said, "start of an operator") < 1e8
    assert 1e7 < value(said, "outside of products") < 1e13
    assert value(said, "outside of products") == field(
        text, "vector_flops_per_second")
    assert 0 <= field(text, "product_launch_nanoseconds") < 1e8
    assert "start of a product, more" in {
        number["what"] for number in said["measurements"]}
    assert field(text, "fanout") == 2 and "transport: " in text
    assert field(text, "latency_nanoseconds") > 0
    notes = " ".join(said["notes"])
    assert ("i8 is not measured: no kernel multiplies it; it is taken to be as "
            "fast as f32") in notes
    assert "the file is of one machine; ports to others, nominal:" in notes
    assert " none that says its rate" in notes or said["network"]
    for kind in COLLECTIVES:
        times = [n for n in said["measurements"] if n["what"].startswith(kind)]
        assert len(times) == 4
        assert [n["bytes"] for n in times] == sorted(n["bytes"] for n in times)
        # A MiB more takes longer, however noisy the machine.
        assert times[0]["value"] < times[-1]["value"]
        assert text.count(f"collective: {kind},") == 4
    m = generated("mlp.py", "--widths", "64,32", "--batch", 6)
    divisi("plan", m.onnx, "--cluster", "m.yaml", "-o", "p.mlir")
    report = json.loads(divisi("explain", "p.mlir", "--json").out)
    assert "cluster cpu:2 as measured" in report["cluster"]
    assert "2 x cpu" in report["cluster"]
    assert len(report["memory"]["per_device"]) == 2


def test_structure_does_not_depend_on_the_weather(divisi):
    def shape(text):
        return re.sub(r"[0-9][0-9.e+]*", "N", text)

    first, said = profile(divisi, "cpu:3")
    second, again = profile(divisi, "cpu:3")
    assert shape(first) == shape(second)
    names = [shape(n["what"]) for n in said["measurements"]]
    assert names == [shape(n["what"]) for n in again["measurements"]]


def test_one_device_has_no_links(divisi):
    text, said = profile(divisi, "cpu:1")
    assert "fanout" not in text
    assert not any(n["what"].split()[0] in COLLECTIVES
                   for n in said["measurements"])


def test_it_is_among_the_verbs(divisi):
    assert ("measure this machine and describe it as YAML, to plan for"
            in divisi("help").out)


def test_without_gpus_processors_are_measured(divisi):
    alone = {key: text for key, text in os.environ.items()
             if key != "LD_LIBRARY_PATH"}
    result = divisi("profile", *QUICK, "--cluster-out", "-", env=alone)
    assert (re.search("divisi: note: no CUDA device: .*; processors are "
                      "measured", result.err)
            or "does not support GPUs" in result.err)
    assert "kind: " in result.out and "wrote stdout: cluster of" in result.err
    result = divisi("profile", "gpu", *QUICK, "--cluster-out", "m.yaml",
                    exits=DEVICE, env=alone)
    assert "divisi profile cpu:N measures processors" in result.err
    assert "libcuda.so.1" in result.err or "no cuda.h" in result.err
    assert not divisi.path("m.yaml").exists()


def test_mistakes_are_said_before_anything_is_measured(divisi):
    def refuses(code, *arguments, because):
        fails(divisi, code, "profile", *arguments, because=[because])

    out = ["--cluster-out", "m.yaml"]
    refuses(USAGE, "cpu:2", because="--cluster-out")
    refuses(USAGE, "cpu:0", *out, because="'cpu:0': expected cpu:N or gpu:N with up to 256 devices, or "
            "nothing")
    refuses(USAGE, "tpu:4", *out, because="'tpu:4': expected cpu:N or gpu:N")
    refuses(USAGE, "cpu:", *out, because="'cpu:': expected cpu:N")
    refuses(USAGE, "cpu:2", "--seconds", "-1", *out,
            because="--seconds -1: expected 0 to 3600")
    refuses(USAGE, "cpu:2", "--threads-per-device", "0", *out,
            because="--threads-per-device 0: expected 1 to 1024")
    refuses(USAGE, "cpu:2", "--timeout", "0", *out,
            because="--timeout 0: expected 1 to 86400000 ms")
    refuses(USAGE, "cpu:2", "--json", "--cluster-out", "-",
            because="--json is written to stdout, and so is --cluster-out")
    refuses(FILES, "cpu:2", "--cluster-out", "none/m.yaml",
            because="there is no folder 'none'")


#===-----------------------------------------------------------------------===#
# GPUs
#===-----------------------------------------------------------------------===#


def gpus(divisi, topology, count=4, *arguments):
    return profile(divisi, f"gpu:{count}", *arguments,
                   env=emulator(bytes=SMALL, topology=topology))


def levels(text):
    """Names, transports and fanouts."""
    return re.findall(r"- name: +(\w+)\s+fanout: +(\d+)\s+transport: +(\w+)",
                      text)


@needs_gpus
@pytest.mark.parametrize("topology, expected, links", [
    ("nvlink", [("nvlink", "4", "nvlink")], [18] * 4),
    ("pairs", [("nvlink", "2", "nvlink"), ("pci", "2", "pci")], [4] * 4),
    ("chain", [("nvlink", "4", "nvlink")], [2, 4, 4, 2]),
    ("odd", [("pci", "4", "pci")], [18, 18, 18, 0]),
    ("pci", [("pci", "4", "pci")], [0] * 4),
])
def test_levels_are_what_joins_gpus(divisi, topology, expected, links):
    text, said = gpus(divisi, topology)
    assert levels(text) == expected
    assert [gpu["nvlinks"] for gpu in said["gpus"]] == links
    assert {gpu["pci_generation"] for gpu in said["gpus"]} == {5}
    assert ("NVLink connects some devices, but not in"
            in " ".join(said["notes"])) == (topology == "odd")
    assert re.search(r"count: +4\n +kind: +emulated\n", text)
    assert field(text, "compute_capability") == 90
    for what in ("f32", "f64", "f16", "bf16", "tf32"):
        value(said, f"{what} products")
    for what in ("copies from the host", "copies to the host",
                 "copies from device 0 to"):
        value(said, what)


@needs_gpus
@pytest.mark.parametrize("topology, why", [
    ("mute", "NVML cannot describe the link between two GPUs: Not Supported"),
    ("broken", "NVML cannot start: Driver Not Loaded"),
])
def test_what_nvml_does_not_say_is_not_made_up(divisi, topology, why):
    text, said = gpus(divisi, topology)
    assert levels(text) == [("links", "4", "memory")]
    [note] = [n for n in said["notes"] if "not known" in n]
    assert why in note and "transport stays memory, its default" in note
    assert said["gpus"][0]["paths"] == [None] + ["unknown"] * 3


# Of what there is room for, a collective is measured once in each size.
@needs_gpus
@needs_nccl
def test_gpus_meet_by_nccl_on_each_level(divisi):
    text, said = gpus(divisi, "pairs")
    for members in (2, 4):
        for kind in COLLECTIVES:
            times = [n for n in said["measurements"]
                     if n["what"] == f"{kind} of {members}"]
            assert [n["unit"] for n in times] == ["ns"] * 2
            assert times[0]["bytes"] < 100 < 1e5 < times[1]["bytes"] < SMALL
            assert text.count(f"collective: {kind}, members: {members},") == 2
    rates = re.findall(r"\n +bytes_per_second: +([0-9.e+]+)", text)
    assert len(rates) == 2 and all(float(rate) > 0 for rate in rates)


@needs_gpus
@needs_nccl
@pytest.mark.parametrize("failure, says", [
    ("nccl_fail", "error: NCCL cannot (go on with|begin) all_reduce"),
    ("nccl_hang", "waited 2000 ms in all_reduce .* for NCCL to end it"),
    ("nccl_alone", "waited 2000 ms for NCCL to connect 2 GPUs"),
])
def test_collectives_that_fail_end_it(divisi, failure, says):
    told = divisi("profile", "gpu:2", *QUICK, "--timeout", 2000,
                  "--cluster-out", "m.yaml", exits=DEVICE,
                  env=emulator(bytes=SMALL, **{failure: 1})).err
    assert re.search(says, told), told
    assert not divisi.path("m.yaml").exists()


def without(divisi, library, count):
    """profile() where a library is missing."""
    folder = divisi.path("lib")
    folder.mkdir()
    for file in EMULATOR.iterdir():
        if library not in file.name:
            (folder / file.name).symlink_to(file)
    return profile(divisi, f"gpu:{count}", env={
        **emulator(bytes=SMALL), "LD_LIBRARY_PATH": str(folder)})


@needs_gpus
def test_a_machine_without_nvml_is_measured(divisi):
    text, said = without(divisi, "nvidia-ml", 2)
    assert levels(text) == [("links", "2", "memory")]
    assert ("tile_edge is not measured: tiles of 128 x 128 are assumed"
            in " ".join(said["notes"]))
    assert "libnvidia-ml.so.1: cannot open shared object file" in " ".join(
        said["notes"])


@needs_gpus
def test_without_nccl_copies_say_how_fast_links_are(divisi):
    text, said = without(divisi, "nccl", 2)
    [note] = [n for n in said["notes"] if "no collectives are measured" in n]
    assert "libnccl.so.2" in note if HAS_NCCL else "no nccl.h" in note
    assert note.endswith("; rates of links are those of copies")
    assert "collective:" not in text
    assert field(text, "\n +bytes_per_second") == value(
        said, "copies from device 0 to 1")


@needs_gpus
def test_gpus_are_found_and_planned_for(divisi, generated, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(divisi.path("user")))
    environment = emulator(bytes=SMALL, devices=2)
    text, said = profile(divisi, env=environment)
    assert re.search(r"count: +2\n", text) and len(said["gpus"]) == 2
    m = generated("mlp.py", "--widths", "64,32,16", "--batch", 6)
    # These have no room for a context, which emulated ones have beside.
    roomy = ("--cluster", "m.yaml", "--memory-limit", 1 << 30)
    divisi("plan", m.onnx, *roomy, "-o", "p.mlir")
    assert "2 x emulated" in divisi("explain", "p.mlir").out
    # Code is for what was measured: of what is between the products.
    made = divisi("compile", m.onnx, *roomy, "-o", "g.divisi")
    assert "for GPUs: PTX for sm_90 on" in made.err
    one, _ = profile(divisi, "gpu:1", "--tf32", env=environment)
    assert "fanout" not in one
    few = divisi("profile", "gpu:3", *QUICK, "--cluster-out", "m.yaml",
                 exits=DEVICE, env=environment)
    assert "no CUDA device 2: this process sees 2" in few.err


@needs_gpus
def test_products_without_their_library_are_an_error(divisi):
    folder = divisi.path("lib")
    folder.mkdir()
    (folder / "libcuda.so.1").symlink_to(EMULATOR / "libcuda.so.1")
    result = divisi("profile", "gpu", *QUICK, "--cluster-out", "m.yaml",
                    exits=DEVICE, env={**emulator(bytes=SMALL),
                                       "LD_LIBRARY_PATH": str(folder)})
    assert "products on GPUs need cuBLASLt: libcublasLt.so." in result.err
