"""What explain says, as HTML for notebooks."""

from __future__ import annotations

from html import escape
from typing import Any, Mapping

from ._progress import duration


def _bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            break
        count /= 1024
    else:
        unit = "TiB"
    return f"{count:.4g} {unit}"


def _table(rows: list[tuple[str, ...]], header: tuple[str, ...] = ()) -> str:
    def line(cells: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(
            f'<{tag} style="text-align:left">{escape(cell)}</{tag}>'
            for cell in cells) + "</tr>"

    head = f"<thead>{line(header, 'th')}</thead>" if header else ""
    return (f"<table>{head}<tbody>"
            + "".join(line(row, "td") for row in rows) + "</tbody></table>")


def _summary(data: Mapping[str, Any]) -> list[tuple[str, ...]]:
    devices = data["memory"]["per_device"]
    fullest = max((each["total_bytes"] for each in devices), default=0)
    rows = [("model", str(data["model"]))]
    rows += [("grid", f"@{grid['name']} {grid['axes']}")
             for grid in data["grids"]]
    rows += [
        ("a run", f"{duration(data['predicted_nanoseconds'] / 1e9)}, predicted"),
        ("on one device", duration(data["one_device_nanoseconds"] / 1e9)),
        ("speed-up", f"{data['speed_up']:.3g} on {len(devices)} devices, "
                     f"efficiency {data['efficiency']:.1%}"),
        ("memory", f"{_bytes(fullest)} on the fullest device, limit "
                   f"{_bytes(data['memory']['limit_bytes'])}")]
    return rows


def _layers(data: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [(row["layer"], row["node"], row["op"], row["split"] or "-",
             duration(row["nanoseconds"] / 1e9),
             f"{row['operands']} → {row['results']}") for row in data["rows"]]


def page_of(data: Mapping[str, Any]) -> str:
    """The summary, and behind a click a table of the operators."""
    layers = _table(_layers(data), ("layer", "node", "operator", "split", "time",
                                    "layouts"))
    return (_table(_summary(data)) + "<details><summary>operators and "
            f"collectives</summary>{layers}</details>")
