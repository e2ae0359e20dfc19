"""Collectives between GPUs that are not there: by the emulated NCCL of
test/emulator, which compares what ranks call and fails on demand. That models give
what they have to with it: cuda_test.py and cuda_programs_test.py; ranks of several
processes: nccl_processes_test.py."""

import re
import time

import pytest
from conftest import assert_close, load, model
from cuda_test import (DEVICE, EMULATOR, HAS_NCCL, emulator, leave_out_waits,
                       waits_of)
from cuda_test import _needs_emulator  # noqa: F401
from launched import SLACK
from share import is_sweep

TIMEOUT = 1500  # ms
# In which layers meet in sums, and batches need not.
MEGATRON = ["--devices", 2, "--tensor-parallel-size", 2]

pytestmark = [pytest.mark.as_written, pytest.mark.skipif(
    not HAS_NCCL, reason="the build found no nccl.h")]


def compile_for_gpus(divisi, name, plan, *flags):
    m = model(name)
    divisi("compile", m.onnx, *m.shapes, *plan, "--gpu", "emulated", *flags,
           "-o", "g.divisi")
    return m


def run(divisi, m, *flags, exits=0, **settings):
    return divisi("run", "g.divisi", "--inputs", m.inputs, *flags, "-o",
                  "out.npz", exits=exits, env=emulator(**settings))


@pytest.mark.sample()
@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_sums_of_layers_are_the_same_in_every_interleaving(divisi, name,
                                                           devices):
    m = compile_for_gpus(divisi, name, ["--devices", devices,
                                        "--tensor-parallel-size", devices])
    bits = set()
    for seed in (1, 2):
        told = run(divisi, m, "--repeat", 2, "--verbose", seed=seed)
        assert "emulator: " not in told.err
        assert " of them between GPUs by NCCL" in told.err
        outputs = load(divisi.path("out.npz"))
        assert_close(outputs, load(m.outputs))
        bits.add(b"".join(values.tobytes() for values in outputs.values()))
    assert len(bits) == 1


# What ranks hold and want in random plans: parts, halos, all there is.
@pytest.mark.parametrize("name,mesh,seed", [
    ("gpt2", "4", 1), ("t5", "2x2", 3),
    pytest.param("resnet", "2x2", 2, marks=pytest.mark.whole)])
def test_random_plans_on_four_gpus(divisi, name, mesh, seed):
    m = compile_for_gpus(divisi, name, ["--mesh", mesh, "--solver", "random",
                                        "--seed", seed])
    told = run(divisi, m, "--repeat", 2, "--verbose", seed=seed)
    assert "emulator: " not in told.err
    assert " of them between GPUs by NCCL" in told.err
    assert_close(load(divisi.path("out.npz")), load(m.outputs))


# A GPU has room for two collectives at a time. If there were more in flight, or
# room for fewer, GPUs that begin different ones would wait for ever; in a first run
# there is one.
def test_collectives_of_several_communicators_do_not_block_each_other(divisi):
    m = compile_for_gpus(divisi, "gpt2", ["--mesh", "2x2", "--solver", "random",
                                          "--seed", 2])
    for seed in (1, 2):
        run(divisi, m, "--timeout", 20000, seed=seed)
    few = run(divisi, m, "--timeout", TIMEOUT, "--repeat", 2, "--no-graphs",
              exits=DEVICE, seed=1, joint=1)
    assert "for NCCL to end it" in few.err


def test_the_host_can_be_chosen(divisi):
    m = compile_for_gpus(divisi, "gpt2", MEGATRON, "--collectives", "host")
    told = run(divisi, m, "--verbose")
    assert "by kernels of 'cuda': " in told.err
    assert "NCCL" not in told.err
    assert_close(load(divisi.path("out.npz")), load(m.outputs))
    wrong = divisi("compile", m.onnx, *m.shapes, "--gpu", "emulated",
                   "--collectives", "mpi", "-o", "g.divisi", exits=2)
    assert "--collectives 'mpi': expected nccl or host" in wrong.err


# Each wait of a stream for another left out once.
def test_waits_that_are_left_out_are_reported(divisi):
    m = compile_for_gpus(divisi, "gpt2", MEGATRON)
    first = waits_of(divisi, lambda **settings: run(divisi, m, **settings))
    reported, implied = leave_out_waits(
        lambda **settings: run(divisi, m, "--repeat", 2, "--no-graphs", exits=None,
                               **settings), 40, 20, behind=first)
    print(f"counted: waits left out around collectives: {reported} reported as "
          f"races, {implied} that others imply")
    assert implied <= reported / 2 or not is_sweep()


