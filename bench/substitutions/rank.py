"""Whether predicted and measured times put programs in the same order.

The programs are made by rules at places that a seed draws (--draw-rules of
divisi-opt), from the exported form, and are compiled as a dump of the stage
Rewrite is.
"""

import statistics

ROUNDS = 7
PASSES = ["--canonicalize", "--cse", "--nn-hoist-init", "--canonicalize",
          "--symbol-dce"]


def programs_of(case, count):
    """Artifacts of distinct programs; fewer where rules reach no more."""
    runs, folder = case.runs, case.runs.folder
    model = case.paths["export"]
    runs.divisi("plan", model, "--cluster", "cpu:1", "--dump-after", "import",
                "--dump-to", folder, "-o", folder / "plan.mlir")
    dump = folder / f"{model.stem}.import.mlir"
    artifacts, seen = {}, set()
    for seed in range(4 * count):
        if len(artifacts) == count:
            break
        steps = 1 + seed % 12
        text = runs.divisi(
            dump, f"--draw-rules=seed={seed} steps={steps}", *PASSES,
            "--mlir-print-debuginfo", program="divisi-opt")
        text = text.replace('divisi.stage = "import"',
                            'divisi.stage = "rewrite"')
        if text in seen:
            continue
        seen.add(text)
        drawn = folder / "drawn.mlir"
        drawn.write_text(text)
        artifacts[seed] = runs.compile(drawn, f"drawn{seed}", 1, "--data",
                                       model)
    return artifacts


def kendall(pairs):
    """Tau-b of (predicted, measured)."""
    agree = ties_a = ties_b = total = 0
    for i, (a, b) in enumerate(pairs):
        for c, d in pairs[:i]:
            total += 1
            ties_a += a == c
            ties_b += b == d
            sign = (a - c) * (b - d)
            agree += (sign > 0) - (sign < 0)
    scale = ((total - ties_a) * (total - ties_b)) ** 0.5
    return agree / scale if scale else float("nan")


def tau(case, count):
    artifacts = programs_of(case, count)
    once = statistics.median(case.runs.times(case.artifacts["off"],
                                             case.inputs, 3))
    repeat = max(3, min(100, int(1e8 / once)))
    times = {seed: [] for seed in artifacts}
    for _ in range(ROUNDS):
        for seed, path in artifacts.items():
            times[seed].append(statistics.median(
                case.runs.times(path, case.inputs, repeat)))
    rows = [{"seed": seed, "predicted": case.runs.predicted(path) / 1e6,
             "milliseconds": statistics.median(times[seed]) / 1e6}
            for seed, path in artifacts.items()]
    return {"programs": len(rows), "rows": rows,
            "tau": kendall([(row["predicted"], row["milliseconds"])
                            for row in rows])}
