"""The benchmark of planning problems: what it derives, and that it runs."""

import gzip
import io
import json
import math
import os
import subprocess
import sys

import pytest
from conftest import BUILD, ROOT

BENCH = ROOT / "bench" / "iopddl"
# Instance G is here.
DATA = ROOT / "test" / "Search" / "data"

sys.path.insert(0, str(BENCH))

import ablation  # noqa: E402
import derive  # noqa: E402
import run  # noqa: E402

INFEASIBLE = 10 ** 18


@pytest.fixture
def example():
    return derive.load(DATA / "example.json")


def derived(problem, **recipe):
    text = io.StringIO()
    derive.write_problem(text, problem, {"name": "X", **recipe})
    return json.loads(text.getvalue())["problem"]


def test_limit_alone_is_loosened(example):
    got = derived(example, limit_factor="1.5")
    assert got.pop("usage_limit") == 75
    assert got.pop("name") == "asplos-2025-iopddl-X"
    assert all(got[key] == example[key] for key in got)
    assert sorted(got) == ["edges", "nodes"]


def test_copies_share_one_memory(example):
    got = derived(example, copies=3)
    assert got["usage_limit"] == 150
    for field in ("intervals", "costs", "usages"):
        assert got["nodes"][field] == example["nodes"][field] * 3
    assert got["edges"]["costs"] == example["edges"]["costs"] * 3
    ends = example["edges"]["nodes"]
    assert got["edges"]["nodes"] == [[u + shift, v + shift]
                                     for shift in (0, 5, 10)
                                     for u, v in ends]


def test_noise_keeps_zero_and_infeasible(example):
    matrices = [[0, INFEASIBLE, INFEASIBLE - 1, 2 * INFEASIBLE]
                + [1_000_000] * 500, [1_000_000] * 500]
    example["edges"] = {"nodes": [[0, 1], [0, 1]], "costs": matrices}
    got = derived(example, noise="0.5", seed=1)["edges"]["costs"]
    assert got[0][:2] == [0, INFEASIBLE] and got[0][3] == 2 * INFEASIBLE
    assert got[0][2] < INFEASIBLE
    # Each entry for itself, and so are equal matrices.
    logs = [math.log(entry / 1e6) for row in (got[0][4:], got[1])
            for entry in row]
    assert -0.5 <= min(logs) < -0.45 and 0.45 < max(logs) <= 0.5
    assert abs(sum(logs) / len(logs)) < 0.05
    assert len(set(logs)) > 990
    assert derived(example, noise="0.5", seed=1)["edges"]["costs"] == got
    assert derived(example, noise="0.5", seed=2)["edges"]["costs"] != got


def test_derived_files_are_made_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    recipe = {"name": "G-x", "of": "G", "limit_factor": "3"}
    made = []
    path = derive.derive(recipe, DATA, made.append)
    assert made == [path] and tmp_path in path.parents
    assert derive.derive(recipe, DATA, made.append) == path and len(made) == 1
    with gzip.open(path) as file:
        assert json.load(file)["problem"]["usage_limit"] == 3 * 14392528
    # Of other content under another name.
    recipe["limit_factor"] = "2"
    assert derive.derive(recipe, DATA, made.append) != path


def test_scaling_is_fitted():
    assert run.exponent([(1, 3), (2, 6), (4, 12)]) == pytest.approx(1)
    assert run.exponent([(1, 3), (2, 12), (4, 48)]) == pytest.approx(2)
    assert run.exponent([(2, 3)]) is None


def test_summary_reads_the_trace():
    trace = [{"seconds": 0.5, "cost": 150},
             {"seconds": 1.5, "cost": 101, "bound": 50},
             {"seconds": 19, "cost": 101, "bound": 99.995},
             {"seconds": 21, "cost": 100, "bound": 100}]
    got = run.summarize({"trace": trace, "cost": 100, "bound": 100,
                         "first_answer_seconds": 0.5,
                         "peak_memory_bytes": 12_000_000}, 100)
    assert got["first"] == 0.5 and got["near"] == 1.5 and got["best"] == 21
    assert got["ratio_20"] == 1.01 and got["ratio"] == 1
    assert got["gap_20"] == pytest.approx(1.005 / 101) and got["gap"] == 0
    assert got["gap_1_percent"] == 19 and got["megabytes"] == 12
    assert not got["overstated"]
    trace[2]["bound"] = 100.5
    assert run.summarize({"trace": trace, "cost": 100, "bound": 100,
                          "peak_memory_bytes": 1}, 100)["overstated"]


def bench(tmp_path, *arguments, script="run.py", **environment):
    return subprocess.run(
        [sys.executable, BENCH / script, *map(str, arguments)],
        capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "DIVISI_BUILD": str(BUILD),
             "XDG_CACHE_HOME": str(tmp_path), **environment})


