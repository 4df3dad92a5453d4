"""Findings of the rules of this add-on, from a run's tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kvtrace.addons.memory.access_bytes import NotListed, TouchedBytes
from kvtrace.addons.memory.byte_ranges import ByteRanges
from kvtrace.addons.memory.declared_writes import Declarations, declared_verdicts
from kvtrace.addons.memory.effects import StorageEffect, StoreSite, Unknown, effects_of
from kvtrace.addons.memory.events import events_of
from kvtrace.addons.memory.findings import DECLARED, READ, RESULT, RULES
from kvtrace.addons.memory.following import (
    CallStorage,
    Follower,
    Leftover,
    Operator,
    Place,
    Reads,
    Unwritten,
)
from kvtrace.addons.memory.lives import Birth
from kvtrace.addons.memory.operator_effects import OperatorTensor, operator_effects
from kvtrace.addons.memory.states import Effect
from kvtrace.evaluate import Access, Observer, TensorArgument
from kvtrace.evaluate.order import memory_sites
from kvtrace.figures.lines import is_plumbing
from kvtrace.metrics.stacks import StackRows
from kvtrace.recorded_calls.recorded import Call, UnreadyCall, calls_of
from kvtrace.schema.tables import TABLES
from kvtrace.text import plural
from kvtrace.verdicts.replaying import run as evaluate_call
from kvtrace.verdicts.verdict import Verdict, row_of

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.schema.trace import Run, Trace

_ADDRESSED: Final = ("tensor", "descriptor")


def findings_of(trace: Trace, run: Run, *, named: bool) -> Mapping[str, pa.Table] | None:
    """Return the findings of a run whose memory was recorded, or of any run if `named`.

    Each tensor that a call reads has a row: proven, a violation with an unwritten element, or
    unknown with the reason; each that a kernel with a declaration writes has another. Without
    recorded memory there are only the latter. None if nothing is judged.
    """
    recorded = bool(trace.table("operations", (run,), ["record"]).num_rows)
    if not recorded and not named:
        return None
    memory = RunMemory(trace, run)
    stacks = StackRows()
    rows = list(_declared_rows(memory, Declarations(trace, run), stacks))
    if recorded:
        follower = Follower(
            {call_id: call.storages for call_id, call in memory.calls.items()}, memory.operators
        )
        follower.follow(events_of(trace, run))
        rows += _Rows(memory, follower, stacks).rows()
    by_table = {"findings": rows, "stacks": stacks.rows()}
    return {
        name: pa.Table.from_pylist(listed, TABLES[name].schema) for name, listed in by_table.items()
    }


def _declared_rows(
    memory: RunMemory, declarations: Declarations, stacks: StackRows
) -> Iterator[dict[str, Any]]:
    """Yield rows of the rule `undeclared-write`, for one call of each kernel variant."""
    judged: set[int] = set()
    for call_id, judged_call in memory.calls.items():
        kernel_id = declarations.kernel_id(call_id)
        declared = None if kernel_id in judged else declarations.of(call_id)
        if declared is None or judged_call.call is None:
            continue
        judged.add(kernel_id)
        for verdict in declared_verdicts(judged_call.call, judged_call.effects, declared):
            yield row_of(verdict, judged_call.call, stacks, "warning")


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """A unique call and what it does to its storages; `call` is None without IR."""

    call: Call | None
    storages: tuple[CallStorage, ...]
    effects: Mapping[int, StorageEffect] = field(default_factory=dict)
    """Effects by the argument of the `CallStorage`."""


class RunMemory:
    """What the calls and operators of a run do to memory, and where operators were called."""

    def __init__(self, trace: Trace, run: Run) -> None:
        """Derive the effects of all calls. Errors as `Trace.table`."""
        self.calls: dict[int, JudgedCall] = {}
        arguments = {
            row["call_id"]: row["args"] or ()
            for row in trace.table("calls", (run,), ["call_id", "args"]).to_pylist()
        }
        for call in calls_of(trace, run):
            self.calls[call.call_id] = _judged_call(call, arguments[call.call_id])
        columns = ["operator_id", "name", "tensors", "stack_id"]
        rows = trace.table("operators", (run,), columns).to_pylist()
        self.operators = {row["operator_id"]: _operator(row) for row in rows}
        self._stacks = {row["operator_id"]: row["stack_id"] for row in rows}
        table = trace.table("allocations", (run,), ["record", "stack_id"])
        self._allocation_stacks = dict(
            zip(table["record"].to_pylist(), table["stack_id"].to_pylist(), strict=True)
        )
        self._frames = {
            row["stack_id"]: row["frames"]
            for row in trace.table("stacks", (run,), ["stack_id", "frames"]).to_pylist()
        }

    def birth(self, birth: Birth) -> str:
        """Return where a storage came from: torch.empty at model.py:12."""
        if birth.origin == "operator":
            operator = self.operators[birth.row]
            return f"{_said(operator.name)}{self._at(self._stacks[birth.row])}"
        return f"generated code{self._at(self._allocation_stacks.get(birth.row))}"

    def operator(self, operator_id: int) -> str:
        """Return an operator's name and place."""
        return f"{_said(self.operators[operator_id].name)}{self._at(self._stacks[operator_id])}"

    def _at(self, stack_id: int | None) -> str:
        for frame in self._frames.get(stack_id) or ():
            if not is_plumbing(frame["file"] or ""):
                return f" at {_short(frame['file'])}:{frame['line']}"
        return ""


