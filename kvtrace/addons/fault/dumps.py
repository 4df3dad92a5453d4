"""Faults of a trace: its processes' dumps and stacks, explained."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from kvtrace.addons.fault.dump.reading import UnreadableDump, read_dump
from kvtrace.addons.fault.explaining import faults_of
from kvtrace.addons.fault.ranks import ranks_text
from kvtrace.addons.fault.stacks import STACKS
from kvtrace.addons.fault.starting import FOLDER, SUFFIX
from kvtrace.addons.fault.texts import ShownFault, process_text, shown_faults
from kvtrace.addons.fault.threads import NOT_ASKED, Process, UnreadableStacks, read_answer
from kvtrace.converters.source_lines import SourceLines
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.errors import EmptyTrace
from kvtrace.schema.trace import select_runs
from kvtrace.schema.without_ir import runs_without_ir

if TYPE_CHECKING:
    from kvtrace.addons.fault.asking import Answer
    from kvtrace.addons.fault.dump.reading import Dump
    from kvtrace.addons.fault.explaining import Fault
    from kvtrace.schema.trace import Run, Trace

#: Of a trace: what can be had on AMD's GPUs (https://rocm.docs.amd.com/projects/rocr_debug_agent).
_OF_AMD: Final = (
    "No GPU fault can be named: {} was recorded on an AMD GPU, which leaves no dump that kvtrace "
    "reads; kvtrace sanitize {} judges the recorded calls, and ROCm's debug agent prints the waves "
    "of a kernel that fails (HSA_ENABLE_DEBUG=1 HSA_TOOLS_LIB=librocm-debug-agent.so.2)."
)


@dataclass(frozen=True, slots=True)
class Explained:
    """Processes, the newest dump first, and the trace with the calls behind their kernels.

    `path` is the trace, or the file of a dump without one.
    """

    processes: tuple[Process, ...]
    trace: Trace | None
    runs: tuple[Run, ...]
    path: Path

    @property
    def dumps(self) -> tuple[tuple[Dump, Sequence[Fault]], ...]:
        """Dumps with their faults, the newest first."""
        return tuple((one.dump, one.faults) for one in self.processes if one.dump is not None)

    def shown(self, *, source: bool = True) -> Iterator[ShownFault]:
        """Yield what is said of each kernel in the dumps.

        Without `source`, lines of the program are left out.
        """
        lines = self._lines() if source else None
        for process in self.processes:
            yield from shown_faults(process, lines, self.path)

    def text(self) -> Iterator[str]:
        """Yield the lines on all processes, of several that hang first a table."""
        lines = self._lines()
        hanging = [process for process in self.processes if process.was_asked]
        parts: list[Iterable[str]] = [ranks_text(hanging)] if len(hanging) > 1 else []
        parts += [process_text(process, lines, self.path) for process in self.processes]
        for number, part in enumerate(parts or [(self._nothing(),)]):
            if number:
                yield ""
            yield from part

    def dump_text(self) -> Iterator[str]:
        """Yield the lines on what dumps tell of processes whose Python threads were shown."""
        lines = self._lines()
        hanging = [process for process in self.processes if process.was_asked]
        if len(hanging) > 1 and self.dumps:
            yield from ranks_text(hanging)
            yield ""
        for process in self.processes:
            if process.dump is not None or process.notes:
                yield from process_text(_without_threads(process), lines, self.path)

    def _lines(self) -> SourceLines | None:
        if self.trace is None or not self.dumps:
            return None
        return SourceLines(self.trace, self.runs)

    def _nothing(self) -> str:
        trace = self.trace
        if trace is not None and any(_is_of_amd(trace, run) for run in self.runs):
            return _OF_AMD.format(self.path, shlex.quote(str(self.path)))
        if trace is not None and len(runs_without_ir(trace, self.runs)) == len(self.runs):
            return (
                f"No GPU fault is known of {self.path}: what recorded it records no faults. "
                "kvtrace records them with KVTRACE_FAULTS=on."
            )
        return (
            f"No GPU fault: {self.path / FOLDER} has no dump. A program that is recorded with "
            "KVTRACE_FAULTS=on leaves one when a kernel fails."
        )


def _without_threads(process: Process) -> Process:
    return replace(process, answer=replace(process.answer, threads=()))


def _is_of_amd(trace: Trace, run: Run) -> bool:
    targets = pc.unique(without_dictionary(trace.table("kernels", (run,), ["target"])["target"]))
    return any((target or "").startswith("hip:") for target in targets.to_pylist())


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
    trace: Trace | None = None
    runs: Sequence[Run] = ()
    try:
        selection = select_runs(path, run)
    except EmptyTrace:
        if asked is None:
            raise
        files = _by_process(path / FOLDER, SUFFIX)
    else:
        trace, path = selection.trace, selection.trace.path
        # A process that died may be of another group than the newest one.
        runs = selection.runs if run is not None else trace.runs
        own = dumps_of(trace, runs) if file is None else (file,)  # others are of other processes
        files = {_process_name(one): one for one in own}
    stacks = {} if newest else _by_process(path / FOLDER, STACKS)
    notes: dict[str, Sequence[str]] = {}
    if asked is not None:
        files = {name: files[name] for name, answer in asked.items() if answer.has_dump}
        notes = {name: answer.notes for name, answer in asked.items()}
    if newest:
        names = list(files)[:1]
    elif asked is not None:
        names = list(asked)
    else:
        names = list(dict.fromkeys((*files, *(stacks if file is None else ()))))
    processes = [
        _explained_process(
            name, files.get(name), stacks.get(name), trace, runs, notes.get(name, ())
        )
        for name in names
    ]
    return Explained(_without_launchers(processes), trace, tuple(runs), path)


def _without_launchers(processes: Sequence[Process]) -> tuple[Process, ...]:
    """Return processes without those that only wait for ranks, as torch.distributed.run does."""
    ranks = [process for process in processes if process.rank is not None]
    return tuple(
        process
        for process in processes
        if not ranks or process.rank is not None or process.run or process.dump
    )


def _explained_process(
    name: str,
    file: Path | None,
    stacks: Path | None,
    trace: Trace | None,
    runs: Sequence[Run],
    notes: Sequence[str] = (),
) -> Process:
    """Read a process's dump and its stacks, if it has them."""
    of_process = _of_process(name, runs)
    dump = None if file is None else read_dump(file)
    faults = () if dump is None else faults_of(dump, trace, of_process or runs)
    run = of_process[-1] if of_process else None
    answer = NOT_ASKED if stacks is None else read_answer(stacks)
    return Process(name, run, dump, faults, answer, notes)