def test_benchmark_runs(tmp_path):
    done = bench(tmp_path, "--data", DATA, "--instances", "G", "G-limit-3",
                 "--work", 300_000_000, "--json", tmp_path / "r.json")
    assert done.returncode == 0, done.stdout + done.stderr
    g, loose = json.loads((tmp_path / "r.json").read_text())["results"]
    assert g["check"]["accepted"] and loose["check"]["accepted"]
    assert g["summary"]["ratio"] == 1 and g["answer"]["cost"] == 217039
    assert 0 < g["summary"]["first"] <= g["summary"]["best"]
    assert loose["answer"]["cost"] < g["answer"]["cost"]
    assert loose["answer"]["limit"] == 3 * g["answer"]["limit"]
    row = next(line for line in done.stdout.splitlines()
               if line.startswith("| G, 3.0e+08 entries |"))
    # The third place's cost, 636,630, and the winner's.
    assert row.endswith("| accepted | 2.93325 | 1.00000 |"), done.stdout


def test_ablation_runs(tmp_path):
    done = bench(tmp_path, "--data", DATA, "--instances", "G", "--work",
                 200_000_000, "--json", tmp_path / "r.json",
                 script="ablation.py")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "|  | G |"
    assert any(line.startswith("| `auto` | 1.00000, ") for line in lines)
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    commands = {row: of["G"]["command"] for row, of in results.items()}
    assert commands["`auto` without branching"][-2:] == \
        ["--without", "branching"]
    assert len({tuple(command) for command in commands.values()}) == \
        len(ablation.ROWS)
    # The dual is what bounds.
    assert results["`lagrangian`"]["G"]["summary"]["gap"] < 0.01 < \
        results["`local`"]["G"]["summary"]["gap"]


def test_ablation_compares_with_the_best(capsys):
    def answer(cost, gap, accepted=True):
        return {"X": {"exit_code": 0, "answer": {"cost": cost},
                      "summary": {"gap": gap},
                      "check": {"accepted": accepted}}}
    rows = {"a": answer(150, 0.5), "b": answer(120, 0.25),
            "wrong": answer(90, 0, accepted=False),
            "none": {"X": {"exit_code": 7}}, "broken": {"X": {"exit_code": 1}}}
    # Where nothing is known, what the best row reached.
    for recipe, ratios in [({}, (1.25, 1)), ({"best_known": 100}, (1.5, 1.2))]:
        ablation.print_table(["X"], {"X": recipe}, rows)
        assert capsys.readouterr().out.splitlines()[2:] == [
            f"| a | {ratios[0]:.5f}, 50.0000 % |",
            f"| b | {ratios[1]:.5f}, 25.0000 % |", "| wrong | REFUSED |",
            "| none | no answer |", "| broken | exit 1 |"]


# Comes on as its first argument says, then waits for the interruption.
PRETENDER = """#!{python}
import json, signal, sys, time
if sys.argv[1] == "version":
    print(json.dumps(dict(divisi="0")))
elif "--check" in sys.argv:
    sys.exit("refused") if "{judge}" == "refuse" else print(json.dumps(dict(
        certificate_steps=0, certificate_nodes=1, bound=100)))
else:
    stop = []
    signal.signal(signal.SIGINT, lambda *_: stop.append(1))
    for gap in (50, 1.2, 0.4):
        print(f"  0.1 s  best 100  bound 1  gap {{gap}}%", file=sys.stderr,
              flush=True)
    while not stop:
        time.sleep(0.01)
    # More than a pipe holds.
    trace = [dict(seconds=0.1, cost=100, bound=100)] * 3000
    print(json.dumps(dict(cost=100, bound=100, peak_memory_bytes=1,
                          trace=trace, stopped="interrupted")), flush=True)
    print("the end", file=sys.stderr)
"""


def pretend(folder, judge):
    program = folder / "bin" / "divisi"
    program.parent.mkdir()
    program.write_text(PRETENDER.format(python=sys.executable, judge=judge))
    program.chmod(0o755)
    return {"DIVISI_BUILD": str(folder)}


def test_scaling_stops_where_the_gap_is_small(tmp_path):
    done = bench(tmp_path, "--suite", "scaling", "--data", DATA,
                 "--instances", "G", **pretend(tmp_path, "accept"))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(
        (tmp_path / "bench" / "iopddl-scaling.json").read_text())
    assert report["results"][0]["answer"]["stopped"] == "interrupted"
    assert report["scaling"]["gap_1_percent"]["points"] == [[1, 0.1]]


def test_benchmark_fails_if_an_answer_is_refused(tmp_path):
    done = bench(tmp_path, "--suite", "scaling", "--data", DATA,
                 "--instances", "G", **pretend(tmp_path, "refuse"))
    assert done.returncode == 1
    assert "REFUSED" in done.stdout and "error: G: refused" in done.stderr


def test_benchmark_fails_if_there_is_no_answer(tmp_path):
    (tmp_path / "asplos-2025-iopddl-G.json").write_text("{}")
    done = bench(tmp_path, "--data", tmp_path, "--instances", "G",
                 "--json", tmp_path / "r.json")
    assert done.returncode == 1
    assert "error: G: " in done.stderr and "exit 4" in done.stdout


def test_benchmark_says_where_the_data_are(tmp_path):
    done = bench(tmp_path, DIVISI_IOPDDL="")
    assert done.returncode == 1
    assert "github.com/google/iopddl" in done.stderr
    done = bench(tmp_path, "--data", DATA, "--instances", "A")
    assert done.returncode == 1
    assert "iopddl-A.json" in done.stderr and "google" in done.stderr
