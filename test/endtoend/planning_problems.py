"""Planning problems made for the tests, as the contest's JSON."""

import json
import random

from conftest import ROOT

INFEASIBLE = 10 ** 18
DATA = ROOT / "test" / "Search" / "data"
EXAMPLE = DATA / "example.json"
G = DATA / "asplos-2025-iopddl-G.json.gz"


def solution(divisi, problem, name="s.json"):
    """The file `name`, which must be accepted as a solution of `problem`."""
    divisi("solve", "--check", problem, name)
    return json.loads(divisi.path(name).read_text())


def write(path, nodes, edges=(), limit=None, name="made"):
    """nodes: (interval, costs, usages); edges: (from, to, matrix by rows)."""
    problem = {
        "name": name,
        "nodes": {"intervals": [n[0] for n in nodes],
                  "costs": [n[1] for n in nodes],
                  "usages": [n[2] for n in nodes]},
        "edges": {"nodes": [list(e[:2]) for e in edges],
                  "costs": [e[2] for e in edges]},
    }
    if limit is not None:
        problem["usage_limit"] = limit
    path.write_text(json.dumps({"problem": problem}))
    return path


def small(path):
    """Two nodes that would like different strategies: the optimum is 8, and
    uses all of the memory; without the limit it would be 3."""
    return write(path, [([0, 4], [1, 5], [6, 2]), ([2, 9], [2, 4], [7, 2])],
                 [(0, 1, [0, 3, 4, 0])], limit=8)


def enormous(path):
    """Costs whose sum, 100 * (10^18 - 7), needs 67 bits."""
    return write(path, [([0, 1], [INFEASIBLE - 7], [1])] * 100)


def too_large(path):
    """At time 3 at least 5 + 6 bytes are in use; else 5 or 6."""
    return write(path, [([0, 4], [1, 2], [5, 9]), ([3, 8], [1, 1], [7, 6])],
                 limit=10)


def pigeons(path, count):
    """More pigeons than holes, two of which share none: infeasible, and dear
    to prove."""
    holes = count - 1
    different = [INFEASIBLE if s == t else 0
                 for s in range(holes) for t in range(holes)]
    return write(path, [([0, 1], [0] * holes, [0] * holes)] * count,
                 [(u, v, different) for v in range(count) for u in range(v)])


def colours(path, seed, count=150, degree=4.6):
    """A graph that can be coloured with three colours, since it was made by a
    colouring; where degrees are such, one is hard to find."""
    draw = random.Random(seed)
    colour = [draw.randrange(3) for _ in range(count)]
    different = [INFEASIBLE if s == t else 0
                 for s in range(3) for t in range(3)]
    edges = set()
    while len(edges) < degree * count / 2:
        u, v = sorted(draw.sample(range(count), 2))
        if colour[u] != colour[v]:
            edges.add((u, v))
    return write(path, [([0, 1], [0] * 3, [0] * 3)] * count,
                 [(u, v, different) for u, v in sorted(edges)])


def frustrated(path, seed, count=300, states=8, degree=10):
    """Random costs on a dense graph: answers are easy, better ones come for
    minutes, and the relaxation is too loose for a proof."""
    draw = random.Random(seed)
    nodes = []
    for _ in range(count):
        begin = draw.randrange(1000)
        nodes.append(([begin, begin + draw.randrange(1, 300)],
                      [draw.randrange(1000) for _ in range(states)],
                      [draw.randrange(1, 100) for _ in range(states)]))
    edges = []
    for _ in range(count * degree // 2):
        u, v = draw.sample(range(count), 2)
        edges.append((u, v, [draw.randrange(10_000)
                             for _ in range(states * states)]))
    return write(path, nodes, edges, limit=2000, name="frustrated")
