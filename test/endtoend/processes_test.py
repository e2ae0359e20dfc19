"""One artifact in several processes, which MPI connects, gives the same bits as
in one; and what goes wrong there has a message and an end.
"""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import PROGRAM, load, model
from launched import (Run, mlp, needs_mpi,  # noqa: F401
                      processes_below, rank_of, under_mpirun,
                      wait_for_work, wait_until_begun,
                      without_plugins)
from loop_programs import (NESTED, jacobi, jacobi_tensors, lstm, lstm_tensors,
                           nested_tensors)
from share import is_sweep
from written_programs import write_program

PROGRAMS = Path(__file__).parent / "Inputs"
COUNTS = [2, 3, 4, 8]

pytestmark = [pytest.mark.as_written, needs_mpi]


def assert_same_everywhere(divisi, inputs, counts, *options, file="m.divisi"):
    """Runs the artifact in one process and in each of `counts`."""
    arguments = ("run", file, "--inputs", inputs, *options)
    divisi(*arguments, "-o", "one.npz")
    expected = load(divisi.path("one.npz"))
    assert expected
    for count in counts:
        divisi(*arguments, "-o", "all.npz", "--launch", count)
        got = load(divisi.path("all.npz"))
        divisi.path("all.npz").unlink()
        assert list(got) == list(expected)
        for name, value in expected.items():
            assert got[name].dtype == value.dtype
            assert got[name].tobytes() == value.tobytes(), (name, count)


#===----------------------------------------------------------------------===#
# The same bits
#===----------------------------------------------------------------------===#

MODELS = ["bert", "classifier", "gpt2", "llama", "resnet", "segformer", "t5",
          "vit"]


@pytest.mark.sample()
@pytest.mark.parametrize("name", ["classifier", "llama", "resnet", "vit"])
def test_models_by_a_plan_that_was_found(divisi, name):
    made = model(name)
    divisi("compile", made.onnx, "--devices", 8, *made.shapes,
           "-o", "m.divisi")
    assert_same_everywhere(divisi, made.inputs, [8])


# Random plans send more, of more kinds, in uneven shards.
@pytest.mark.sample()
@pytest.mark.parametrize("name,devices", [("bert", 4), ("gpt2", 8),
                                          ("resnet", 4), ("t5", 3)])
def test_models_by_a_random_plan(divisi, name, devices):
    made = model(name)
    divisi("compile", made.onnx, "--devices", devices, *made.shapes,
           "--solver", "random", "--seed", devices, "-o", "m.divisi")
    assert_same_everywhere(divisi, made.inputs, {2, devices})


@pytest.mark.whole
@pytest.mark.parametrize("solver", ["auto", "random"])
@pytest.mark.parametrize("devices", COUNTS)
@pytest.mark.parametrize("name", MODELS)
def test_all_models(divisi, name, devices, solver):
    made = model(name)
    divisi("compile", made.onnx, "--devices", devices, *made.shapes,
           "--solver", solver, "--seed", devices, "-o", "m.divisi")
    assert_same_everywhere(divisi, made.inputs,
                           [n for n in COUNTS if n <= devices])


def test_a_model_in_bf16(divisi):
    made = model("gpt2")
    divisi("compile", made.onnx, "--devices", 4, *made.shapes, "--precision",
           "bf16", "--tensor-parallel-size", 4, "-o", "m.divisi")
    assert_same_everywhere(divisi, made.inputs, [2, 4])


@pytest.mark.parametrize("name", ["train_step.mlir", "two_grids.mlir"])
def test_training_and_two_grids(divisi, tmp_path, name):
    random = np.random.default_rng(3)
    weights = random.standard_normal(12 * 16 + 16 * 6, np.float32)
    divisi.path("weights.bin").write_bytes(weights.tobytes())
    tensors = {"x": random.standard_normal((8, 12), np.float32)}
    if name == "train_step.mlir":
        tensors["t"] = random.standard_normal((8, 6), np.float32)
    np.savez(divisi.path("x.npz"), **tensors)
    write_program(tmp_path / name, (PROGRAMS / name).read_text())
    divisi("compile", name, "-o", "m.divisi")
    assert_same_everywhere(divisi, "x.npz", [2, 3, 4], "--repeat", 5)


