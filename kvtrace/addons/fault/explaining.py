"""The cause of a GPU fault: a dump of the device, read with the trace of the program.

Measured, that is in the dump: the exception, the kernel, the program, the instruction, and the
parameters. The instruction leads to the line and the op; the parameters to the recorded call.
Derived from these: the address, by the registers or by the meaning of the IR, the argument that it
is of, and why it lies outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kvtrace.addons.fault.dump.exceptions import TRAP, ExceptionKind, Subject, kind_of
from kvtrace.addons.fault.dump.reading import Dump, Grid, Thread, Warp
from kvtrace.addons.fault.dump.sass import (
    INSTRUCTION_BYTES,
    Effect,
    GlobalAccess,
    Poll,
    access_at,
    holds_address,
    poll_around,
    stops,
    traps,
    waits,
)
from kvtrace.addons.fault.matching import Argument, Match, argument_named, matches, nearest_argument
from kvtrace.addons.fault.places import Place, ops_at, place_of
from kvtrace.addons.fault.ranks import collective_of
from kvtrace.addons.fault.suspects import RULES
from kvtrace.converters.findings.causes import is_generated
from kvtrace.converters.findings.hints import hint_for
from kvtrace.converters.findings.model import RuleText
from kvtrace.ir import Op
from kvtrace.ir.feeding import loads_behind
from kvtrace.ir.ops import KINDS
from kvtrace.recorded_calls.reading import calls_of, stage_artifact
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.content import StackRows
from kvtrace.schema.trace import Run, Trace
from kvtrace.text import plural
from kvtrace.verdicts.binding import Budget
from kvtrace.verdicts.judge import Judgment
from kvtrace.verdicts.rules.table import rule_texts
from kvtrace.verdicts.verdict import Verdict, row_of

#: Warps among which one that does not wait at a barrier is looked for.
_MOST_WARPS: Final = 4096
#: Instructions of which the lines are looked up, and groups of warps that are named.
_MOST_OFFSETS: Final = 16
_MOST_GROUPS: Final = 3
#: What threads wait for at a barrier.
BARRIER: Final = "other threads of its program, at a barrier"
#: What a kernel waits for, by the kind of its poll.
_POLLED: Final = {
    "mbarrier": "an mbarrier: a copy or other warps of its program have not arrived",
    "grid": "other programs of its grid, at a barrier of the whole grid",
    "atomic": "a value in memory, which it reads by an atomic",
    "load": "a value in memory, which it reads again and again",
}
#: Lanes of an evaluation that decides what formulas leave open: a dying program waits for it.
_LANES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Fault:
    """A kernel that failed, or that was on the device when a dump was written.

    Attributes:
        kind: what failed; None: nothing did, as in a hang.
        kernel: the kernel's name; empty: not in the dump.
        grid: the dump's record of the kernel.
        warp: the warp that failed, or the first one on the device.
        thread: the thread whose address lies farthest outside, else the warp's first.
        place: the place in the source.
        effect: load, store or atomic.
        address: the address of the access; None: the registers do not have it any more.
        run_id: the run in which the call was found.
        match: the recorded call; None: there is none.
        fitting: how many calls fit.
        argument: the argument that the access is of.
        causes: sentences on why, the most certain first.
        advice: a sentence on what to do; empty: nothing failed.
        index_arguments: arguments of integers that the address is computed from.
        poll: the instruction by which a kernel without an exception waits in a loop.
        waits_for: what threads of a kernel without an exception wait for, as far as known.
        elsewhere: for such a kernel, where most other warps are, in words.
    """

    kind: ExceptionKind | None
    kernel: str
    grid: Grid
    warp: Warp | None
    thread: Thread | None
    place: Place | None
    effect: Effect | None
    address: int | None
    run_id: str | None = None
    match: Match | None = None
    fitting: int = 0
    argument: Argument | None = None
    causes: tuple[str, ...] = ()
    advice: str = ""
    index_arguments: tuple[str, ...] = ()
    poll: Poll | None = None
    waits_for: str = ""
    elsewhere: tuple[str, ...] = ()

    @property
    def exception(self) -> str:
        """The failure, in words; empty: nothing failed."""
        return "" if self.kind is None else self.kind.words


def faults_of(dump: Dump, trace: Trace | None, runs: Sequence[Run]) -> list[Fault]:
    """Return the faults in a dump; without any, what each kernel on the device was at.

    Without a trace, or where no call in it fits, what the dump says alone.
    """
    grids = [grid for grid in dump.grids if grid.exception] or list(dump.grids)
    return [_explained(grid, trace, runs) for grid in grids]


def _explained(grid: Grid, trace: Trace | None, runs: Sequence[Run]) -> Fault:
    """Return what a dump says of a kernel, then what the best matching call of a trace adds."""
    run, listed = (None, []) if trace is None else _matches(trace, runs, grid)
    if trace is None or run is None:
        return _dumped(grid, None)
    match = listed[0]
    fault = _dumped(grid, _text(trace, match, "ptx"))
    place = fault.place
    if place is not None:
        place = replace(place, file=_recorded_file(trace, run, place.file))
    fault = replace(fault, place=place, run_id=run.run_id, match=match, fitting=len(listed))
    return _with_cause(fault, trace, run, match)


def _dumped(grid: Grid, ptx: str | None) -> Fault:
    """Return what a dump says of a kernel: where it failed, or without exception, waits."""
    warp = next(iter(grid.failed), None) or _not_waiting(grid)
    stopped_at = _offset(grid, warp)
    poll, waits_for = (None, "") if grid.exception else _wait(grid, stopped_at)
    offset = stopped_at if poll is None else poll.offset  # warps stop anywhere in a loop
    place = None if offset is None else place_of(grid.image, grid.entry + offset, ptx)
    access = None if offset is None else access_at(grid.code, offset)
    thread, address = _address(grid, warp, access)
    kind = _kind(grid, offset)
    return Fault(
        kind=kind,
        kernel=grid.name,
        grid=grid,
        warp=warp,
        thread=thread,
        place=place,
        effect=None if access is None or not grid.exception else access.effect,
        address=address,
        causes=() if kind is None else (kind.means,),
        advice="" if kind is None else kind.advice,
        poll=poll,
        waits_for=waits_for,
        elsewhere=() if grid.exception else _elsewhere(grid, ptx, place, waits_for),
    )


def _wait(grid: Grid, offset: int | None) -> tuple[Poll | None, str]:
    """Return the poll around an instruction, and what a warp there waits for; empty: not known."""
    poll = None if offset is None else poll_around(grid.code, offset)
    collective = collective_of(grid.name)
    if collective:
        return poll, f"other ranks, in {collective}"
    if poll is not None:
        return poll, _POLLED[poll.kind]
    return None, BARRIER if offset is not None and waits(grid.code, offset) else ""


def _elsewhere(grid: Grid, ptx: str | None, place: Place | None, waits_for: str) -> tuple[str, ...]:
    """Return where most warps are that neither are at a place nor wait for the same."""
    offsets = Counter(_offset(grid, warp) for warp in grid.warps[:_MOST_WARPS])
    groups: Counter[tuple[str, str]] = Counter()
    for offset, count in offsets.most_common(_MOST_OFFSETS):
        if offset is None:
            continue
        poll, reason = _wait(grid, offset)
        at = place_of(grid.image, grid.entry + (offset if poll is None else poll.offset), ptx)
        if _line(at) != _line(place) or reason != waits_for:
            groups[_line(at), reason] += count
    return tuple(
        f"{plural(count, 'warp')} at {line}" + (reason and f", for {reason}")
        for (line, reason), count in groups.most_common(_MOST_GROUPS)
    )


def _line(place: Place | None) -> str:
    return "a line that is not known" if place is None else f"line {place.line}"


def _matches(trace: Trace, runs: Sequence[Run], grid: Grid) -> tuple[Run | None, list[Match]]:
    """Return the run with the calls behind a kernel, and these; (None, []) if no run has any.

    Calls that the parameters fit come before others, and then the last launch.
    """
    by_run = [(run, listed) for run in runs if (listed := matches(trace, run, grid))]
    return max(
        by_run,
        key=lambda one: (one[1][0].fits, one[1][0].enter or 0),
        default=(None, []),
    )


def _recorded_file(trace: Trace, run: Run, file: str) -> str:
    """Return the path under which the trace has a file: another one in a redacted trace.

    That is the one path in the trace with the file's name.
    """
    rows = trace.table("kernels", (run,), columns=["file", "files"]).to_pylist()
    paths = {row["file"] for row in rows if row["file"]}
    paths |= {part["path"] for row in rows for part in row["files"] or () if part["path"]}
    named = [path for path in paths if path.rpartition("/")[2] == file.rpartition("/")[2]]
    return named[0] if file not in paths and len(named) == 1 else file


def _not_waiting(grid: Grid) -> Warp | None:
    """Return a warp that does not wait at a barrier for the others; if all do, the first."""
    for warp in grid.warps[:_MOST_WARPS]:
        offset = _offset(grid, warp)
        if offset is not None and not waits(grid.code, offset):
            return warp
    return next(iter(grid.warps), None)


def _kind(grid: Grid, offset: int | None) -> ExceptionKind | None:
    """Return what failed; a trap is no exception to the driver."""
    if grid.exception:
        return kind_of(grid.exception)
    return TRAP if offset is not None and traps(grid.code, offset) else None


def _offset(grid: Grid, warp: Warp | None) -> int | None:
    """Return where the instruction lies that failed, else the next one of the warp's threads.

    A failed assertion has been called, a trap been taken, a barrier been reached: threads are
    behind these.
    """
    if warp is None:
        return None
    offset = warp.error_pc
    if offset is None:
        failed = [thread for thread in warp.threads if thread.exception]
        threads = failed or warp.active_threads or warp.threads
        offset = threads[0].pc if threads else None
    if offset is None:
        return None
    before = offset - INSTRUCTION_BYTES
    is_behind = stops(grid.code, before) or (not grid.exception and waits(grid.code, before))
    return before if is_behind else offset


def _address(
    grid: Grid, warp: Warp | None, access: GlobalAccess | None
) -> tuple[Thread | None, int | None]:
    """Return the thread whose address lies farthest from the others', and the address.

    The first thread, and None, where registers do not have the addresses.
    """
    if warp is None or not warp.threads:
        return None, None
    active = warp.active_threads
    first = next((one for one in active if one.exception), (active or warp.threads)[0])
    if access is None or warp.error_pc is None or not grid.exception:
        return first, None
    known = []
    for thread in active:
        pair = thread.pair(access.register)
        if pair is not None and holds_address(grid.code, access, warp.error_pc, thread.pc):
            known.append((thread, (pair + access.displacement) % (1 << 64)))
    if not known:
        return first, None
    middle = sorted(address for _, address in known)[len(known) // 2]
    return max(known, key=lambda one: abs(one[1] - middle))


def _text(trace: Trace, match: Match, stage: str) -> str | None:
    digest = stage_artifact(match.kernel, stage)
    content = trace.artifact(digest) if digest else None
    return None if content is None else content.decode(errors="replace")


def _with_cause(fault: Fault, trace: Trace, run: Run, match: Match) -> Fault:
    """Return the fault with what the matching call says: its evidence replaces causes and advice.

    If the call cannot be evaluated, the reason replaces the causes, but only of a memory fault.
    """
    calls = list(calls_of(trace, run, {match.call["call_id"]}))
    call = next((one for one in calls if isinstance(one, Call)), None)
    is_of_memory = fault.kind is None or fault.kind.subject is not Subject.OTHER
    if call is None and not is_of_memory:
        return fault
    if call is None:
        reasons = tuple(one.reason for one in calls if not isinstance(one, Call))
        return replace(fault, argument=nearest_argument(fault.address, match), causes=reasons)
    ops = [] if fault.place is None else ops_at(call.module, fault.place, fault.effect)
    judgment = Judgment(call, RULES, Budget(lanes=_LANES))
    verdicts = [one for one in judgment.verdicts() if any(one.op is op for op in ops)]
    argument = _accessed_argument(fault.address, match, verdicts) if is_of_memory else None
    indices = _index_arguments(call, ops, judgment)
    waits_for = _awaited_value(fault.poll, argument, ops) or fault.waits_for
    fault = replace(fault, argument=argument, index_arguments=indices, waits_for=waits_for)
    if fault.kind is None:
        return fault
    evidence = Evidence(fault.kind, fault, call, verdicts)
    return replace(fault, causes=causes_of(evidence), advice=advice_on(evidence))


def _accessed_argument(
    address: int | None, match: Match, verdicts: Sequence[Verdict]
) -> Argument | None:
    """Return the argument of a violation, else of any verdict, else the nearest to the address."""
    violated = [one for one in verdicts if one.verdict == "violation"]
    name = next((one.arg for one in (*violated, *verdicts) if one.arg), None)
    return argument_named(address, match, name) or nearest_argument(address, match)


def _awaited_value(poll: Poll | None, argument: Argument | None, ops: Sequence[Op]) -> str:
    """Return which argument's value a poll of memory reads, and how; "" for another wait."""
    if poll is None or poll.kind not in ("atomic", "load") or argument is None:
        return ""
    is_atomic = any(KINDS[op.name].effect == "atomic" for op in ops)
    way = _POLLED["atomic" if is_atomic else poll.kind].partition(", ")[2]
    return f"a value of {argument.name}, {way}"


