"""Check every launch of runs that was kept for it, and put what came of it into words."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.check.cases import rerun, write_case
from kvtrace.addons.check.checking import RunChecks, Ttgir, check_run
from kvtrace.addons.check.findings import RULES
from kvtrace.addons.check.kept import checked_launches
from kvtrace.analysis.progress import Shown, unshown
from kvtrace.backends.triton.recorded_ttgir import generic_ttgir
from kvtrace.evaluate.errors import Undecided
from kvtrace.ir import Module
from kvtrace.ir.columns import triton_of
from kvtrace.ir.relocation import module_defined_in
from kvtrace.recorded_calls.recorded import UnreadyCall, stage_artifact
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.trace import Run, Selection, Trace
from kvtrace.text import plural

_ANSWERS: Final = ("agrees", "differs", "not finite", "undecided")
_WORDS: Final = {
    "agrees": "agree with their IR", "differs": "differ from it",
    "not finite": "made the first NaN or infinity", "undecided": "could not be decided",
}  # fmt: skip
_REASONS: Final = 8


class NothingToCheck(KvtraceError):
    """No launch of the runs was kept."""

    slug = "nothing-to-check"


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of the checked launches of several runs."""

    runs: tuple[RunChecks, ...]
    kernels: Mapping[tuple[str, int], Mapping[str, Any]]

    @property
    def answers(self) -> Counter[str]:
        """How many launches had each answer."""
        return sum((each.answers for each in self.runs), Counter())

    @property
    def failed(self) -> bool:
        """Whether anything is wrong."""
        return bool(self.answers["differs"] or self.answers["not finite"])


@dataclass(frozen=True, slots=True)
class CheckRow:
    """What came of one storage of a checked launch; see the table `checks`.

    `stage` is the stage of the compiler at fault, where it differs: `ttgir` (the passes that make
    it), `behind ttgir`, `descriptor stores` (none: the target's go past extents) or `unknown`;
    `stage_reason` says why.
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


@dataclass(frozen=True, slots=True)
class Case:
    """A launch that differs, as a script; None: it cannot be one, which `problem` says."""

    name: str
    seq: int
    script: Path | None
    kernel: Mapping[str, Any]
    problem: str = ""


def check_runs(selection: Selection, shown: Shown = unshown) -> Checked:
    """Check the launches of runs, and fill the tables `checks` and `findings`.

    Raises:
        NothingToCheck: no launch was kept.
        KvtraceError: the trace cannot be read or written.

    """
    kernels = _kernels(selection.trace, selection)
    found = []
    for run in selection.runs:
        with shown(f"check {run.run_id}") as progress:
            ttgir = recorded_ttgir(selection.trace, run)
            found.append(check_run(selection.trace, run, progress, ttgir))
    if not any(each.answers for each in found):
        raise NothingToCheck(
            f"{selection.trace.path} has no launch that was kept to be checked; record the program "
            "with KVTRACE_CHECK=first (or sample:N, kernel:GLOB, finite)"
        )
    return Checked(tuple(found), kernels)


def recorded_ttgir(trace: Trace, run: Run) -> Ttgir:
    """Return what gives the TTGIR that was recorded with a call's kernel, each read once."""

    @cache
    def rows() -> dict[int, dict[str, Any]]:
        kernels = trace.table("kernels", (run,), columns=["kernel_id", "file", "stages", "options"])
        by_id = {row["kernel_id"]: row for row in kernels.to_pylist()}
        calls = trace.table("calls", (run,), columns=["call_id", "kernel_id"]).to_pylist()
        return {
            row["call_id"]: by_id[row["kernel_id"]] for row in calls if row["kernel_id"] in by_id
        }

    @cache
    def module(digest: str, file: str | None, triton: str | None) -> Module:
        content = trace.artifact(digest)
        if content is None:
            raise Undecided("the trace has lost its kernel's TTGIR")
        text = content.decode(errors="replace")
        return module_defined_in(generic_ttgir(text, triton), file)

    def ttgir(call_id: int) -> Module:
        kernel = rows().get(call_id)
        digest = None if kernel is None else stage_artifact(kernel, "ttgir")
        if kernel is None or digest is None:
            raise Undecided("its kernel was recorded without TTGIR")
        return module(digest, kernel["file"], triton_of(kernel, run.versions))

    return ttgir


def _kernels(trace: Trace, selection: Selection) -> dict[tuple[str, int], dict[str, Any]]:
    """Return, by run and call, what is known about its kernel."""
    columns = ["kernel_id", "name", "num_warps", "num_stages"]
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for run in selection.runs:
        kernels = {
            row["kernel_id"]: row
            for row in trace.table("kernels", (run,), columns=columns).to_pylist()
        }
        calls = trace.table(
            "calls", (run,), columns=["call_id", "kernel_id", "grid_x", "grid_y", "grid_z"]
        )
        for row in calls.to_pylist():
            found[run.run_id, row["call_id"]] = kernels.get(row["kernel_id"], {}) | row
    return found


