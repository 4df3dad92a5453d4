"""Processes of a trace: their GPU dumps, read and explained, and their Python stacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kvtrace.addons.fault.dump.reading import read_dump
from kvtrace.addons.fault.explaining import faults_of
from kvtrace.addons.fault.processes import Process
from kvtrace.addons.fault.ranks import ranks_text
from kvtrace.addons.fault.stacks import STACKS
from kvtrace.addons.fault.starting import FOLDER, SUFFIX
from kvtrace.addons.fault.texts import process_text
from kvtrace.addons.fault.threads import read_threads
from kvtrace.converters.source_lines import SourceLines
from kvtrace.schema.trace import select_runs

if TYPE_CHECKING:
    from kvtrace.addons.fault.asking import Answer
    from kvtrace.addons.fault.dump.reading import Dump
    from kvtrace.addons.fault.explaining import Fault
    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class Explained:
    """Processes, the newest dump first, and the trace with the calls behind their kernels."""

    processes: tuple[Process, ...]
    trace: Trace | None
    runs: tuple[Run, ...]
    folder: Path

    @property
    def dumps(self) -> tuple[tuple[Dump, Sequence[Fault]], ...]:
        """Dumps with their faults, the newest first."""
        return tuple((one.dump, one.faults) for one in self.processes if one.dump is not None)

    def text(self) -> Iterator[str]:
        """Yield the lines on all processes: of several that hang, first a table."""
        if not self.processes:
            yield (
                f"No GPU fault: {self.folder} has no dump. A program that is recorded with "
                "KVTRACE_FAULTS=on leaves one when a kernel fails."
            )
        lines = None if self.trace is None else SourceLines(self.trace, self.runs)
        hanging = [process for process in self.processes if process.was_asked]
        if len(hanging) > 1:
            yield from ranks_text(hanging)
            yield ""
        for number, process in enumerate(self.processes):
            if number:
                yield ""
            yield from process_text(process, lines)


def explained(
    path: Path,
    run: str | None,
    file: Path | None,
    *,
    newest: bool = False,
    asked: Mapping[str, Answer] | None = None,
) -> Explained:
    """Read the dumps and stacks of a trace, or one dump, and explain them.

    Args:
        path: a trace, or a dump without a trace.
        run: a run of the trace, as `--run` names it; None: all runs.
        file: a dump to read in place of the trace's own.
        newest: read only the newest dump.
        asked: what came of processes that were asked now: read only that.

    Raises:
        UnreadableDump: a dump is none, or damaged.
        UnreadableStacks: a file of stacks is damaged.
        TraceNotFound, EmptyTrace, UnknownRun, NewerFormat, DamagedFile: See `kvtrace.schema.trace`.
    """
    if path.is_file():
        dump = read_dump(path)
        alone = Process(path.name, None, dump, faults_of(dump, None, ()))
        return Explained((alone,), None, (), path)
    folder = path / FOLDER
    selection = select_runs(path, run)
    trace = selection.trace
    # A process that died may be of another group than the newest one.
    runs = selection.runs if run is not None else trace.runs
    if file is not None:
        files = {file.name.removesuffix(SUFFIX): file}
    else:
        files = {one.name.removesuffix(SUFFIX): one for one in _newest_first(folder, SUFFIX)}
    stacks = {one.name.removesuffix(STACKS): one for one in _newest_first(folder, STACKS)}
    names = list(dict.fromkeys((*files, *(() if file is not None else stacks))))
    if asked is not None:
        names = list(asked)
        files = {name: files[name] for name, answer in asked.items() if answer.has_dump}
    if newest:
        names = list(files)[:1]
    processes = []
    for name in names:
        of_process = _of_process(name, runs)
        dumped = read_dump(files[name]) if name in files else None
        is_asked = name in stacks and not newest
        time, threads = read_threads(stacks[name]) if is_asked else (None, ())
        processes.append(
            Process(
                name,
                of_process[-1] if of_process else None,
                dumped,
                () if dumped is None else faults_of(dumped, trace, of_process or runs),
                threads,
                time,
                () if asked is None else asked[name].notes,
            )
        )
    return Explained(tuple(processes), trace, tuple(runs), folder)


def _of_process(name: str, runs: Sequence[Run]) -> Sequence[Run]:
    """Return the runs of the process that a file's name tells.

    Ranks launch the same kernels with the same scalars: only the process tells their runs apart.
    """
    process = name.rpartition(".")[2]
    return [run for run in runs if str(run.pid) == process]


def _newest_first(folder: Path, suffix: str) -> Sequence[Path]:
    files = folder.glob(f"*{suffix}") if folder.is_dir() else ()
    return sorted(files, key=lambda file: file.stat().st_mtime_ns, reverse=True)