def _said(name: str) -> str:
    """Return how users call an operator: torch.empty for aten::empty.memory_format."""
    base = name.partition(".")[0]
    return f"torch.{base.removeprefix('aten::')}" if base.startswith("aten::") else base


def _short(file: str | None) -> str:
    return (file or "?").rpartition("/")[2]


def _judged_call(call: Call | UnreadyCall, arguments: Sequence[Mapping[str, Any]]) -> JudgedCall:
    """Return what a call does; one that cannot be evaluated may do anything to its tensors."""
    addressed = [argument for argument in arguments if argument["kind"] in _ADDRESSED]
    if isinstance(call, UnreadyCall):
        return JudgedCall(
            None,
            tuple(
                CallStorage(
                    position, position, argument["offset_bytes"] or 0, argument["storage_bytes"],
                    _anything(argument["storage_bytes"], call.reason),
                )
                for position, argument in enumerate(addressed)
                if argument["storage_bytes"]
            ),
        )  # fmt: skip
    positions = {argument["name"]: position for position, argument in enumerate(addressed)}
    storages: list[CallStorage] = []
    effects: dict[int, StorageEffect] = {}
    for effect in effects_of(call).storages:
        for index in effect.args:
            argument = call.arguments[index]
            position = positions.get(argument.name)
            if position is not None and isinstance(argument, TensorArgument) and effect.size:
                storages.append(
                    CallStorage(
                        position, index, argument.offset_bytes, effect.size, _effect(effect)
                    )
                )
                effects[index] = effect
                break
    return JudgedCall(call, tuple(storages), effects)


def _anything(size: int, reason: str) -> Effect:
    whole = ByteRanges.of(0, size)
    return Effect(may_read=whole, may_write=whole, reason=reason)


def _effect(effect: StorageEffect) -> Effect:
    return Effect(
        _known(effect.read_first), effect.may_read, _known(effect.stored), effect.may_store,
        effect.reason,
    )  # fmt: skip


def _known(listed: ByteRanges | Unknown) -> ByteRanges:
    return ByteRanges() if isinstance(listed, Unknown) else listed


def _operator(row: Mapping[str, Any]) -> Operator:
    tensors = tuple(
        OperatorTensor(
            tensor["role"], tensor["dtype"], tuple(tensor["shape"]), tuple(tensor["strides"]),
            tensor["offset_bytes"], tensor["storage_bytes"],
        )
        for tensor in row["tensors"]
    )  # fmt: skip
    return Operator(row["name"], tensors, operator_effects(row["name"], tensors))