def write_cases(selection: Selection, checked: Checked, folder: Path) -> Iterator[Case]:
    """Write each launch that differs into a separate folder, with a script that asserts it."""
    for run, found in zip(selection.runs, checked.runs, strict=True):
        wrong = {row["seq"] for row in found.rows if row["answer"] == "differs"}
        for launch in checked_launches(selection.trace, run) if wrong else ():
            if isinstance(launch, UnreadyCall) or launch.seq not in wrong:
                continue
            kernel = checked.kernels.get((run.run_id, launch.call_id), {})
            name = "".join(c if c.isalnum() or c in "_-" else "_" for c in launch.kernel)
            place = folder / f"launch-{launch.seq}-{name}"
            try:
                script = write_case(selection.trace, run, launch, place)
            except Undecided as error:
                yield Case(launch.kernel, launch.seq, None, kernel, str(error))
            else:
                yield Case(launch.kernel, launch.seq, script, kernel)


def rerun_text(case: Case) -> Iterator[str]:
    """Run a case with other numbers of warps and stages; say which of them agree.

    Raises:
        NothingToCheck: there is no GPU here.

    """
    import torch  # for its GPU; the case itself runs in separate processes

    if not torch.cuda.is_available():
        raise NothingToCheck(
            "--rerun launches kernels, and there is no GPU here; take the folder of --cases to a "
            "machine with one, and run check.py there"
        )
    if case.script is None:
        yield f"  launch {case.seq} of {case.name} cannot be run again: {case.problem}"
        return
    yield f"launch {case.seq} of {case.name}, compiled again from its TTIR:"
    warps, stages = case.kernel.get("num_warps") or 4, case.kernel.get("num_stages") or 2
    for came in rerun(case.script, warps, stages):
        said = (
            came.problem
            if came.differing is None
            else (f"differs in {plural(came.differing, 'element')}" if came.differing else "agrees")
        )
        yield f"  num_warps={came.num_warps}, num_stages={came.num_stages}: {said}"


def check_rows(checked: Checked) -> tuple[CheckRow, ...]:
    """Return the rows of the table `checks`, without its places and maps."""
    names = [each.name for each in fields(CheckRow) if each.name != "kernel"]
    found: list[CheckRow] = []
    for each in checked.runs:
        for row in each.rows:
            held: dict[str, Any] = {name: row.get(name) for name in names} | _stage(each, row)
            found.append(CheckRow(kernel=_kernel(checked, each, row).get("name"), **held))
    return tuple(found)


def check_objects(checked: Checked) -> dict[str, Any]:
    """Return what the command prints as JSON."""
    return {
        "answers": {answer: checked.answers[answer] for answer in _ANSWERS},
        "checks": [
            {"run": each.run, "kernel": _kernel(checked, each, row).get("name"), **row}
            | _stage(each, row)
            for each in checked.runs
            for row in each.rows
        ],
        "findings": [
            {"run": each.run, "kernel": _kernel(checked, each, row).get("name"), **row}
            for each in checked.runs
            for row in each.findings
        ],
        "failures": [text for each in checked.runs for text in each.failures],
        "rules": RULES,
    }


def check_text(checked: Checked) -> Iterator[str]:
    """Put it into lines: what is wrong first, then what could not be decided, then all counted."""
    for each in checked.runs:
        for row in each.rows:
            if row["answer"] == "differs":
                yield from _difference(_kernel(checked, each, row), row)
                fault = each.faults.get(row["seq"])
                if fault is not None:
                    yield f"  {fault.text}"
        for finding in each.findings:
            if finding["rule"] == "first-non-finite":
                name = _kernel(checked, each, finding).get("name", "?")
                yield f"not finite  {name}: {finding['message']}"
    reasons = _reasons(checked.runs)
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
    yield f"{plural(checked.answers.total(), 'launch')} checked: {', '.join(counts)}"


def _kernel(checked: Checked, run: RunChecks, row: Mapping[str, Any]) -> Mapping[str, Any]:
    return checked.kernels.get((run.run, row["call_id"]), {})


def _stage(run: RunChecks, row: Mapping[str, Any]) -> dict[str, str | None]:
    """Return which stage is at fault, where a storage differs and that was asked."""
    fault = run.faults.get(row["seq"]) if row["answer"] == "differs" else None
    if fault is None:
        return {"stage": None, "stage_reason": None}
    return {"stage": fault.stage, "stage_reason": fault.reason}


def _difference(kernel: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[str]:
    grid = " × ".join(str(kernel.get(f"grid_{axis}")) for axis in "xyz")
    settings = f"num_warps={kernel.get('num_warps')}, num_stages={kernel.get('num_stages')}"
    yield f"differs  {kernel.get('name', '?')} ({settings}), launch {row['seq']}, grid {grid}"
    yield (
        f"  {row['name']} ({row['dtype']}): {row['differing']:,} of {row['elements']:,} elements "
        f"are beyond their bounds: {row.get('pattern')}"
    )
    place = ""
    if row.get("program_x") is not None:
        program = tuple(row[f"program_{axis}"] for axis in "xyz")
        place = f" in program {program}, lane {tuple(row['lane'])}"
    yield (
        f"  the farthest{place}: the device has {row['got']:.9g}, the IR means "
        f"{row['expected']:.9g} within {row['worst_bound']:.3g}"
    )


def _reasons(runs: Sequence[RunChecks]) -> Counter[str]:
    found: Counter[str] = Counter()
    for each in runs:
        found.update(each.failures)
        found.update(row["reason"] for row in each.rows if row["answer"] == "undecided")
    return found