@pytest.mark.sample()
@pytest.mark.parametrize("devices", [2, 3, 8])
def test_loops(divisi, devices):
    w, r, x = lstm_tensors()
    nested, tensors = nested_tensors(5, True)
    divisi.path("weights.bin").write_bytes(w.tobytes() + r.tobytes())
    write_program(divisi.path("lstm.mlir"), lstm(devices, True))
    np.savez(divisi.path("lstm.npz"), x=x)
    divisi.path("jacobi.mlir").write_text(jacobi(devices, True))
    np.savez(divisi.path("jacobi.npz"), **jacobi_tensors(17))
    for name in ("lstm", "jacobi"):
        divisi("compile", f"{name}.mlir", "--devices", devices,
               "-o", "m.divisi")
        assert_same_everywhere(divisi, f"{name}.npz", {2, devices})
    divisi.path("weights.bin").write_bytes(nested.tobytes())
    write_program(divisi.path("nested.mlir"), NESTED)
    np.savez(divisi.path("nested.npz"), **tensors)
    divisi("compile", "nested.mlir", "--devices", devices, "-o", "m.divisi")
    assert_same_everywhere(divisi, "nested.npz", {devices})


def test_check_compares_on_the_first_process(divisi, mlp):
    for count in (2, 3):
        files = ("check", "m.divisi", "--inputs", mlp.inputs)
        out = divisi(*files, "--expect", mlp.outputs, "--launch", count).out
        assert out.count("m.divisi: equal") == 1
    wrong = {name: value + 1 for name, value in load(mlp.outputs).items()}
    np.savez(divisi.path("wrong.npz"), **wrong)
    err = divisi(*files, "--expect", "wrong.npz", "--launch", 2, exits=8).err
    assert err.count("elements differ") == 1
    out = divisi("check", mlp.onnx, "--devices", 4, "--random-plans", 2,
                 "--launch", 3).out
    assert out.count(": equal") == 2


def test_many_processes_of_a_small_model(divisi, generated):
    """64 of them; 16 in a sample."""
    count = 64 if is_sweep() else 16
    made = generated("mlp.py")
    divisi("compile", made.onnx, "--mesh", count, "--devices", count,
           "--solver", "random", "-o", "m.divisi")
    assert_same_everywhere(divisi, made.inputs, [count])


def test_each_process_has_its_devices_alone(divisi, mlp):
    """Weights and arenas of its own, written to its own trace."""
    err = divisi("run", "m.divisi", "--inputs", mlp.inputs, "--verbose",
                 "--trace", "t.json", "--launch", 2).err
    for process, devices in enumerate([(0, 1), (2, 3)]):
        for device in devices:
            assert err.count(f"[{process}/2] divisi: note: device {device} "
                             "holds ") == 1
    assert err.count(" holds ") == 4
    assert divisi.path("t.json").exists() and divisi.path("t.json.2").exists()


def test_each_process_reads_its_slices_of_the_weights(divisi):
    """What a process holds is its own share of two weights, as much of their
    sum, and what comes with a program."""
    rows, columns, devices = 16384, 1024, 4
    size = 4 * rows * columns
    divisi.path("weights.bin").write_bytes(
        np.random.default_rng(0).random(2 * rows * columns, np.float32))
    write_program(divisi.path("m.mlir"), f"""
spmd.grid @g (x = {devices})
nn.global @a parameter : tensor<{rows}x{columns}xf32> from "weights.bin" [0, {size}] {{spmd.place = #spmd.place<@g: [x, *]>}}
nn.global @b parameter : tensor<{rows}x{columns}xf32> from "weights.bin" [{size}, {size}] {{spmd.place = #spmd.place<@g: [x, *]>}}
func.func @forward(%x: tensor<2x{rows}xf32> {{nn.name = "x"}})
    -> (tensor<2x{columns}xf32> {{nn.name = "y"}}) {{
  %a = nn.read @a : tensor<{rows}x{columns}xf32>
  %b = nn.read @b : tensor<{rows}x{columns}xf32>
  %w = nn.add %a, %b {{spmd.split = #spmd.split<@g: d0@x>}}
      : (tensor<{rows}x{columns}xf32>, tensor<{rows}x{columns}xf32>) -> tensor<{rows}x{columns}xf32>
  %y = nn.matmul %x, %w {{labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>}}
      : (tensor<2x{rows}xf32>, tensor<{rows}x{columns}xf32>) -> tensor<2x{columns}xf32>
  return %y : tensor<2x{columns}xf32>
}}
""")
    divisi("compile", "m.mlir", "-o", "m.divisi")
    np.savez(divisi.path("in.npz"), x=np.ones((2, rows), np.float32))
    for processes in (2, 4) if is_sweep() else (2,):
        run = Run(divisi, divisi.path("in.npz"), processes=processes)
        first = [run.find_at_work(number) for number in range(processes)]
        touched = [bytes_held(pid) for pid in first]
        run.process.terminate()
        run.end()
        share = 2 * size / processes
        for bytes_ in touched:
            assert share * 1.45 < bytes_ < share * 1.5 + (24 << 20), (touched, share)


