"""`divisi solve`: what it answers, and how it ends, killed and interrupted too.

Whatever a solver does, an answer that is written is one that `--check`
accepts; so most cases end with that.
"""

import gzip
import json
import os
import random
import re
import signal
import subprocess
import time

import planning_problems as problems
import pytest
from bad_input_test import fails, nothing_written
from conftest import PROGRAM, SECONDS
from planning_problems import EXAMPLE, G, solution
from share import sample_size

INFEASIBLE, NO_PLAN = 6, 7
# Solvers that tell how they come on and can be stopped before they end.
TALKING = ["mcmc", "auto"]


# Answers.

def test_small_problem(divisi, tmp_path):
    p = problems.small(tmp_path / "p.json")
    result = divisi("solve", p, "-o", "s.json")
    for line in [r"cost +8", r"peak +8 of 8, at time 2", r"bound +\d+",
                 r"gap +[\d.]+%, relative to the declared strategies"]:
        assert re.search(f"^{line}", result.out, re.M), result.report(line)
    s = solution(divisi, p)
    assert s["cost"] == 8 and s["peak"] == 8 and s["assignment"] == [0, 1]


def test_example_of_the_contest(divisi):
    divisi("solve", EXAMPLE, "-o", "s.json")
    assert solution(divisi, EXAMPLE)["cost"] == 445


def test_json(divisi, tmp_path):
    p = problems.small(tmp_path / "p.json")
    result = divisi("solve", p, "--json", "--quiet", "--seed", 5)
    assert not result.err
    facts = json.loads(result.out)
    expected = {"schema_version": 1, "problem": "made", "status": "solved",
                "stopped": "finished", "solver": "auto", "seed": 5, "cost": 8,
                "peak": 8, "peak_time": 2, "limit": 8}
    assert {key: facts[key] for key in expected} == expected
    assert facts["bound"] <= 8
    assert facts["gap"] == (8 - facts["bound"]) / 8
    assert 0 < facts["first_answer_seconds"] <= facts["seconds"]
    assert facts["peak_memory_bytes"] > 2 ** 20
    last = facts["trace"][-1]
    assert (last["cost"], last["bound"]) == (8, facts["bound"])


def test_totals_are_exact_beyond_64_bits(divisi, tmp_path):
    p = problems.enormous(tmp_path / "p.json")
    total = 100 * (10 ** 18 - 7)
    facts = json.loads(divisi("solve", p, "--json", "-o", "s.json").out)
    assert facts["cost"] == facts["bound"] == total
    assert f"cost   {total}\n" in divisi("solve", p).out
    assert solution(divisi, p)["cost"] == total


def test_gzip_is_read(divisi, tmp_path):
    plain = problems.small(tmp_path / "p.json").read_bytes()
    packed = tmp_path / "p.json.gz"
    packed.write_bytes(gzip.compress(plain))
    divisi("solve", packed, "-o", "s.json")
    assert solution(divisi, packed)["cost"] == 8


def test_industrial_problem(divisi):
    """Instance G: the best known cost is optimal, and branching proves it."""
    divisi("solve", G, "-o", "s.json")
    s = solution(divisi, G)
    assert s["cost"] == s["lower_bound"] == 217039
    assert s["stopped"] == "finished" and len(s["certificate"]["tree"]) > 1


@pytest.mark.parametrize("solver", TALKING)
def test_time_limit_is_kept_and_told(divisi, tmp_path, solver):
    """Without one it would go on for hours. A slow machine may need more than
    the first limit for the first answer."""
    p = problems.frustrated(tmp_path / "p.json", seed=1)
    for limit in (1, 4, 16, 64):
        done = subprocess.run(
            [PROGRAM, "solve", p, "--json", "--time-limit", str(limit),
             "--solver", solver, "-o", tmp_path / "s.json"],
            capture_output=True, text=True, timeout=SECONDS)
        facts = json.loads(done.stdout)
        assert facts["stopped"] == "time"
        if done.returncode == 0:
            break
        assert done.returncode == NO_PLAN, done.stderr
    s = solution(divisi, p)
    assert s["stopped"] == "time"
    assert all("seconds" in entry for entry in s["trace"])


