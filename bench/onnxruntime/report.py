"""The results as Markdown: a table of speeds, one of starts, geomeans."""

import math


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def milliseconds(value):
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def speed_cells(cell):
    """Milliseconds and speed of one peer in one row."""
    if cell is None:
        return ["", ""]
    if "failed" in cell:
        return ["failed", "**failed**"]
    if "skipped" in cell:
        return ["skipped", ""]
    time = milliseconds(cell["median_ns"] / 1e6)
    if "speed" not in cell:
        return [time, "?"]
    low, high = cell["speed_of_rounds"]
    return [time, f"{cell['speed']:.2f} ({low:.2f}–{high:.2f})"]


def speeds(result):
    peers = result["peers"]
    head = ["model", f"{peers[0]}, ms"]
    for peer in peers[1:]:
        head += [f"{peer}, ms", "speed"]
    head += ["error of tolerance"]
    rows = []
    for row in result["models"]:
        first, *others = (row["peers"].get(peer) for peer in peers)
        line = [row["name"], speed_cells(first)[0]]
        for cell in others:
            line += speed_cells(cell)
        errors = [cell["error"] for cell in row["peers"].values()
                  if "error" in cell]
        rows.append([*line, f"{max(errors):.2g}" if errors else ""])
    return table(head, rows)


def starts(result):
    """Load, start-up and memory: medians of fresh processes."""
    head = ["model"]
    for peer in result["peers"]:
        head += [f"{peer}: load, ms", "start-up, ms", "peak, MiB"]
        if peer.startswith("divisi"):
            head += ["artifact, MiB", "compile, s"]
    rows = []
    for row in result["models"]:
        line = [row["name"]]
        for peer in result["peers"]:
            cell = row["peers"].get(peer) or {}
            if "start_seconds" not in cell:
                line += [""] * (5 if peer.startswith("divisi") else 3)
                continue
            line += [f"{1e3 * cell['load_seconds']:.0f}",
                     f"{1e3 * cell['start_seconds']:.0f}",
                     f"{cell['peak_mib']:.0f}"]
            if peer.startswith("divisi"):
                line += [f"{cell['artifact_mib']:.0f}",
                         f"{cell['compile_seconds']:.2f}"]
        rows.append(line)
    return table(head, rows)


def geomeans(result):
    """A line for each group and peer: over how many rows, and the lowest."""
    lines = []
    for entry in result["geomeans"]:
        lowest = f"lowest {entry['lowest']:.2f} ({entry['lowest_model']})"
        failed = (f"; {entry['failed']} failed and count in neither"
                  if entry["failed"] else "")
        lines.append(f"- {entry['group']}, {entry['peer']}: geomean "
                     f"**{entry['geomean']:.2f}** over {entry['count']}, "
                     f"{lowest}{failed}")
    return "\n".join(lines) + "\n"


def exceptions(result):
    """Why cells failed or were skipped: a line for each peer and reason."""
    rows = {}
    for row in result["models"]:
        for peer, cell in row["peers"].items():
            for what in ("failed", "skipped"):
                if what in cell:
                    rows.setdefault((what, peer, cell[what]),
                                    []).append(row["name"])
    return "".join(f"- {what}: {peer}: {reason} ({', '.join(models)})\n"
                   for (what, peer, reason), models in sorted(rows.items()))


def markdown(result):
    machine = result["machine"]
    parts = [
        f"{machine['processor']}, {machine['cores']} cores, of which other "
        f"processes took {100 * machine['taken_by_others']:.0f} %; "
        f"{result['threads']} threads; {result['rounds']} rounds, medians; "
        f"speed: {result['peers'][0]} = 1, and of single rounds "
        "(lowest–highest)\n", speeds(result)]
    if result["geomeans"]:
        parts.append(geomeans(result))
    parts += ["Load and start-up\n", starts(result)]
    for peer, settings in result["settings"].items():
        said = ", ".join(f"{name} {value}"
                         for name, value in settings.items())
        parts.append(f"{peer}: {said}\n")
    if exceptions(result):
        parts.append(exceptions(result))
    return "\n".join(parts)
