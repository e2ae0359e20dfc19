"""Which of their cases tests run: a share of them, DIVISI_TEST_SHARE, from 0 to
1, and 0.05 unless it is set (test/Sample.h is the same for C++). `make sweep`
sets it to 1.

A test of many cases is marked:

    @pytest.mark.sample("model", ("backend", "type"))
    @pytest.mark.parametrize(...)

Of its cases a share runs, drawn by their names, so always the same; in any
case enough of them that each value of the parameter `model` occurs, and each
pair of a `backend` and a `type`. Nothing named, at least one case runs. Where
cases take seconds each (`slow=True`) the share is squared; `first=True` takes the
first ones instead of drawing some. What is marked `whole` runs only where all cases
do.
"""

import hashlib
import math
import os

DEFAULT = 0.05


def share():
    text = os.environ.get("DIVISI_TEST_SHARE") or DEFAULT
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value <= 1:
        raise SystemExit(
            f"DIVISI_TEST_SHARE={text}: expected a number from 0 to 1")
    return value


def is_sweep():
    return share() == 1


def sample_size(count, least=1, slow=False):
    """How many of `count` cases run."""
    part = share() ** 2 if slow else share()
    return min(count, max(least, math.ceil(count * part)))


def drawn(cases, key=str):
    """The cases in an order drawn by their keys."""
    return sorted(cases, key=lambda case: hashlib.sha256(
        key(case).encode()).digest())


def sample(cases, key=str, features=lambda case: (), slow=False, first=False,
           least=1):
    """A share of the cases, at least `least` of them, in their order; each of the
    features that any of them has, one of these has, too."""
    cases = list(cases)
    taken, rest = [], list(cases) if first else drawn(cases, key)
    missing = set().union(*(features(case) for case in cases)) if cases else set()
    while missing:
        best = max(rest, key=lambda case: len(missing & set(features(case))))
        missing -= set(features(best))
        taken.append(best)
        rest.remove(best)
    taken += rest[:max(0, sample_size(len(cases), least, slow) - len(taken))]
    return [case for case in cases if any(case is each for each in taken)]


def _features(item, names):
    """Pairs of names and values of an item's parameters."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    found = set()
    for name in names:
        several = (name,) if isinstance(name, str) else name
        found.add((several, repr([params[each] for each in several])))
    return found


def kept(items):
    """Those of pytest's items that run."""
    if is_sweep():
        return list(items)
    groups = {}
    for item in items:
        mark = item.get_closest_marker("sample")
        if item.get_closest_marker("whole") is None and mark is not None:
            groups.setdefault(item.nodeid.split("[")[0], (mark, []))[1].append(
                item)
    taken = set()
    for mark, group in groups.values():
        taken.update(id(item) for item in sample(
            group, lambda item: item.nodeid.split("/")[-1],
            lambda item: _features(item, mark.args), **mark.kwargs))
    return [item for item in items
            if item.get_closest_marker("whole") is None and
            (item.get_closest_marker("sample") is None or id(item) in taken)]