@pytest.mark.parametrize("solver", TALKING)
def test_time_limit_that_is_over_at_once(divisi, tmp_path, solver):
    p = problems.colours(tmp_path / "p.json", seed=1)
    fails(divisi, NO_PLAN, "solve", p, "--time-limit", 1e-9, "--solver", solver,
          because=["a larger --time-limit may find it"])


@pytest.mark.parametrize("made", ["frustrated", "G"])
@pytest.mark.parametrize("solver", TALKING)
def test_same_work_gives_the_same_bytes(divisi, tmp_path, solver, made):
    """With one thread and two, and twice with two."""
    p = G if made == "G" else problems.frustrated(tmp_path / "p.json", seed=2)
    work = 300_000_000 if solver == "auto" else 50_000_000
    files = []
    for i, threads in enumerate([1, 2, 2]):
        divisi("solve", p, "--work-limit", work, "--seed", 3,
               "--solver", solver, "--threads", threads, "-o", f"s{i}.json")
        files.append(divisi.path(f"s{i}.json").read_bytes())
    assert files[0] == files[1] == files[2]
    s = solution(divisi, p, "s0.json")
    assert s["trace"] and not any("seconds" in e for e in s["trace"])


@pytest.mark.parametrize("without, finders", [
    ([], {"neighbourhood", "branching"}),
    (["--without", "branching"], {"neighbourhood"}),
    (["--without", "neighbourhoods"], {"branching"}),
    (["--without", "neighbourhoods,branching"], set()),
    (["--without", "neighbourhoods", "--without", "branching"], set())],
    ids=" ".join)
def test_ingredients_can_be_left_out(divisi, tmp_path, without, finders):
    p = problems.frustrated(tmp_path / "p.json", seed=3, count=70, degree=4)
    divisi("solve", p, "--work-limit", 300_000_000, *without, "-o", "s.json")
    by = {entry["by"] for entry in solution(divisi, p)["trace"]}
    assert by & {"neighbourhood", "branching"} == finders, by


# No answer.

@pytest.mark.parametrize("solver", ["exact", "auto"])
def test_infeasible_names_the_smallest_limit(divisi, tmp_path, solver):
    p = problems.too_large(tmp_path / "p.json")
    chosen = ("--solver", solver)
    result = fails(divisi, INFEASIBLE, "solve", p, *chosen, "-o", "s.json",
                   because=["p.json", "time 3", "11", "10",
                            "the smallest limit that would do is 11$"])
    assert not result.out
    nothing_written(divisi, "p.json")
    facts = json.loads(divisi("solve", p, "--json", *chosen,
                              exits=INFEASIBLE).out)
    assert facts["status"] == "infeasible" and "cost" not in facts
    assert facts["limit_at_least"] == facts["limit_enough"] == 11
    # It would.
    text = p.read_text().replace('"usage_limit": 10', '"usage_limit": 11')
    p.write_text(text)
    divisi("solve", p, *chosen)


def test_infeasible_without_memory(divisi, tmp_path):
    p = problems.pigeons(tmp_path / "p.json", 4)
    fails(divisi, INFEASIBLE, "solve", p, "-o", "s.json", because=["p.json"])
    nothing_written(divisi, "p.json")