class _Rows:
    """The rows of `findings` of a followed run."""

    def __init__(self, memory: RunMemory, follower: Follower, stacks: StackRows) -> None:
        self._memory, self._follower, self._stacks = memory, follower, stacks

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows: of reads by calls, by operators, and of results left unwritten."""
        for place, reads in self._follower.reads.items():
            verdict = self._verdict(place, reads)
            if verdict is not None:
                yield self._row(*verdict)
        for place, leftover in self._follower.leftovers.items():
            yield self._row(*self._leftover(place, leftover))
        for place, writer in self._follower.undeclared.items():
            yield self._row(*self._undeclared(place, writer))

    def _row(self, call: Call, verdict: Verdict) -> dict[str, Any]:
        severity = RULES[verdict.rule]["severity"]
        return row_of(verdict, call, self._stacks, severity)  # type: ignore[arg-type]

    def _verdict(self, place: Place, reads: Reads) -> tuple[Call, Verdict] | None:
        if place.kind == "operator":
            return None if reads.first is None else self._of_operator(place, reads.first)
        call = self._memory.calls[place.row].call
        if call is None:
            return None
        if reads.first is not None:
            return call, self._violation(call, place, reads.first, reads)
        argument = call.arguments[place.argument]
        op = _first_reading_op(call, self._memory.calls[place.row].effects[place.argument])
        if reads.unknown:
            return call, Verdict(
                READ, "unknown", op, f"whether all that it reads of {argument.name} was written "
                f"is not known: {reads.reason}", reason=reads.reason, access="load",
                arg=argument.name,
            )  # fmt: skip
        return call, Verdict(
            READ, "proven", op, f"all that it reads of {argument.name} was written before",
            method="followed", access="load", arg=argument.name,
        )  # fmt: skip

    def _violation(self, call: Call, place: Place, first: Unwritten, reads: Reads) -> Verdict:
        argument = call.arguments[place.argument]
        assert isinstance(argument, TensorArgument)
        effect = self._memory.calls[place.row].effects[place.argument]
        unwritten = first.reading.unwritten
        op = _reading_op(call, effect, unwritten)
        begin, _ = next(iter(unwritten))
        elements = _elements(unwritten, argument.offset_bytes, argument.element.bytes)
        launches = reads.violations
        often = f", in {plural(launches, 'launch')}" if launches > 1 else ""
        return Verdict(
            READ, "violation", op,
            f"{elements} of {argument.name} {_are(unwritten, argument.element.bytes)} read, and "
            f"nobody wrote {_them(unwritten, argument.element.bytes)}{often}: "
            f"{self._history(first.birth, first.state)}",
            method="followed", access="load", arg=argument.name,
            address_offset=begin - argument.offset_bytes,
            lanes=unwritten.size // argument.element.bytes,
        )  # fmt: skip

    def _of_operator(self, place: Place, first: Unwritten) -> tuple[Call, Verdict] | None:
        """Return a finding at the kernel that left elements out which an operator reads."""
        writers = self._follower.writers(first.state)
        if not writers:
            return None  # no kernel has to do with it
        call, site, argument = self._site(writers[0])
        if call is None or site is None:
            return None
        unwritten = first.reading.unwritten
        size = argument.element.bytes
        return call, Verdict(
            READ, "violation", site.op,
            f"{self._memory.operator(place.row)} reads "
            f"{_elements(unwritten, argument.offset_bytes, size)} of {argument.name}, and nobody "
            f"wrote {_them(unwritten, size)}: {self._history(first.birth, first.state)}",
            method="followed", access="store", arg=argument.name,
            address_offset=next(iter(unwritten))[0] - argument.offset_bytes,
            lanes=unwritten.size // size,
        )  # fmt: skip

    def _leftover(self, place: Place, leftover: Leftover) -> tuple[Call, Verdict]:
        call, site, argument = self._site(place)
        assert call is not None
        assert site is not None
        unwritten = leftover.state.unwritten
        size = argument.element.bytes
        return call, Verdict(
            RESULT, "violation", site.op,
            f"{_elements(unwritten, argument.offset_bytes, size)} of {argument.name} "
            f"{'was' if unwritten.size <= size else 'were'} never written, nor read in this run: "
            f"{self._history(leftover.birth, leftover.state)}",
            method="followed", access="store", arg=argument.name,
            address_offset=next(iter(unwritten))[0] - argument.offset_bytes,
            lanes=unwritten.size // size,
        )  # fmt: skip

    def _undeclared(self, place: Place, writer: Place) -> tuple[Call, Verdict]:
        call, site, argument = self._site(writer)
        assert call is not None
        assert site is not None
        return call, Verdict(
            DECLARED, "violation", site.op,
            f"{argument.name} is written inside of {self._memory.operator(place.row)}, whose "
            "schema says that it only reads it: torch.compile may move it past other uses",
            method="followed", access="store", arg=argument.name,
        )  # fmt: skip

    def _site(self, place: Place) -> tuple[Call | None, StoreSite | None, TensorArgument]:
        """Return the call that wrote, its store, and the tensor that it stored to."""
        judged = self._memory.calls[place.row]
        if judged.call is None:
            raise AssertionError("calls without IR are no writers")
        argument = judged.call.arguments[place.argument]
        assert isinstance(argument, TensorArgument)
        stores = judged.effects[place.argument].stores
        return judged.call, stores[0] if stores else None, argument

    def _history(self, birth: Birth, state: Any) -> str:
        """Return who made a storage, and who wrote to it in part and why no more."""
        texts = [f"{self._memory.birth(birth)} made it"]
        writers = self._follower.writers(state)
        for place in writers[:2]:
            call, site, argument = self._site(place)
            if call is None or site is None:
                continue
            texts.append(_stored(call, site, argument))
        if not writers:
            texts.append("and no kernel wrote to it")
        return ", ".join(texts)


def _stored(call: Call, site: StoreSite, argument: TensorArgument) -> str:
    """Return what one store wrote, and why it left the others out."""
    stored = (
        "an unknown part"
        if isinstance(site.stored, Unknown)
        else _ranges(site.stored, argument.offset_bytes, argument.element.bytes)
    )
    text = f"{call.kernel} stored {stored} of it"
    if not site.executions:
        return f"{call.kernel} has a store to it that no program reaches"
    if site.masked:
        return f"{text} (its mask leaves out {plural(site.masked, 'lane')})"
    if site.masked == 0:
        programs = call.grid[0] * call.grid[1] * call.grid[2]
        return f"{text} with its {plural(programs, 'program')} and no mask"
    return text


def _elements(unwritten: ByteRanges, offset: int, size: int) -> str:
    count = -(-unwritten.size // size)
    where = _ranges(unwritten, offset, size)
    return (
        f"{where}" if count == 1 or len(unwritten) == 1 else f"{plural(count, 'element')} ({where})"
    )


def _ranges(listed: ByteRanges, offset: int, size: int) -> str:
    """Return ranges of bytes as elements of a tensor: elements 128 to 639."""
    texts = []
    for begin, end in listed:
        first, last = (begin - offset) // size, (end - 1 - offset) // size
        texts.append(f"{first:,}" if first == last else f"{first:,} to {last:,}")
        if len(texts) == 3 and len(listed) > 3:
            texts.append("…")
            break
    if not texts:
        return "nothing"
    word = "element" if len(listed) == 1 and " to " not in texts[0] else "elements"
    return f"{word} {', '.join(texts)}"


def _are(unwritten: ByteRanges, size: int) -> str:
    return "is" if unwritten.size <= size else "are"


def _them(unwritten: ByteRanges, size: int) -> str:
    return "it" if unwritten.size <= size else "them"


def _first_reading_op(call: Call, effect: StorageEffect) -> Op:
    """Return the first op, in the order of the IR, that may read a storage."""
    sites = memory_sites(call.module)
    return next(
        site.op for site in sites if site.kind != "store" and any(map(site.reaches, effect.args))
    )


def _reading_op(call: Call, effect: StorageEffect, unwritten: ByteRanges) -> Op:
    """Return the first op that reads one of some bytes of a storage."""
    readers = _Readers(effect)
    evaluate_call(call, [readers], contents="all")
    for op, touched in readers.by_op.values():
        try:
            if touched.listed(effect.size) & unwritten:
                return op
        except NotListed:
            continue
    return _first_reading_op(call, effect)


class _Readers(Observer):
    """Collects the bytes of one storage that each op reads."""

    def __init__(self, effect: StorageEffect) -> None:
        self._args = frozenset(effect.args)
        self.by_op: dict[int, tuple[Op, TouchedBytes]] = {}

    def access(self, access: Access) -> None:
        """Add the bytes of a read."""
        if access.kind != "store" and access.argument in self._args:
            _, touched = self.by_op.setdefault(access.op.index, (access.op, TouchedBytes()))
            touched.add(access)
