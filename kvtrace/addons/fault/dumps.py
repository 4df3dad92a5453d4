"""Dumps of a trace, read and explained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kvtrace.addons.fault.dump.reading import Dump, read_dump
from kvtrace.addons.fault.explaining import Fault, faults_of
from kvtrace.addons.fault.starting import FOLDER, SUFFIX
from kvtrace.addons.fault.texts import fault_text
from kvtrace.converters.source_lines import SourceLines
from kvtrace.schema.trace import select_runs

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class Explained:
    """Dumps with their faults, the newest first, and the trace with the calls behind them."""

    dumps: tuple[tuple[Dump, list[Fault]], ...]
    trace: Trace | None
    runs: tuple[Run, ...]
    folder: Path

    def text(self) -> Iterator[str]:
        """Yield the lines on all dumps."""
        if not self.dumps:
            yield (
                f"No GPU fault: {self.folder} has no dump. A program that is recorded with "
                "KVTRACE_FAULTS=on leaves one when a kernel fails."
            )
        lines = None if self.trace is None else SourceLines(self.trace, self.runs)
        for number, (dump, faults) in enumerate(self.dumps):
            if number:
                yield ""
            if not faults:
                yield "No kernel was on the device when the dump was written."
            for fault in faults:
                yield from fault_text(dump, fault, lines)


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
        return Explained(((dump, faults_of(dump, None, ())),), None, (), path)
    folder = path / FOLDER
    files = [file] if file is not None else _newest_first(folder)
    selection = select_runs(path, run)
    # A process that died may be of another group than the newest one.
    runs = selection.runs if run is not None else selection.trace.runs
    found = tuple(
        (dump, faults_of(dump, selection.trace, _of_process(one, runs)))
        for one in (files[:1] if newest else files)
        for dump in (read_dump(one),)
    )
    return Explained(found, selection.trace, tuple(runs), folder)


def _of_process(file: Path, runs: Sequence[Run]) -> Sequence[Run]:
    """Return the runs of the process that a dump's name tells; all runs if none is of it.

    Ranks launch the same kernels with the same scalars: only the process tells their runs apart.
    """
    process = file.name.removesuffix(SUFFIX).rpartition(".")[2]
    return [run for run in runs if str(run.pid) == process] or runs


def _newest_first(folder: Path) -> Sequence[Path]:
    files = folder.glob(f"*{SUFFIX}") if folder.is_dir() else ()
    return sorted(files, key=lambda file: file.stat().st_mtime_ns, reverse=True)