# Where NCCL is too old, has no memory to give, or does not take it.
def test_memory_is_registered_on_all_ranks_or_on_none(divisi):
    m = compile_for_gpus(divisi, "gpt2", MEGATRON)

    def registered(**settings):
        told = run(divisi, m, "--repeat", 3, "--verbose",
                   nccl_counts=divisi.path("counts"), **settings).err
        assert not re.search("^emulator: ", told, re.M)
        made, split, ended, aborted = map(int, divisi.path("counts").read_text()
                                          .split())
        assert (made + split, aborted) == (ended, 0)
        assert re.search(r"device 0 is expected to hold \d+ bytes more: the "
                         r"driver's context \d+, code \d+, NCCL \d+", told)
        bits.add(b"".join(values.tobytes() for values in
                          load(divisi.path("out.npz")).values()))
        return re.findall(r"device \d: (NCCL has registered .*)", told)

    bits = set()
    for settings in ({}, {"nccl_plain": 1}):
        assert [re.fullmatch(r"NCCL has registered (1 piece|2 pieces) of its memory",
                             what) is not None
                for what in registered(**settings)] == [True, True]
    what = sorted(registered(nccl_refuse=2))
    assert re.fullmatch(
        r"NCCL has registered none of its memory: NCCL cannot register \d+ bytes: "
        "refused by the emulator: it cannot be mapped", what[0])
    assert what[1] == ("NCCL has registered none of its memory: that of another "
                       "device could not be")
    assert registered(nccl_version=21805) == [
        "NCCL has registered none of its memory: NCCL 2.18.5 registers none"] * 2
    assert len(bits) == 1


def failing(divisi, m, says, *flags, **settings):
    """A run that ends within the deadline, and says so."""
    begin = time.monotonic()
    result = run(divisi, m, "--timeout", TIMEOUT, *flags, exits=DEVICE,
                 **settings)
    assert says in result.err
    assert time.monotonic() - begin < TIMEOUT / 1000 + SLACK
    return result.err


def test_what_fails_is_named_within_the_deadline(divisi):
    m = compile_for_gpus(divisi, "gpt2", MEGATRON)
    told = failing(divisi, m, "remote process exited or there was a network "
                   "error: the emulated network is down", nccl_fail=3)
    assert re.search("NCCL cannot (go on with |begin )[a-z_]+ of '", told)
    assert ") on rank " in told
    failing(divisi, m, "for NCCL to end it, which the GPUs of all its ranks "
            "have been given; raise the timeout if they are busy", nccl_hang=3)
    failing(divisi, m, "for NCCL to end it, which the GPUs of all its ranks "
            "have been given; raise the timeout if they are busy", nccl_lose=4)
    failing(divisi, m, f"waited {TIMEOUT} ms for NCCL to connect 2 GPUs; raise "
            "the timeout if others are busy", nccl_alone=1)


# Two devices with ten steps each: the first twenty groups of calls are those of run 1,
# what comes behind the fortieth is of graphs alone.
def test_what_fails_within_a_graph_is_named_within_the_deadline(divisi):
    m = compile_for_gpus(divisi, "gpt2", MEGATRON)

    def step(says, **settings):
        told = failing(divisi, m, says, "--repeat", 4, **settings)
        found = re.search(r"error: entry 'forward': the graph from entry .* on: .*"
                          r"[ ]([a-z_]+ of '[^']+' \(tag \d+\))", told)
        assert found, told
        return found[1]

    down = ("remote process exited or there was a network error: the emulated "
            "network is down")
    hangs = "for NCCL to end it, which the GPUs of all its ranks have been given"
    step(down, nccl_fail=41)
    # Not the first step, but the one that it is at.
    assert step(hangs, nccl_hang=42) != step(hangs, nccl_lose=49)
    # While one device records, maybe.
    failing(divisi, m, down, "--repeat", 4, nccl_fail=21)


def test_a_library_that_is_missing_or_old_is_named(divisi):
    m = compile_for_gpus(divisi, "gpt2", MEGATRON)
    old = run(divisi, m, exits=DEVICE, nccl_version=21708)
    assert ("libnccl.so.2 is NCCL 2.17.8, expected at least 2.18.1; update it"
            in old.err)
    divisi.path("lib").mkdir()
    for library in EMULATOR.iterdir():
        if "nccl" not in library.name:
            divisi.path(f"lib/{library.name}").symlink_to(library)
    absent = divisi("run", "g.divisi", "--inputs", m.inputs, "-o", "out.npz",
                    exits=DEVICE, env={**emulator(), "LD_LIBRARY_PATH":
                                       str(divisi.path("lib"))})
    assert ("collectives between GPUs need NCCL: libnccl.so.2: cannot open "
            "shared object file: No such file or directory; libnccl.so.2 comes "
            "with NVIDIA's NCCL: install it, and let LD_LIBRARY_PATH name its "
            "folder, or compile the model with --collectives host") in absent.err