def dumps_of(trace: Trace, runs: Sequence[Run]) -> Sequence[Path]:
    """Return a trace's dumps that some of its runs may have left, the newest first.

    Those are dumps of the runs' processes, and dumps whose names tell no process of the trace.
    """
    files = _by_process(trace.path / FOLDER, SUFFIX)
    return [
        file
        for name, file in files.items()
        if _of_process(name, runs) or not _of_process(name, trace.runs)
    ]


def explained_runs(
    trace: Trace, runs: Sequence[Run], files: Sequence[Path]
) -> tuple[Explained, tuple[str, ...]]:
    """Return the faults of some runs in dumps, and a sentence on each file that cannot be read.

    Faults that were found in other runs of the trace are left out.
    """
    run_ids = {run.run_id for run in runs}
    stacks = _by_process(trace.path / FOLDER, STACKS)
    processes, problems = [], []
    for file in files:
        name = _process_name(file)
        try:
            process = _explained_process(name, file, stacks.get(name), trace, trace.runs)
        except (UnreadableDump, UnreadableStacks) as error:
            problems.append(str(error))
            continue
        own = [one for one in process.faults if one.run_id is None or one.run_id in run_ids]
        processes.append(replace(process, faults=own))
    return Explained(tuple(processes), trace, tuple(runs), trace.path), tuple(problems)


def _process_name(file: Path) -> str:
    """Return the process that a file's name tells, `HOST.PID`."""
    return file.name.removesuffix(SUFFIX).removesuffix(STACKS)


def _of_process(name: str, runs: Sequence[Run]) -> Sequence[Run]:
    """Return the runs of a process; empty: its name tells none of theirs.

    Ranks launch the same kernels with the same scalars: only the process tells their runs apart.
    """
    process = name.rpartition(".")[2]
    return [run for run in runs if str(run.pid) == process]


def _by_process(folder: Path, suffix: str) -> Mapping[str, Path]:
    """Return the files with a suffix by their process, the newest first."""
    files = folder.glob(f"*{suffix}") if folder.is_dir() else ()
    newest = sorted(files, key=lambda file: file.stat().st_mtime_ns, reverse=True)
    return {_process_name(file): file for file in newest}
