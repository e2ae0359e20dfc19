"""One model by every peer: results compared, rounds by turns, medians."""

import statistics
import sys

import google.protobuf.message
import numpy as np
import onnx

import names
import peers
import report

# How much further from the model in floats a quantized one may lie than by
# ONNX Runtime without optimisations, which computes in floats between the
# steps. That it lies elsewhere is no error: a value that is rounded the other
# way is a whole step off, and others follow.
QUANTIZED_MARGIN = 1.2
# The same of a file, whose model in floats is not at hand, of its outputs.
QUANTIZED_SHARE = 0.05


def is_quantized(model):
    graph = onnx.load(model, load_external_data=False).graph
    return any(node.op_type == "QuantizeLinear" for node in graph.node)


def root_mean_square(array):
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))


def largest_error(outputs, expected, tolerance, allowed=None):
    """The largest error as a part of the tolerance: of each element, or, where
    the root mean square that is allowed is given, of an output."""
    if outputs.keys() != expected.keys():
        return float("inf")
    worst = 0.0
    for name, want in expected.items():
        if outputs[name].shape != want.shape:
            return float("inf")
        distance = np.abs(outputs[name].astype(np.float64) - want)
        if allowed:
            error = root_mean_square(distance) / allowed[name]
        else:
            bound = (tolerance[0] * np.abs(want).max()
                     + tolerance[1] * np.abs(want))
            error = float((distance / np.maximum(bound, 1e-30)).max())
        if not np.isfinite(error):
            return float("inf")
        worst = max(worst, error)
    return worst


class Row:
    """One model by every peer."""

    def __init__(self, case, runners, arguments, folder):
        self.case, self.runners = case, runners
        self.arguments, self.folder = arguments, folder
        self.cells = {runner.name: {"ns": [], "starts": []}
                      for runner in runners}
        for runner in runners:
            if reason := runner.skips(case):
                self.cells[runner.name]["skipped"] = reason

    def attempt(self, runner, action):
        """Does it, unless the peer is out already; None if it fails."""
        cell = self.cells[runner.name]
        if "failed" in cell or "skipped" in cell:
            return None
        try:
            return action()
        except (peers.Failure, OSError, ValueError, KeyError) as error:
            cell["failed"] = str(error) or type(error).__name__
            print(f"{self.case.name}: failed: {cell['failed']}",
                  file=sys.stderr)
            return None

    def unoptimised(self):
        """What ONNX Runtime computes without optimisations."""
        plain = peers.OnnxRuntime(self.arguments.threads, "ORT_DISABLE_ALL")
        try:
            return plain.start(self.case, self.folder).outputs
        finally:
            plain.close()

    def reference(self):
        """What is expected, and which root mean square error is allowed, or
        None for the tolerance of floats."""
        expected = (dict(np.load(self.case.expected)) if self.case.expected
                    else None)
        if not is_quantized(self.case.model):
            return expected or self.unoptimised(), None
        plain = self.unoptimised()
        if expected is None:
            return plain, {name: QUANTIZED_SHARE * root_mean_square(array)
                           for name, array in plain.items()}
        return expected, {
            name: QUANTIZED_MARGIN * root_mean_square(plain[name] - array)
            for name, array in expected.items()}

    def start(self, runner):
        cell = self.cells[runner.name]
        start = runner.start(self.case, self.folder)
        cell["starts"].append(start)
        cell["error"] = max(cell.get("error", 0.0), largest_error(
            start.outputs, self.expected, runner.tolerance, self.allowed))
        if cell["error"] > 1:
            raise peers.Failure("the results differ: "
                                f"{cell['error']:.3g} times the tolerance")

    def one_round(self, round_):
        turn = round_ % len(self.runners)
        for runner in self.runners[turn:] + self.runners[:turn]:
            if round_ == 0 or not runner.stays:
                self.attempt(runner, lambda: self.start(runner))
            times = self.attempt(runner, lambda: runner.round(
                self.case, self.folder, self.runs))
            if times:
                self.cells[runner.name]["ns"].append(times)
            if not runner.stays:
                runner.close()

    def single_run(self):
        """Seconds of ONNX Runtime's first; a guess if it has none."""
        runner = self.runners[0]
        start = self.attempt(runner, lambda: runner.start(self.case,
                                                          self.folder))
        runner.close()
        return start.first_seconds if start else 0.1

    def measure(self):
        try:
            self.expected, self.allowed = self.reference()
        except (peers.Failure, google.protobuf.message.Error) as error:
            for cell in self.cells.values():
                cell["failed"] = f"no reference: {error}"
            return self.finish()
        for runner in self.runners:
            self.attempt(runner, lambda: runner.prepare(self.case,
                                                        self.folder))
            self.cells[runner.name].update(runner.facts)
        self.runs = min(2000, max(5, round(
            self.arguments.seconds / self.single_run())))
        try:
            for round_ in range(self.arguments.rounds):
                self.one_round(round_)
        finally:
            for runner in self.runners:
                runner.close()
        return self.finish()

    def finish(self):
        """Medians and speeds from what was collected."""
        base = self.cells[self.runners[0].name]
        medians = [statistics.median(times) for times in base["ns"]]
        for cell in self.cells.values():
            starts = cell.pop("starts")
            if "failed" in cell or "skipped" in cell:
                continue
            cell["median_ns"] = statistics.median(sum(cell["ns"], []))
            for key, name in (("start_seconds", "seconds"),
                              ("load_seconds", "load_seconds"),
                              ("peak_mib", "peak_mib")):
                cell[key] = statistics.median(
                    getattr(start, name) for start in starts)
            cell["settings"] = starts[0].settings
            if "median_ns" in base and cell is not base:
                ratios = [own / statistics.median(times) for own, times
                          in zip(medians, cell["ns"], strict=True)]
                cell["speed"] = base["median_ns"] / cell["median_ns"]
                cell["speed_of_rounds"] = [min(ratios), max(ratios)]
        return {"name": self.case.name, "peers": self.cells}


def geomeans(rows, peer_names):
    known = [*names.MODELS, *names.QUANTIZED]
    groups = dict(names.GROUPS)
    groups["files"] = [row["name"] for row in rows
                       if row["name"] not in known]
    entries = []
    for group, members in groups.items():
        chosen = [row for row in rows if row["name"] in members]
        for peer in peer_names[1:]:
            cells = {row["name"]: row["peers"][peer] for row in chosen
                     if peer in row["peers"]}
            speeds = {name: cell["speed"] for name, cell in cells.items()
                      if "speed" in cell}
            if not speeds:
                continue
            lowest = min(speeds, key=speeds.get)
            entries.append({
                "group": group, "peer": peer, "count": len(speeds),
                "failed": sum("failed" in c for c in cells.values()),
                "geomean": report.geomean(speeds.values()),
                "lowest": speeds[lowest], "lowest_model": lowest})
    return entries


def settings(rows, runners):
    """What each peer says of itself, once."""
    said = {}
    for row in rows:
        for runner in runners:
            own = row["peers"][runner.name].pop("settings", None)
            if own:
                said.setdefault(runner.name, own)
    return said
