"""What a plan for GPUs copies to and from the host is in its time."""

import json
import math

import pytest
from conftest import model
from trained_models import Trained

pytestmark = pytest.mark.as_written

LAUNCH = 2000
H100, ASSUMED = 5.54e10, 2.5e10  # as docs/rationale-cost.md states


def explained(divisi, m, cluster, *flags):
    divisi("compile", m.onnx, *m.shapes, "--cluster", cluster, *flags,
           "-o", "m.divisi")
    return json.loads(divisi("explain", "m.divisi", "--json").out)


def copies_of(report):
    """Of inputs and outputs, each of which is a whole number of shards."""
    (grid,) = report["grids"]
    axes = dict(part.split("=") for part in grid["axes"].strip("()").split(", "))
    for tensor in report["tensors"]:
        parts = [axis for dim in tensor["layout"].strip("[]").split(", ")
                 if dim != "*" for axis in dim.split(".")]
        count = math.prod(tensor["shape"])
        ways = math.prod(int(axes[axis]) for axis in parts)
        yield count // ways


def price(elements, rate, width=4):
    return LAUNCH + math.ceil(1e9 * elements * width / rate)


def mlp(generated):
    return generated("mlp.py", "--widths", "1024,512,2048", "--batch", 64)


@pytest.mark.parametrize("ways", [("--data-parallel-size", 4),
                                  ("--tensor-parallel-size", 4), ()])
def test_inputs_and_outputs_are_priced_by_the_link(divisi, generated, ways):
    report = explained(divisi, mlp(generated), "dgx-h100:4", *ways)
    (copies,) = report["space_copies"]
    assert copies["copies"] == 2
    assert copies["nanoseconds"] == sum(
        price(elements, H100) for elements in copies_of(report))
    whole = sum(price(math.prod(tensor["shape"]), H100)
                for tensor in report["tensors"])
    assert copies["one_device_nanoseconds"] == whole
    rows = sum(row["nanoseconds"] for row in report["rows"])
    assert report["predicted_nanoseconds"] == rows + copies["nanoseconds"]
    # What was planned is what the program takes.
    assert report["plan"]["nanoseconds"] == report["predicted_nanoseconds"]
    assert any(share["op"] == "copies between host and device"
               and share["nanoseconds"] == copies["nanoseconds"]
               for share in report["time_shares"])
    (record,) = report["schedule"]
    assert record["nanoseconds"] - record["exposed"] + \
        record["communication"] == report["predicted_nanoseconds"]


@pytest.mark.sample()
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "vit"])
def test_a_lowered_program_takes_what_was_planned(divisi, name):
    report = explained(divisi, model(name), "dgx-a100:2")
    assert all(kernel["backend"] == "cuda" for kernel in report["kernels"])
    assert report["plan"]["nanoseconds"] == report["predicted_nanoseconds"]


@pytest.mark.sample("name")
@pytest.mark.parametrize("devices", [1, 4])
@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_a_training_step_takes_what_was_planned(divisi, name, devices):
    """No state is copied: weights and moments lie where they are updated."""
    case = Trained(name, "adamw")
    divisi("compile", case.onnx, *case.flags(), "--cluster",
           f"dgx-h100:{devices}", "-o", "m.divisi")
    report = json.loads(divisi("explain", "m.divisi", "--json").out)
    (copies,) = report["space_copies"]
    assert copies["copies"] == len(report["tensors"])
    assert report["plan"]["nanoseconds"] == report["predicted_nanoseconds"]
    # What a device holds of states is its own memory alone.
    held = report["memory"]["per_device"]
    assert all(device["weight_bytes"] == 0 for device in held)
    assert sum(device["own_bytes"] for device in held) >= sum(
        math.prod(each["shape"]) * 4 for each in report["globals"])


def test_a_file_says_the_rate_of_the_link(divisi, generated):
    text = divisi("cluster", "dgx-h100:4").out
    line = next(line for line in text.splitlines()
                if "host_bytes_per_second" in line)
    m = mlp(generated)

    def nanoseconds(new):
        divisi.path("c.yaml").write_text(text.replace(line + "\n", new))
        report = explained(divisi, m, "c.yaml", "--data-parallel-size", 4)
        elements = copies_of(report)
        return (report["space_copies"][0]["nanoseconds"], list(elements),
                report["cluster"])

    for rate in (1e9, 1e11):
        time, elements, told = nanoseconds(
            f"    host_bytes_per_second: {rate}\n")
        assert time == sum(price(count, rate) for count in elements)
        assert "(assumed)" not in told
    time, elements, told = nanoseconds("")
    assert time == sum(price(count, ASSUMED) for count in elements)
    assert "copies to and from the host: 25 GB/s (assumed)" in told


def test_a_slow_link_lets_devices_share_an_input(divisi, generated):
    """Each copies a part, and gathers the others' over faster links."""
    text = divisi("cluster", "dgx-h100:4").out
    line = next(line for line in text.splitlines()
                if "host_bytes_per_second" in line)
    divisi.path("c.yaml").write_text(
        text.replace(line, "    host_bytes_per_second: 1e7"))
    report = explained(divisi, mlp(generated), "c.yaml",
                       "--tensor-parallel-size", 4)
    (input,) = [t for t in report["tensors"] if t["kind"] == "input"]
    assert input["layout"] != "[*, *]"
    assert report["plan"]["nanoseconds"] == report["predicted_nanoseconds"]


def test_a_processor_copies_nothing(divisi, generated):
    report = explained(divisi, mlp(generated), "cpu:4")
    assert "space_copies" not in report


@pytest.mark.sample()
# Of it 514 MiB are for the context of a GPU and its code.
@pytest.mark.parametrize("limit", ["634MiB", "574MiB"])
def test_weights_that_are_gathered_never_pass_the_host(divisi, generated, limit):
    """Those do not fit at once: each device has a part, whatever moves it."""
    m = generated("gpt2.py", "--layers", 3, "--width", 384, "--heads", 6,
                  "--vocabulary", 4096, "--batch", 8, "--seq", 64)
    report = explained(divisi, m, "dgx-h100:8", "--data-parallel-size", 8,
                       "--memory-limit", limit)
    (copies,) = report["space_copies"]
    assert copies["copies"] == len(report["tensors"])
