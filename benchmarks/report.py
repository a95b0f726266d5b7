"""The table as people read it (`RESULTS.md`) and as programs do (`results.json`)."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import trio

from benchmarks.base import Baseline, Row

__all__ = ["RESULTS_JSON", "RESULTS_MD", "machine", "save", "table"]

HERE = Path(__file__).parent
RESULTS_MD = HERE / "RESULTS.md"
RESULTS_JSON = HERE / "results.json"
MARKS = {True: "met", False: "MISSED", None: ""}


def machine() -> dict[str, Any]:
    """Return what the figures depend on: cores, processor, system, Python and Trio."""
    return {
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "cpu": _cpu_model(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "trio": trio.__version__,
    }


def table(rows: Sequence[Row]) -> str:
    """Return one Markdown table, its columns padded for reading as text."""
    head = ("work", "measured", "budget", "", "beside")
    lines: list[tuple[str, ...]] = [head, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    lines.insert(1, tuple("-" * width for width in widths))
    return "\n".join(
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    )


def save(measured: Mapping[str, Sequence[Row]]) -> None:
    """Put the rows of these modules into both files; other modules' last rows stay."""
    known = json.loads(RESULTS_JSON.read_text("utf-8")) if RESULTS_JSON.exists() else {}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for name, rows in measured.items():
        known[name] = {
            "date": now,
            "machine": machine(),
            "rows": [attrs.asdict(row) for row in rows],
        }
    RESULTS_JSON.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", "utf-8")
    RESULTS_MD.write_text(_page(known), "utf-8")


def _page(known: Mapping[str, Any]) -> str:
    parts = [
        "# How fast\n\n"
        "Written by `./dev bench`; the same figures are in `results.json`. Ratios are medians of\n"
        "the ratios within interleaved passes, so they need not be the quotient of two medians.\n"
    ]
    for name, part in known.items():
        at, rows = part["machine"], [_row(row) for row in part["rows"]]
        parts.append(
            f"\n## {name}\n\n{part['date']}, {at['cores']} cores, {at['cpu']}, {at['system']}, "
            f"Python {at['python']}, trio {at['trio']}\n\n{table(rows)}\n"
        )
        parts += [f"\n- {row.name}: {row.note}\n" for row in rows if row.note]
    return "".join(parts)


def _row(raw: Mapping[str, Any]) -> Row:
    return Row(**{**raw, "baselines": tuple(Baseline(**base) for base in raw["baselines"])})


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    beside = ", ".join(_beside(baseline, row.unit) for baseline in row.baselines)
    measured = "not measured" if row.value is None else f"{_figure(row.value)} {row.unit}"
    return row.name, measured, row.budget, MARKS[row.met], beside


def _beside(baseline: Baseline, unit: str) -> str:
    if baseline.value is None:
        return f"{baseline.name}: not installed"
    ratio = "" if baseline.ratio is None else f" ({baseline.ratio:.3g} ×)"
    return f"{baseline.name} {_figure(baseline.value)}{ratio}"


def _figure(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 100 else f"{value:.3g}"


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