def _index_arguments(call: Call, ops: Sequence[Op], judgment: Judgment) -> tuple[str, ...]:
    """Return the names of arguments that the ops' addresses or masks are loaded from."""
    names: dict[str, None] = {}
    loads = {index for op in ops for index in loads_behind(op, call.module)}
    for access in judgment.bound.summary.accesses:
        if access.op.index in loads and access.argument is not None:
            names[call.arguments[access.argument].name] = None
    return tuple(names)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The kind of a reported fault, its call, and the verdicts on the ops at its place."""

    kind: ExceptionKind
    fault: Fault
    call: Call
    verdicts: Sequence[Verdict]

    @property
    def violations(self) -> list[Verdict]:
        """Verdicts that explain an exception of this kind."""
        if self.kind.subject is Subject.OTHER:
            return []
        return [one for one in self.verdicts if one.verdict == "violation"]

    @property
    def is_by_index(self) -> bool:
        """A loaded index can have led outside: no verdict explains the fault without it."""
        argument, indices = self.fault.argument, self.fault.index_arguments
        is_inside = argument is not None and argument.is_inside
        is_address = self.kind.subject is Subject.ADDRESS
        return is_address and bool(indices) and not self.violations and not is_inside

    @property
    def is_of_freed_memory(self) -> bool:
        """The access lies inside of the storage that the argument had when it was recorded."""
        argument = self.fault.argument
        if self.kind.subject is not Subject.ADDRESS or argument is None or self.is_by_index:
            return False
        bounds = [one for one in self.verdicts if one.rule == "out-of-bounds"]
        is_proven = bool(bounds) and all(one.verdict == "proven" for one in bounds)
        return argument.is_inside or (is_proven and self.fault.address is None)


def causes_of(evidence: Evidence) -> tuple[str, ...]:
    """Return sentences on why a kernel failed, the most certain first."""
    kind, fault = evidence.kind, evidence.fault
    causes = [f"{one.message} (kvtrace sanitize: {one.rule})" for one in evidence.violations]
    held = f"what {', '.join(fault.index_arguments)} held" if fault.index_arguments else ""
    if kind.subject is Subject.ASSERTION:
        causes.append(kind.means + (held and f", by {held}"))
    elif kind.subject is Subject.ALIGNMENT and fault.address is not None:
        causes.append(f"the address {fault.address:#x} is not a multiple of what is accessed")
    elif evidence.is_by_index:
        causes.append(f"the address is computed from {held}, which no mask limits")
        causes += _larger_scalars(fault)
    elif evidence.is_of_freed_memory and fault.argument is not None:
        causes.append(
            f"the access lies inside the storage that {fault.argument.name} had when it was "
            "recorded: that memory was freed before the kernel ran, or is not on this device"
        )
    if not causes and kind.subject is Subject.ADDRESS:
        causes += [
            one.reason for one in evidence.verdicts if one.verdict == "unknown" and one.reason
        ]
    return tuple(dict.fromkeys(causes)) or (kind.means,)


def advice_on(evidence: Evidence) -> str:
    """Return a sentence on what to do: the hint of the violated rule, else by the cause."""
    for violation in evidence.violations:
        hint = _hint(violation, evidence)
        if hint:
            return hint
    if evidence.is_by_index:
        names = ", ".join(evidence.fault.index_arguments)
        return f"check what {names} holds before the launch, or mask lanes whose index is outside"
    argument = evidence.fault.argument
    if evidence.is_of_freed_memory and argument is not None:
        return (
            f"keep {argument.name} alive, and on this device, until the kernel has run; a "
            "replayed graph uses the memory of its capture"
        )
    return evidence.kind.advice


def _hint(violation: Verdict, evidence: Evidence) -> str | None:
    texts = rule_texts([violation.rule])
    row = row_of(violation, evidence.call, StackRows())
    rules = {rule: RuleText(**text) for rule, text in texts.items()}
    match = evidence.fault.match
    return hint_for(row, rules, generated=match is not None and is_generated(match.kernel))


def _larger_scalars(fault: Fault) -> Iterator[str]:
    """Yield a sentence for each whole number that was passed and is larger than the tensor."""
    argument, match = fault.argument, fault.match
    if argument is None or argument.elements is None or match is None:
        return
    for parameter, arg in zip(match.parameters, match.call["args"], strict=True):
        is_whole = arg["kind"] == "scalar" and isinstance(parameter, int)
        if is_whole and parameter is not None and abs(parameter) > argument.elements:
            yield (
                f"{arg['name']} = {parameter:,} was passed, which is more than "
                f"{argument.name} has elements"
            )
