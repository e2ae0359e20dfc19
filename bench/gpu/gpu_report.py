"""The results on a GPU as Markdown, with shares of what products reach."""

import report


def add_shares(result):
    """Operations by time, by the rate that products of that type reach."""
    for row in result["models"]:
        peak = result["gpu"]["peaks"].get(row["precision"])
        for cell in row["peers"].values():
            if peak and row.get("flops") and "median_ns" in cell:
                cell["share_of_peak"] = (
                    row["flops"] / (cell["median_ns"] / 1e9) / peak)


def shares(result):
    rows = []
    for row in result["models"]:
        line = [row["name"], f"{row['flops'] / 1e9:.3g}" if "flops" in row
                else ""]
        for peer in result["peers"]:
            share = row["peers"].get(peer, {}).get("share_of_peak")
            line.append("" if share is None else f"{100 * share:.1f} %")
        rows.append(line)
    return report.table(["model", "GFLOP a run", *result["peers"]], rows)


def markdown(result):
    gpu = result["gpu"]
    peaks = ", ".join(f"{name} {rate / 1e12:.4g}"
                      for name, rate in gpu["peaks"].items())
    parts = [
        f"{gpu['name']} (sm_{gpu['capability']}), 1 GPU; products reach, in "
        f"TFLOP/s: {peaks}; {result['rounds']} rounds, medians; from inputs "
        "to outputs in the host's memory; speed: "
        f"{result['peers'][0]} = 1, and of single rounds (lowest–highest)\n",
        report.speeds(result), "Share of what products reach\n",
        shares(result)]
    said = {}
    for row in result["models"]:
        said.update(row.get("settings", {}))
    parts += [f"{peer}: " + ", ".join(f"{name} {value}" for name, value
                                      in settings.items()) + "\n"
              for peer, settings in said.items()]
    if exceptions := report.exceptions(result):
        parts.append(exceptions)
    return "\n".join(parts)
