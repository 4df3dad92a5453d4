"""Faults of a trace: its dumps, read and explained, and the first NaN of its runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from kvtrace.addons.fault.dump.reading import Dump, UnreadableDump, read_dump
from kvtrace.addons.fault.explaining import Fault, faults_of
from kvtrace.addons.fault.non_finite import NonFinite, first_non_finite
from kvtrace.addons.fault.starting import FOLDER, SUFFIX
from kvtrace.addons.fault.texts import ShownFault, shown_fault
from kvtrace.converters.source_lines import SourceLines
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.trace import select_runs

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Of a trace: what can be had on AMD's GPUs (https://rocm.docs.amd.com/projects/rocr_debug_agent).
_OF_AMD: Final = (
    "No GPU fault can be named: {} was recorded on an AMD GPU, which leaves no dump that kvtrace "
    "reads; kvtrace sanitize {} judges the recorded calls, and ROCm's debug agent prints the waves "
    "of a kernel that fails (HSA_ENABLE_DEBUG=1 HSA_TOOLS_LIB=librocm-debug-agent.so.2)."
)


@dataclass(frozen=True, slots=True)
class Explained:
    """Dumps with their faults, the newest first, and the trace with the calls behind them.

    `non_finite` has the first NaN or infinity of each run. `path` is the trace, or the file of a
    dump without one.
    """

    dumps: tuple[tuple[Dump, list[Fault]], ...]
    non_finite: tuple[NonFinite, ...]
    trace: Trace | None
    runs: tuple[Run, ...]
    path: Path

    def shown(self, *, source: bool = True) -> Iterator[ShownFault]:
        """Yield what is said of each fault, then of each first NaN.

        Without `source`, lines of the program are left out.
        """
        has_source = source and self.trace is not None and bool(self.dumps)
        lines = SourceLines(self.trace, self.runs) if has_source and self.trace else None
        for dump, faults in self.dumps:
            for fault in faults:
                yield shown_fault(dump, fault, lines, self.path)
        for launch in self.non_finite:
            yield launch.shown(self.path)

    def text(self) -> Iterator[str]:
        """Yield the lines on all faults."""
        shown = list(self.shown())
        for number, fault in enumerate(shown):
            if number:
                yield ""
            yield from fault.text()
        if any(not faults for _, faults in self.dumps):
            yield "No kernel was on the device when the dump was written."
        elif not shown:
            yield self._nothing()

    def _nothing(self) -> str:
        trace = self.trace
        if trace is not None and any(_is_of_amd(trace, run) for run in self.runs):
            return _OF_AMD.format(self.path, shlex.quote(str(self.path)))
        return (
            f"No GPU fault: {self.path / FOLDER} has no dump. A program that is recorded with "
            "KVTRACE_FAULTS=on leaves one when a kernel fails."
        )


def _is_of_amd(trace: Trace, run: Run) -> bool:
    targets = pc.unique(without_dictionary(trace.table("kernels", (run,), ["target"])["target"]))
    return any((target or "").startswith("hip:") for target in targets.to_pylist())


def explained(path: Path, run: str | None, file: Path | None, *, newest: bool = False) -> Explained:
    """Read the dumps of a trace, or one file, and explain them.

    Args:
        path: a trace, or a dump without a trace.
        run: a run of the trace, as `--run` names it; None: all runs.
        file: a dump to read in place of the trace's own.
        newest: read only the newest dump.

    Raises:
        UnreadableDump: a file is no dump, or damaged.
        TraceNotFound, EmptyTrace, UnknownRun, NewerFormat, DamagedFile: See `kvtrace.schema.trace`.
    """
    if path.is_file():
        dump = read_dump(path)
        return Explained(((dump, faults_of(dump, None, ())),), (), None, (), path)
    selection = select_runs(path, run)
    folder = selection.trace.path / FOLDER
    files = [file] if file is not None else _newest_first(folder)
    # A process that died may be of another group than the newest one.
    runs = selection.runs if run is not None else selection.trace.runs
    found = tuple(
        (dump, faults_of(dump, selection.trace, _of_process(one, runs)))
        for one in (files[:1] if newest else files)
        for dump in (read_dump(one),)
    )
    first = tuple(first_non_finite(selection.trace, runs))
    return Explained(found, first, selection.trace, tuple(runs), selection.trace.path)


def dumps_of(trace: Trace, runs: Sequence[Run]) -> Sequence[Path]:
    """Return a trace's dumps that some of its runs may have left, the newest first.

    Those are dumps of the runs' processes, and dumps whose names tell no process of the trace.
    """
    files = _newest_first(trace.path / FOLDER)
    others = {str(run.pid) for run in trace.runs} if files else set()
    own = {str(run.pid) for run in runs}
    return [file for file in files if _process(file) in own or _process(file) not in others]


def explained_runs(
    trace: Trace, runs: Sequence[Run], files: Sequence[Path]
) -> tuple[Explained, tuple[str, ...]]:
    """Return the faults of some runs in dumps, and a sentence on each dump that cannot be read.

    Faults that were found in other runs of the trace are left out.
    """
    run_ids = {run.run_id for run in runs}
    dumps, problems = [], []
    for file in files:
        try:
            dump = read_dump(file)
        except UnreadableDump as error:
            problems.append(str(error))
            continue
        faults = faults_of(dump, trace, _of_process(file, trace.runs))
        own = [fault for fault in faults if fault.run_id is None or fault.run_id in run_ids]
        dumps.append((dump, own))
    first = tuple(first_non_finite(trace, runs))
    return Explained(tuple(dumps), first, trace, tuple(runs), trace.path), tuple(problems)


def _process(file: Path) -> str:
    """Return the number of the process that a dump's name tells."""
    return file.name.removesuffix(SUFFIX).rpartition(".")[2]


def _of_process(file: Path, runs: Sequence[Run]) -> Sequence[Run]:
    """Return the runs of the process that a dump's name tells; all runs if none is of it.

    Ranks launch the same kernels with the same scalars: only the process tells their runs apart.
    """
    return [run for run in runs if str(run.pid) == _process(file)] or runs


def _newest_first(folder: Path) -> Sequence[Path]:
    files = folder.glob(f"*{SUFFIX}") if folder.is_dir() else ()
    return sorted(files, key=lambda file: file.stat().st_mtime_ns, reverse=True)
