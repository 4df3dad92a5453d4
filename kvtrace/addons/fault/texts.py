"""Faults as lines of text, and as objects for JSON."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.fault.dump.exceptions import Subject
from kvtrace.addons.fault.dump.reading import Dump
from kvtrace.addons.fault.explaining import BARRIER, Fault
from kvtrace.addons.fault.matching import Argument
from kvtrace.addons.fault.places import short_path
from kvtrace.addons.fault.threads import Process, PythonFrame, PythonThread
from kvtrace.converters.findings.findings_text import source_excerpt
from kvtrace.converters.source_lines import SourceLines
from kvtrace.text import plural

_VERBS: Final = {"load": "reads", "store": "writes", "atomic": "updates"}
_NS: Final = 1_000_000_000
#: Frames of a thread, and threads of a process, that are shown.
_MOST_FRAMES: Final = 4
_MOST_THREADS: Final = 8
_INSTALLED: Final = re.compile(r"^.*/(?:site-packages|dist-packages|lib/python3\.\d+)/")


@dataclass(frozen=True, slots=True)
class ShownFault:
    """Texts about a fault, in the terminal and on the report's first screen."""

    headline: str
    excerpt: tuple[str, ...]
    """Lines of the source, with a caret below the place."""
    facts: tuple[tuple[str, str], ...]
    """Labels and sentences."""
    commands: tuple[str, ...]
    """Commands that show more, one after the other."""
    run: str | None
    call: int | None
    """The call's id in its run."""
    process: str = ""
    """The process that was asked, with its rank and when; only of its first fault."""

    def text(self) -> Iterator[str]:
        """Yield the lines for a terminal."""
        if self.process:
            yield self.process
        yield self.headline
        yield from self.excerpt
        for label, sentence in (*self.facts, *(("run", command) for command in self.commands)):
            yield _fact_line(label, sentence)


def process_text(process: Process, lines: SourceLines | None, folder: Path) -> Iterator[str]:
    """Yield the lines on one process: kernels on its GPU, Python threads, and what is missing.

    `lines` and `folder` are those of `shown_faults`.
    """
    for fault in shown_faults(process, lines, folder):
        yield from fault.text()
    if process.faults:
        return
    if process.was_asked:
        yield _process_line(process)
    if process.dump is not None:
        yield "No kernel was on the device when the dump was written."
    for label, sentence in _process_facts(process):
        yield _fact_line(label, sentence)


def _fact_line(label: str, sentence: str) -> str:
    return f"  {label:<9} {sentence}"


def shown_faults(process: Process, lines: SourceLines | None, folder: Path) -> Iterator[ShownFault]:
    """Yield what is said of each kernel of a process.

    The first one names the process, if it was asked, and the last has its Python stacks.

    Args:
        process: the process.
        lines: source lines of the trace; None: there is no trace, or no source is to be shown.
        folder: the trace, for commands.
    """
    if process.dump is None or not process.faults:
        return
    shown = [shown_fault(process.dump, fault, lines, folder) for fault in process.faults]
    if process.was_asked:
        shown[0] = replace(shown[0], process=_process_line(process))
        shown[-1] = replace(shown[-1], facts=(*shown[-1].facts, *_process_facts(process)))
    yield from shown


def _process_line(process: Process) -> str:
    rank = "" if process.rank is None else f"rank {process.rank}, "
    time = process.answer.time
    asked = "" if time is None else f", asked at {_time_text(time)} UTC"
    return f"{rank}process {process.name}{asked}"


def _process_facts(process: Process) -> Iterator[tuple[str, str]]:
    """Yield labels and sentences on Python threads, and on what did not come."""
    threads = process.answer.threads
    for thread in threads[:_MOST_THREADS]:
        for sentence in _thread_sentences(thread):
            yield "python", sentence
    if len(threads) > _MOST_THREADS:
        yield "python", plural(len(threads) - _MOST_THREADS, "more thread")
    for note in process.notes:
        yield "note", note


