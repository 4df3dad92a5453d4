"""Checks of all recorded launches of several runs, and their results as text, rows and JSON."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final

from msgspec import Struct

from kvtrace.addons.check.checking import RunChecks, Ttgir, check_run
from kvtrace.addons.check.findings import RULES
from kvtrace.addons.check.ranks_parted import RanksParted, ranks_parted
from kvtrace.backends.triton.recorded_ttgir import generic_ttgir
from kvtrace.evaluate.errors import Undecided
from kvtrace.ir import Module
from kvtrace.ir.locations import triton_of
from kvtrace.ir.relocation import module_defined_in
from kvtrace.progress import progress
from kvtrace.recorded_calls.reading import kernels_of_calls, stage_artifact
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.trace import Run, Selection, Trace
from kvtrace.schema.without_ir import runs_without_ir
from kvtrace.text import plural

_ANSWERS: Final = ("agrees", "differs", "not finite", "undecided")
_WORDS: Final = {
    "agrees": "agree with their IR", "differs": "differ from their IR",
    "not finite": "made the first NaN or infinity", "undecided": "could not be decided",
}  # fmt: skip
_REASONS: Final = 8


class NothingToCheck(KvtraceError):
    """No launch of the runs was recorded for checks."""

    slug = "nothing-to-check"


class Checked(Struct, frozen=True):
    """Results of the checked launches of several runs.

    `kernels` has the kernel's options and the grid of each call, by run id and call id. `ranks`
    says where ranks of one job parted; None without digests of several.
    """

    runs: tuple[RunChecks, ...]
    kernels: Mapping[tuple[str, int], Mapping[str, Any]]
    ranks: RanksParted | None = None

    @property
    def answers(self) -> Counter[str]:
        """Number of launches by answer."""
        return sum((run.answers for run in self.runs), Counter())

    @property
    def failed(self) -> bool:
        """Some launch differs or made a NaN or an infinity, or ranks parted."""
        parted = self.ranks is not None and bool(self.ranks.first)
        return parted or bool(self.answers["differs"] or self.answers["not finite"])


@dataclass(frozen=True, slots=True)
class CheckRow:
    """Result for one storage of a checked launch; see the table `checks`.

    For storages that differ, `stage` is the compiler stage at fault: `ttgir` (the passes that make
    TTGIR), `behind ttgir`, `descriptor stores` (no stage: the target's stores go past extents) or
    `unknown`; `stage_reason` says why.
    """

    kernel: str | None
    seq: int
    call_id: int
    name: str | None
    answer: str
    reason: str | None
    elements: int | None
    undecided: int | None
    differing: int | None
    got: float | None
    expected: float | None
    worst_bound: float | None
    pattern: str | None
    stage: str | None
    stage_reason: str | None


def check_runs(selection: Selection) -> Checked:
    """Check the recorded launches of runs, and fill the tables `checks` and `findings`.

    Digests of several ranks of a job are compared with each other.

    Raises:
        NothingToCheck: no launch was recorded for checks.
        KvtraceError: the trace cannot be read or written.
    """
    ranks = ranks_parted(selection.trace, selection.runs)
    if ranks is not None and not _launch_count(selection):
        return Checked((), {}, ranks)
    _require_checked_launches(selection)
    kernels = _kernels(selection.trace, selection)
    checks = []
    for run in selection.runs:
        with progress(f"check {run.run_id}") as report:
            ttgir = recorded_ttgir(selection.trace, run)
            checks.append(check_run(selection.trace, run, report, ttgir))
    return Checked(tuple(checks), kernels, ranks)


def _launch_count(selection: Selection) -> int:
    return len(selection.trace.table("checked_launches", selection.runs, ["seq"]))


def _require_checked_launches(selection: Selection) -> None:
    """Raise NothingToCheck before a pass writes tables that say the runs were checked."""
    if _launch_count(selection):
        return
    trace, runs = selection.trace, selection.runs
    if len(runs_without_ir(trace, runs)) == len(runs):
        raise NothingToCheck(
            f"{trace.path} has no TTIR, with which results of launches are compared: kvtrace "
            "records it, and the results, of Triton programs with KVTRACE_CHECK=first"
        )
    raise NothingToCheck(
        f"{trace.path} has no launch recorded for checks; record the program "
        "with KVTRACE_CHECK=first (or sample:N, kernel:GLOB, finite)"
    )


def recorded_ttgir(trace: Trace, run: Run) -> Ttgir:
    """Return a function that returns the recorded TTGIR of the kernel of a call, by call id.

    The function caches its results, and raises Undecided if no TTGIR was recorded.
    """

    @cache
    def kernels() -> dict[int, dict[str, Any]]:
        return kernels_of_calls(trace, run, ["file", "stages", "options"])

    @cache
    def module(digest: str, file: str | None, triton: str | None) -> Module:
        content = trace.artifact(digest)
        if content is None:
            raise Undecided("the file of the kernel's TTGIR is missing from the trace")
        text = content.decode(errors="replace")
        return module_defined_in(generic_ttgir(text, triton), file)

    def ttgir(call_id: int) -> Module:
        kernel = kernels().get(call_id)
        digest = None if kernel is None else stage_artifact(kernel, "ttgir")
        if kernel is None or digest is None:
            raise Undecided("the kernel was recorded without TTGIR")
        return module(digest, kernel["file"], triton_of(kernel, run.versions))

    return ttgir


def _kernels(trace: Trace, selection: Selection) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the kernel's name and options and the grid of each call, by run id and call id."""
    columns = ["name", "num_warps", "num_stages"]
    by_call: dict[tuple[str, int], dict[str, Any]] = {}
    for run in selection.runs:
        kernels = kernels_of_calls(trace, run, columns)
        calls = trace.table("calls", (run,), columns=["call_id", "grid_x", "grid_y", "grid_z"])
        for row in calls.to_pylist():
            by_call[run.run_id, row["call_id"]] = kernels.get(row["call_id"], {}) | row
    return by_call


def check_rows(checked: Checked) -> tuple[CheckRow, ...]:
    """Return a row for each storage of the checked launches of all runs."""
    names = [field.name for field in fields(CheckRow)]
    selected: Iterator[dict[str, Any]]
    selected = ({name: row.get(name) for name in names} for row in _rows_of_runs(checked))
    return tuple(CheckRow(**values) for values in selected)


def _rows_of_runs(checked: Checked) -> Iterator[dict[str, Any]]:
    for run in checked.runs:
        for row in run.rows:
            kernel = _kernel(checked, run, row).get("name")
            yield {"run": run.run, "kernel": kernel, **row} | _stage_fields(run, row)


def check_objects(checked: Checked) -> dict[str, Any]:
    """Return the JSON of `kvtrace check --json`: counts, checks, findings, failures and rules."""
    return {
        "answers": {answer: checked.answers[answer] for answer in _ANSWERS},
        "checks": list(_rows_of_runs(checked)),
        "findings": [
            {"run": run.run, "kernel": _kernel(checked, run, row).get("name"), **row}
            for run in checked.runs
            for row in run.findings
        ],
        "failures": [text for run in checked.runs for text in run.failures],
        "ranks": checked.ranks and checked.ranks.text,
        "rules": RULES,
    }


def check_text(checked: Checked) -> Iterator[str]:
    """Yield the lines that `kvtrace check` prints.

    Differing storages come first, then first NaNs and infinities, then counts of the reasons for
    undecided results, then the number of launches by answer.
    """
    for run in checked.runs:
        for row in run.rows:
            if row["answer"] == "differs":
                yield from _difference_lines(_kernel(checked, run, row), row)
                fault = run.faults.get(row["seq"])
                if fault is not None:
                    yield f"  {fault.text}"
        for finding in run.findings:
            if finding["rule"] == "first-non-finite":
                name = _kernel(checked, run, finding).get("name", "?")
                yield f"not finite  {name}: {finding['message']}"
    reasons = _undecided_reasons(checked.runs)
    if reasons:
        yield "undecided:"
        yield from (f"  {count:,} × {reason}" for reason, count in reasons.most_common(_REASONS))
        if len(reasons) > _REASONS:
            yield f"  and {len(reasons) - _REASONS} more reasons (--json lists all)"
    counts = [
        f"{checked.answers[answer]:,} {_WORDS[answer]}"
        for answer in _ANSWERS
        if checked.answers[answer]
    ]
    if counts or checked.ranks is None:
        yield f"{plural(checked.answers.total(), 'launch')} checked: {', '.join(counts)}"
    if checked.ranks is not None:
        yield checked.ranks.text


def _kernel(checked: Checked, run: RunChecks, row: Mapping[str, Any]) -> Mapping[str, Any]:
    return checked.kernels.get((run.run, row["call_id"]), {})


def _stage_fields(run: RunChecks, row: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the fields `stage` and `stage_reason` of a row; None if no stage was determined."""
    fault = run.faults.get(row["seq"]) if row["answer"] == "differs" else None
    if fault is None:
        return {"stage": None, "stage_reason": None}
    return {"stage": fault.stage, "stage_reason": fault.reason}


def _difference_lines(kernel: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[str]:
    grid = " × ".join(str(kernel.get(f"grid_{axis}")) for axis in "xyz")
    settings = f"num_warps={kernel.get('num_warps')}, num_stages={kernel.get('num_stages')}"
    yield f"differs  {kernel.get('name', '?')} ({settings}), launch {row['seq']}, grid {grid}"
    yield (
        f"  {row['name']} ({row['dtype']}): {row['differing']:,} of {row['elements']:,} elements "
        f"are beyond their bounds: {row.get('pattern')}"
    )
    location = ""
    if row.get("program_x") is not None:
        program = tuple(row[f"program_{axis}"] for axis in "xyz")
        lane = f", lane {tuple(row['lane'])}" if row["lane"] else ""
        location = f" in program {program}{lane}"
    yield (
        f"  the farthest{location}: the device has {row['got']:.9g}, the IR means "
        f"{row['expected']:.9g} within {row['worst_bound']:.3g}"
    )


def _undecided_reasons(runs: Sequence[RunChecks]) -> Counter[str]:
    count_by_reason: Counter[str] = Counter()
    for run in runs:
        count_by_reason.update(run.failures)
        count_by_reason.update(row["reason"] for row in run.rows if row["answer"] == "undecided")
    return count_by_reason