@pytest.mark.parametrize("work", [100_000, 30_000_000])
def test_not_found_is_not_called_infeasible(divisi, tmp_path, work):
    """Colours exist, if hard to find; so the answer is they, or 7."""
    p = problems.colours(tmp_path / "p.json", seed=4)
    done = subprocess.run(
        [PROGRAM, "solve", p, "--work-limit", str(work), "-o",
         tmp_path / "s.json"], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode in (0, NO_PLAN), done.stderr
    if done.returncode == 0:
        assert solution(divisi, p)["cost"] == 0
    else:
        assert "one may exist" in done.stderr
        assert "no assignment exists" not in done.stderr
        nothing_written(divisi, "p.json")


def test_what_is_dear_to_prove_ends_within_its_budget(divisi, tmp_path):
    p = problems.pigeons(tmp_path / "p.json", 14)
    budget = 100_000_000
    done = subprocess.run(
        [PROGRAM, "solve", p, "--json", "--work-limit", str(budget), "-o",
         tmp_path / "s.json"], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode in (INFEASIBLE, NO_PLAN), done.stderr
    # A round that has begun is ended.
    assert json.loads(done.stdout)["work"] < 2 * budget
    nothing_written(divisi, "p.json")


# Signals.

class Running:
    """A solver that would go on for hours, past its first answer."""

    def __init__(self, folder, problem, solver):
        self.process = subprocess.Popen(
            [PROGRAM, "solve", problem, "-o", folder / "s.json",
             "--solver", solver, "--work-limit", str(10 ** 17)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.err = ""

    def wait_for_answer(self):
        """A line of progress that names a cost."""
        while not re.search(r"best \d", self.err):
            line = self.process.stderr.readline()
            assert line, f"ended with {self.process.wait()}: {self.err}"
            self.err += line

    def end(self, number):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=SECONDS)
        self.err += err
        return self.process.returncode, out


@pytest.fixture
def running(tmp_path):
    p = problems.frustrated(tmp_path / "p.json", seed=6)
    started = []

    def start(solver):
        started.append(Running(tmp_path, p, solver))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.communicate()


@pytest.mark.parametrize("solver", TALKING)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_writes_the_best_so_far(divisi, tmp_path, running, number,
                                            solver):
    run = running(solver)
    run.wait_for_answer()
    code, out = run.end(number)
    assert code == 0, run.err
    assert "interrupted: another run may end elsewhere" in out
    s = solution(divisi, tmp_path / "p.json")
    assert s["stopped"] == "interrupted"
    assert re.search(rf"^cost +{s['cost']}$", out, re.M)
    assert all("seconds" in entry for entry in s["trace"])
    nothing_written(divisi, "p.json", "s.json")


@pytest.mark.parametrize("solver", TALKING)
def test_killed_leaves_a_valid_solution(divisi, tmp_path, running, solver):
    """At any moment after the line that names the first answer."""
    draw = random.Random(7)
    for _ in range(sample_size(12, 2)):
        run = running(solver)
        run.wait_for_answer()
        time.sleep(draw.choice([0, draw.uniform(0, 1.2)]))
        assert run.end(signal.SIGKILL)[0] == -signal.SIGKILL
        s = solution(divisi, tmp_path / "p.json")
        assert s["stopped"] == "running" and s["trace"]
        divisi.path("s.json").unlink()


def test_second_signal_ends_at_once(tmp_path):
    """While the problem is read from a pipe that nobody fills."""
    pipe = tmp_path / "p.json"
    os.mkfifo(pipe)
    with subprocess.Popen([PROGRAM, "solve", pipe], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        # Opens when the program reads: it hears signals by then.
        with open(pipe, "w"):
            process.send_signal(signal.SIGINT)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=0.5)
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=SECONDS) == -signal.SIGTERM


def test_interrupted_while_reading(divisi, tmp_path):
    """It goes on to what it can say without solving."""
    pipe = tmp_path / "p.json"
    os.mkfifo(pipe)
    text = problems.small(tmp_path / "q.json").read_text()
    with subprocess.Popen([PROGRAM, "solve", pipe, "-o", tmp_path / "s.json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        with open(pipe, "w") as writer:
            process.send_signal(signal.SIGINT)
            writer.write(text)
        out, err = process.communicate(timeout=SECONDS)
    if process.returncode == 0:
        assert solution(divisi, tmp_path / "q.json")["cost"] >= 8
    else:
        assert process.returncode == NO_PLAN, err
        assert "interrupted before the first answer" in err
        nothing_written(divisi, "p.json", "q.json")