def _thread_sentences(thread: PythonThread) -> Iterator[str]:
    name = "" if thread.is_main else f"thread {thread.name or 'without a name'}: "
    inner, *callers = thread.own[:_MOST_FRAMES]
    waits_in = thread.waits_in
    library = "" if waits_in is None or waits_in == inner else f", in {_frame_text(waits_in)}"
    yield f"{name}{_frame_text(inner)}{library}"
    for frame in callers:
        yield f"called at {_frame_text(frame)}"


def _frame_text(frame: PythonFrame) -> str:
    """Return a frame as `step, train.py:42`; the file of a package begins with the package."""
    file = frame.file if frame.is_own else _INSTALLED.sub("", frame.file)
    return f"{frame.function}, {short_path(file)}:{frame.line}"


def shown_fault(dump: Dump, fault: Fault, lines: SourceLines | None, folder: Path) -> ShownFault:
    """Return what is said of a fault: what failed, where, which launch and argument, why.

    Args:
        dump: the dump with the fault.
        fault: the fault.
        lines: source lines of the trace; None: there is no trace, or no source is to be shown.
        folder: the trace, for commands.
    """
    what = fault.exception or "on the device when the dump was written"
    name = fault.kernel or "a kernel whose module is not in the dump"
    excerpt: tuple[str, ...] = ()
    if fault.place is not None and lines is not None:
        file, column = fault.place.file, fault.place.column
        excerpt = tuple(
            source_excerpt(lambda line: lines.text(file, line), fault.place.line, column)
        )
    return ShownFault(
        headline=f"{_place_text(fault)}: {what}, in kernel {name}",
        excerpt=excerpt,
        facts=tuple(_facts(dump, fault)),
        commands=tuple(_commands(fault, folder)),
        run=fault.run_id,
        call=None if fault.match is None else fault.match.call["call_id"],
    )


def _commands(fault: Fault, folder: Path) -> Iterator[str]:
    """Yield the command that writes a script of the call, and what checks the script."""
    if fault.match is None:
        return
    run = shlex.quote(f"{folder}/{fault.run_id}")
    yield f"kvtrace repro {run} --call {fault.match.call['call_id']}"
    if fault.kind is not None and fault.kind.subject in (Subject.ADDRESS, Subject.ALIGNMENT):
        yield "compute-sanitizer python repro.py"
    elif fault.waits_for == BARRIER:
        yield "compute-sanitizer --tool synccheck python repro.py"


def _place_text(fault: Fault) -> str:
    place = fault.place
    if place is None:
        return "line not known"
    column = "" if place.column is None else f":{place.column}"
    return f"{short_path(place.file)}:{place.line}{column}"


def _facts(dump: Dump, fault: Fault) -> Iterator[tuple[str, str]]:
    grid, warp, thread = fault.grid, fault.warp, fault.thread
    if not any(grid.size):
        yield "program", "not known: its warps had ended when the dump was written"
    elif warp is not None:
        threads = "" if thread is None else f", thread {thread.index[0]}"
        count = len({one.block for one in grid.failed})
        more = f" (and {plural(count - 1, 'program')} more)" if count > 1 else ""
        yield "program", f"{warp.block} of {grid.size}{threads}{more}"
    for line, column in () if fault.place is None else fault.place.callers:
        yield "called at", f"line {line}, column {column}"
    if fault.address is not None:
        verb = _VERBS.get(fault.effect or "", "accesses")
        yield "address", f"{verb} {fault.address:#x}, by the registers"
    elif fault.exception and fault.effect:
        yield "address", "not known: the instructions since have overwritten its registers"
    yield "launch", _launch_text(fault)
    if fault.argument is not None:
        yield "argument", _argument_text(fault.argument)
    for cause in fault.causes:
        yield "why", cause
    if fault.waits_for:
        yield "waits for", fault.waits_for
    for group in fault.elsewhere:
        yield "also", group
    if fault.advice:
        yield "try", fault.advice
    if fault.advice and fault.match is not None and fault.index_arguments:
        names = ", ".join(fault.index_arguments)
        yield "note", f"repro has {names} as recorded, which may be from before the fault"
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(dump.time)) if dump.time else "?"
    devices = ", ".join(dump.devices)
    yield "dump", f"{when} UTC, {devices}, driver {dump.driver}"


