"""Table of the verdicts of `kvtrace invariance` on recorded cases, and of the measured results."""

import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

Row = dict[str, Any]

#: Verdicts of a case, the worst first. "sizes": all kernels are proven, but some were not launched
#: at all sizes, so the program may use another kernel there.
WORST = ("violation", "depends", "unknown", "whole", "sizes", "proven")

#: Whether a row's bits may be equal in all batches under a verdict.
AGREES = {
    "proven": (True,),
    "violation": (False,),
    "depends": (False,),
    "whole": (True, False),
    "sizes": (True, False),
}


def judge_trace(trace: Path) -> Row:
    """Judge a case's trace; the verdict is the worst verdict of its outputs."""
    from kvtrace.addons.invariance.results import invariance_of
    from kvtrace.schema.trace import Selection, open_trace

    begin = time.perf_counter()
    opened = open_trace(trace)
    found = invariance_of(Selection(opened, opened.runs))
    seconds = time.perf_counter() - begin
    outputs = [
        {
            "kernel": each.kernel, "output": each.output, "verdict": each.verdict,
            "why": [f"{why.cause}/{why.through}: {why.what}" for why in each.reasons],
            "across": each.size_comparison and each.size_comparison.comparison.relation,
            "witness": each.witness and each.witness.values,
            "deterministic": each.determinism.answer,
        }
        for each in found.outputs
    ]  # fmt: skip
    verdicts = [
        "sizes" if each.verdict == "proven" and each.unseen_sizes else each.verdict
        for each in found.outputs
    ]
    kernels = len({each["kernel"] for each in outputs})
    return {
        "verdict": min(verdicts, key=WORST.index, default="unknown"),
        "outputs": outputs, "failures": list(found.failures),
        "seconds": seconds, "kernels": kernels, "seconds_each": seconds / max(1, kernels),
    }  # fmt: skip


def agreement(row: Row, truth: Row | None) -> str:
    """Return whether a verdict agrees with the evaluator's results: "yes", "no" or "failed"."""
    if "failed" in row or truth is None or "outputs" not in truth:
        return "failed"
    if row["verdict"] not in AGREES:
        return row["verdict"]
    launched = {frozenset(re.findall(r"(\w+)\(", names)) for names in truth["launches"]}
    if row["verdict"] == "proven" and len(launched) > 1:
        return "kernels"  # proven one by one, and the program chooses others at another size
    same = all(each["same"] for each in truth["outputs"].values())
    return "agrees" if same in AGREES[row["verdict"]] else "WRONG"


def table_lines(rows: dict[str, Row], truth: dict[str, Row]) -> list[str]:
    """Return a line for each case, and the totals."""
    lines = []
    counts: Counter[tuple[str, str]] = Counter()
    for name, row in rows.items():
        known = truth.get(name)
        said = agreement(row, known)
        verdict = row.get("verdict", "failed")
        counts[verdict, said] += 1
        same = known and all(each["same"] for each in known.get("outputs", {}).values())
        first = next((each for each in row.get("outputs", ()) if each["verdict"] == verdict), None)
        why = row.get("failed") or (
            "" if first is None else f"{first['kernel']}, {first['output']}: {first['why'][:1]}"
        )
        bits = "same" if same else "differs"
        seconds_each = row.get("seconds_each", 0)
        told = why if verdict != "proven" else ""
        lines.append(f"{name:46} {verdict:9} {bits:7} {said:7} {seconds_each:5.2f} s  {told}")
    seconds = sorted(row["seconds_each"] for row in rows.values() if "seconds_each" in row)
    lines.append("")
    lines += [f"{verdict:9} {said:8} {count:4}" for (verdict, said), count in counts.most_common()]
    if seconds:
        middle = seconds[len(seconds) // 2]
        lines.append(f"seconds a kernel: median {middle:.2f}, largest {seconds[-1]:.2f}")
    return lines