def bytes_held(pid):
    """Bytes of memory that no file backs."""
    text = Path(f"/proc/{pid}/status").read_text("utf-8")
    return 1024 * int(re.search(r"^RssAnon:\s+(\d+)", text, re.M)[1])


def test_outputs_go_to_stdout_once(divisi, mlp):
    command = [str(PROGRAM), "run", "m.divisi", "--inputs", str(mlp.inputs),
               "-o", "-"]
    outputs = {subprocess.run(command + extra, cwd=divisi.folder, check=True,
                              capture_output=True).stdout
               for extra in ([], ["--launch", "4"])}
    assert len(outputs) == 1 and outputs.pop()[:2] == b"PK"


def test_whoever_starts_the_processes(divisi, mlp):
    command, environment = under_mpirun(
        3, PROGRAM, "run", "m.divisi", "--inputs", mlp.inputs, "-o", "y.npz")
    done = subprocess.run(command, cwd=divisi.folder, env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("wrote y.npz") == 1


#===----------------------------------------------------------------------===#
# What goes wrong
#===----------------------------------------------------------------------===#

def test_more_processes_than_devices(divisi, mlp):
    err = divisi("run", "m.divisi", "--inputs", mlp.inputs, "--launch", 5,
                 exits=2).err
    assert ("5 processes for the 4 devices of 'm.divisi'; start no more "
            "processes than it has devices") in err
    assert err.count("divisi: error") == 1


def test_what_launch_takes(divisi, mlp):
    for count in (0, -1, 5000):
        err = divisi("run", "m.divisi", "--launch", count, exits=2).err
        assert f"--launch {count}: expected 1 to 4096" in err


def test_hosts(divisi, mlp):
    run = ("run", "m.divisi", "--inputs", mlp.inputs, "--launch", 4)
    divisi.path("hosts").write_text("# both are here\n\nlocalhost slots=4\n")
    divisi(*run, "--hosts", "hosts", "-o", "y.npz")
    for text, code, message in [
            ("localhost slots=2\nlocalhost\n", 2,
             "the hosts of 'hosts' have 3 slots for 4 processes"),
            ("localhost slots=x\n", 4, "'hosts':1: slots=x: expected a number"),
            ("localhost:4\n", 4, "localhost:4: expected 'localhost slots=4'"),
            ("nohost.invalid slots=4\n", 9, "mpirun could not start the "
             "processes on the hosts of 'hosts', by the reason that it gives"),
            (None, 3, "cannot read 'gone'")]:
        name = "hosts" if text else "gone"
        if text:
            divisi.path(name).write_text(text)
        assert message in divisi(*run, "--hosts", name, exits=code).err
    err = divisi(*run[:4], "--hosts", "hosts", exits=2).err
    assert "--hosts needs --launch; give both" in err


def test_one_message_for_what_all_meet(divisi, mlp):
    for arguments, code, message in [
            (("m.divisi", "--inputs", "nothere.npz"), 3, "nothere.npz"),
            (("nothere.divisi",), 3, "nothere.divisi"),
            (("m.divisi",), 2, "takes 1 inputs")]:
        err = divisi("run", *arguments, "--launch", 2, exits=code).err
        assert err.count("divisi: error") == 1 and message in err


@pytest.mark.parametrize("how", ["artifact", "options", "input"])
def test_processes_that_were_told_different_things(divisi, mlp, how):
    divisi("compile", mlp.onnx, "--devices", 4, "--solver", "random",
           "-o", "other.divisi")
    run = [PROGRAM, "run", "m.divisi", "--inputs", mlp.inputs]
    other = {"artifact": [*run[:2], "other.divisi", *run[3:]],
             "options": [*run, "--threads-per-device", 2, "--tf32",
                         "--timeout", 50000, "--verify", "--repeat", 2],
             "input": [*run[:4], "gone.npz"]}[how]
    message, code = {
        "artifact": ("the processes have different artifacts (by SHA-256): "
                     "process 0 has ", 4),
        "options": ("the processes have different options: process 0 has "
                    "--threads-per-device=1 --verify=0 --timeout=60000 --tf32=0 "
                    "--repeat=1, and process 1 has --threads-per-device=2 "
                    "--verify=1 --timeout=50000 --tf32=1 --repeat=2", 2),
        "input": ("process 1: cannot read 'gone.npz'", 3)}[how]
    command, environment = under_mpirun(1, *run, ":", "-n", 1, *other)
    done = subprocess.run(command, cwd=divisi.folder, env=environment,
                          capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert done.stderr.count("divisi: error") == 1 and message in done.stderr


def test_a_process_that_is_late_for_the_meeting(divisi, mlp):
    """It waits for an input that nobody writes."""
    os.mkfifo(divisi.path("pipe.npz"))
    run = [PROGRAM, "run", "m.divisi", "--timeout", 1000, "--inputs"]
    command, environment = under_mpirun(1, *run, mlp.inputs, ":", "-n", 1, *run,
                                        "pipe.npz")
    done = subprocess.run(command, cwd=divisi.folder, env=environment,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 9, done.stderr
    assert ("rank 0 waited 1000 ms in the rendezvous of processes (tag 0) for "
            "rank 1, which did not come") in done.stderr


def test_a_process_that_never_begins(divisi, mlp):
    command, environment = under_mpirun(
        1, PROGRAM, "run", "m.divisi", "--timeout", 1000, "--inputs",
        mlp.inputs, ":", "-n", 1, "sleep", 100)
    done = subprocess.run(command, cwd=divisi.folder, env=environment,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 9, done.stderr
    assert ("a process that was started with this one did not connect within "
            "1000 ms, while MPI begins") in done.stderr


def test_a_launcher_that_mpi_does_not_know(divisi, mlp):
    environment = {**os.environ, "PMI_RANK": "0", "PMI_SIZE": "2"}
    err = divisi("run", "m.divisi", "--inputs", mlp.inputs, exits=9,
                 env=environment).err
    assert ("mpiexec has started 2 processes, and MPI knows 1: this "
            "MPI does not support that launcher") in err
    err = divisi("run", "m.divisi", "--inputs", mlp.inputs, exits=2,
                 env={**environment, "PMI_RANK": "x"}).err
    assert "PMI_RANK=x PMI_SIZE=2: expected a number below another one" in err


def test_srun_without_a_server_of_pmix(divisi, mlp):
    for process, errors in (("0", 1), ("1", 0)):
        environment = {**os.environ, "SLURM_PROCID": process,
                       "SLURM_STEP_NUM_TASKS": "2"}
        err = divisi("run", "m.divisi", "--inputs", mlp.inputs, exits=2,
                     env=environment).err
        assert err.count(
            "srun has started 2 processes, but does not tell MPI how they "
            "find each other (there is no PMIX_NAMESPACE); start them by "
            "srun --mpi=pmix") == errors


def test_there_is_no_mpirun(divisi, mlp):
    err = divisi("run", "m.divisi", "--inputs", mlp.inputs, "--launch", 2,
                 exits=3, env={"PATH": ""}).err
    assert ("cannot start 'mpirun', which --launch needs: No such file or "
            "directory; install it (Debian: openmpi-bin)") in err


def test_there_is_no_library_for_mpi(divisi, mlp, tmp_path):
    """The program with its kernels alone runs, in one process."""
    program = without_plugins(tmp_path)
    command = [program, "run", "m.divisi", "--inputs", mlp.inputs]
    alone = subprocess.run(command, cwd=tmp_path, capture_output=True)
    assert alone.returncode == 0
    done = subprocess.run(command + ["--launch", "2"], cwd=tmp_path, text=True,
                          capture_output=True)
    assert done.returncode == 9
    assert "several processes need MPI: " in done.stderr
    assert "install it (Debian: libopenmpi-dev openmpi-bin)" in done.stderr


@pytest.fixture
def endless(divisi, mlp):
    """Starts a run that does not end by itself, in three processes; gives the
    launcher, and the processes of each number. None is left afterwards."""
    started = []
    home = divisi.path("temporary")  # where they write what they did last
    home.mkdir()

    def start(*options):
        if "--repeat" not in options:
            options += ("--repeat", "1000000000")
        launcher = subprocess.Popen(
            [str(PROGRAM), "run", "m.divisi", "--inputs", str(mlp.inputs),
             "--launch", "3", "--verbose", "-o", "y.npz", *options],
            cwd=divisi.folder,
            env={**os.environ, "TMPDIR": str(home)}, stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL, text=True)
        started.append(launcher)
        wait_until_begun(launcher.stderr)
        numbers = {}
        for pid in processes_below(launcher.pid):
            if rank_of(pid) is not None:
                numbers.setdefault(rank_of(pid), []).append(pid)
        assert sorted(numbers) == [0, 1, 2]
        # The older of the two: the other one copies its messages.
        first = {n: min(pids) for n, pids in numbers.items()}
        wait_for_work(*first.values())
        return launcher, first, {
            pid for pids in numbers.values() for pid in pids}

    yield start
    for launcher in started:
        if launcher.poll() is None:
            launcher.terminate()
            launcher.wait(20)


def assert_nothing_is_left(divisi, pids):
    deadline = time.monotonic() + 10
    while any(rank_of(pid) is not None for pid in pids):
        assert time.monotonic() < deadline, "processes are left"
        time.sleep(0.05)
    assert not divisi.path("y.npz").exists()
    assert not list(divisi.path(".").glob("*.tmp*"))


@pytest.mark.sample()
@pytest.mark.parametrize("number", [0, 2])
def test_a_process_that_is_killed_ends_all(divisi, endless, number):
    launcher, first, pids = endless()
    os.kill(first[number], signal.SIGKILL)
    _, err = launcher.communicate(timeout=30)
    assert launcher.returncode == 9, err
    assert "a process was ended by signal 9 (Killed)" in err
    assert_nothing_is_left(divisi, pids)


def test_a_process_that_stops_is_named(divisi, endless):
    launcher, first, pids = endless("--timeout", "1000")
    os.kill(first[1], signal.SIGSTOP)
    began = time.monotonic()
    _, err = launcher.communicate(timeout=60)
    assert launcher.returncode == 9, err
    assert time.monotonic() - began < 20
    # Device 1 is its only one, and others are not blamed, which wait, too.
    assert "for rank 1, which did not come" in err
    assert_nothing_is_left(divisi, pids)


def test_a_process_that_stops_at_the_end(divisi, mlp, endless):
    """When all is done but MPI's own end; the launcher does not wait for it."""
    launcher, first, _ = endless("--timeout", "1000", "--repeat", "1500")
    while "wrote y.npz" not in (line := launcher.stderr.readline()):
        assert line, "it ended without a word"
    try:
        os.kill(first[0], signal.SIGSTOP)
    except ProcessLookupError:
        pass  # it was faster
    _, err = launcher.communicate(timeout=40)
    assert launcher.returncode in (0, 9), err


def test_an_interruption_ends_all(divisi, endless):
    launcher, _, pids = endless()
    launcher.send_signal(signal.SIGINT)
    launcher.communicate(timeout=30)
    assert launcher.returncode == -signal.SIGINT
    assert_nothing_is_left(divisi, pids)