def _launch_text(fault: Fault) -> str:
    match = fault.match
    if match is None:
        return "no recorded call has this kernel, grid and parameters"
    call = f"call {match.call['call_id']} of run {fault.run_id}"
    if not match.fits:
        return (
            f"probably {call}, the last of this kernel with this grid: the parameters in the dump "
            "fit no recorded call, or were overwritten"
        )
    if match.seq is None or match.enter is None:
        return f"{call}, whose launch was not recorded"
    last = f"launch {match.seq}, at {_time_text(match.enter)} UTC"
    captured = " (captured into a graph, which was replayed)" if _is_captured(fault) else ""
    others = (
        f"; {plural(fault.fitting - 1, 'other call')} would fit, launched before"
        if fault.fitting > 1
        else ""
    )
    return f"{call}, its last {last}{captured}{others}"


def _time_text(nanoseconds: int) -> str:
    when = time.strftime("%H:%M:%S", time.gmtime(nanoseconds // _NS))
    return f"{when}.{nanoseconds % _NS // 1_000_000:03d}"


def _is_captured(fault: Fault) -> bool:
    return fault.match is not None and fault.match.phase == "graph_capture"


def _argument_text(argument: Argument) -> str:
    name = argument.name
    if argument.element is None:
        return name
    where = f"element {argument.element:,} of {name}"
    if argument.elements is None:
        return f"{where}, whose extent was not recorded"
    has = f"{where}, which has {argument.elements:,} up to the end of its storage"
    if argument.before is not None:
        return f"{has}: {argument.before:,} bytes before its start"
    if argument.past_end is not None and argument.past_end >= 0:
        return f"{has}: {argument.past_end:,} bytes past its end"
    return has


def brief_text(faults: Sequence[Fault]) -> Iterator[str]:
    """Yield at most five lines for the end of a program's own output."""
    fault = faults[0]
    name = fault.kernel or "a kernel whose module is not in the dump"
    what = fault.exception or "stopped"
    yield f"kvtrace: {what} in kernel {name}, {_place_text(fault)}"
    if fault.argument is not None and fault.argument.element is not None:
        yield f"kvtrace: {_argument_text(fault.argument)}"
    yield from (f"kvtrace: {cause}" for cause in fault.causes[:1])


def process_objects(process: Process) -> Iterator[dict[str, Any]]:
    """Yield an object for JSON for each kernel of a process; one if it has stacks alone."""
    of_process = {
        "process": process.name,
        "rank": process.rank,
        "python": [
            {
                "thread": thread.name,
                "is_main": thread.is_main,
                "frames": [
                    {"file": one.file, "line": one.line, "function": one.function}
                    for one in thread.frames
                ],
            }
            for thread in process.answer.threads
        ],
        "collectives": [asdict(collective) for collective in process.answer.collectives],
        "notes": list(process.notes),
    }
    if process.dump is not None:
        for fault in process.faults:
            yield _fault_object(process.dump, fault) | of_process
    if not process.faults and process.was_asked:
        yield {"kernel": None} | of_process


def _fault_object(dump: Dump, fault: Fault) -> dict[str, Any]:
    place, argument, match, warp = fault.place, fault.argument, fault.match, fault.warp
    return {
        "exception": fault.exception or None,
        "kernel": fault.kernel or None,
        "file": None if place is None else place.file,
        "line": None if place is None else place.line,
        "column": None if place is None else place.column,
        "program": None if warp is None else list(warp.block),
        "thread": None if fault.thread is None else list(fault.thread.index),
        "grid": list(fault.grid.size),
        "access": fault.effect,
        "address": fault.address,
        "run": fault.run_id,
        "call_id": None if match is None else match.call["call_id"],
        "launch_seq": None if match is None else match.seq,
        "phase": None if match is None else match.phase,
        "parameters_fit": None if match is None else match.fits,
        "argument": None if argument is None else argument.name,
        "element": None if argument is None else argument.element,
        "past_end_bytes": None if argument is None else argument.past_end,
        "causes": list(fault.causes),
        "advice": fault.advice or None,
        "waits_for": fault.waits_for or None,
        "elsewhere": list(fault.elsewhere),
        "index_arguments": list(fault.index_arguments),
        "time": dump.time or None,
        "devices": list(dump.devices),
        "driver": dump.driver,
    }
