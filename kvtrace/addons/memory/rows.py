"""Rows of `findings` of a followed run, and their sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Struct

from kvtrace.addons.memory.carried_values import CarriedValues
from kvtrace.addons.memory.effects import StorageEffect, Storing, reading_op
from kvtrace.addons.memory.element_words import (
    elements,
    first_byte,
    is_one,
    part,
    whole_elements,
)
from kvtrace.addons.memory.given_storages import argument_of
from kvtrace.addons.memory.missing_stores import Why, missing_stores
from kvtrace.addons.memory.moves import is_computed
from kvtrace.addons.memory.rules import DECLARED, READ, RESULT, RULES
from kvtrace.evaluate import TensorArgument
from kvtrace.ir import source_stack
from kvtrace.metrics.byte_ranges import ByteRanges
from kvtrace.schema.content import CONTENTS_LIMIT
from kvtrace.text import plural
from kvtrace.verdicts.verdict import Verdict, row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtrace.addons.memory.following import Follower, Leftover
    from kvtrace.addons.memory.lives import Birth, Place
    from kvtrace.addons.memory.reads import Reads, Unwritten
    from kvtrace.addons.memory.run_memory import RunMemory
    from kvtrace.addons.memory.states import Spoiling, State
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.content import StackRows
    from kvtrace.verdicts.verdict import Answer


_Row = dict[str, Any]


class JudgedRow(NamedTuple):
    """A row of `findings`; of a violation also the line that allocated the memory, and the reads.

    `line` is as model.py:12, or "" if no line made the memory empty, or its values are foreign;
    `reads` counts launches or operators that read what nobody wrote.
    """

    row: dict[str, Any]
    line: str = ""
    reads: int = 0


class Rows:
    """The rows of `findings` of a followed run."""

    def __init__(self, memory: RunMemory, follower: Follower, stacks: StackRows) -> None:
        self._memory, self._follower, self._stacks = memory, follower, stacks
        self._places = memory.places
        self._used: set[Spoiling] = set()

    def rows(self) -> Iterator[JudgedRow]:
        """Yield the rows: of reads by calls, by operators, and of results left unwritten."""
        written: list[Place] = []
        for place, reads in self._follower.reads.items():
            self._used |= reads.spoilings
            for unwritten in reads.unwritten.values():
                row = (
                    self._of_operator(place, unwritten)
                    if place.kind == "operator"
                    else self._violation(place, unwritten)
                )
                if row is not None:
                    self._used.update(unwritten.reading.spoilings)
                    read = unwritten.reading.unwritten
                    yield self._judged(row, unwritten.birth, unwritten.state, read, unwritten.count)
            undisputed = None if reads.unwritten else self._undisputed(place, reads)
            if undisputed is not None:
                yield JudgedRow(undisputed)
            elif place.kind == "operator" and reads.answers.keys() == {"proven"}:
                written.append(place)
        if written:
            yield JudgedRow(self._operators(written))
        for place, leftover in self._follower.leftovers.items():
            row, state = self._leftover(place, leftover), leftover.state
            yield self._judged(row, leftover.birth, state, state.unwritten)
        for place, writer in self._follower.undeclared.items():
            yield JudgedRow(self._undeclared(place, writer))
        unused = self._follower.spoiled - self._used - self._follower.carried
        for values in self._memory.foreign():
            if values in unused and not values.doubtful:
                yield JudgedRow(self._unused(values))

    def _row(self, call: Call, verdict: Verdict) -> _Row:
        severity = RULES[verdict.rule]["severity"]
        return row_of(verdict, call, self._stacks, severity)  # type: ignore[arg-type]

    def _judged(
        self, row: _Row, birth: Birth, state: State, unwritten: ByteRanges, reads: int = 0
    ) -> JudgedRow:
        """Return a row with its line; those on storages of other origins are other findings."""
        identity = f"{row['finding_id']} {self._places.birth(birth)}"
        row["finding_id"] = _id_of(identity)
        line = ""
        if row["verdict"] == "violation":
            source = state.birth_of(unwritten, birth)
            line = "" if source is None else self._places.allocated_at(source)
            row["other_stack_id"] = self._stacks.add(self._places.birth_frames(source or birth))
        return JudgedRow(row, line, reads)

    def _operator_row(
        self, place: Place, rule: str, verdict: Answer, message: str, *, reason: str | None = None,
        by: _Stored | None = None,
    ) -> _Row:  # fmt: skip
        """Return a verdict on a tensor of an operator as a row of the table `findings`.

        It has the call of the kernel that left out what is read, or none.
        """
        frames = tuple(self._places.frames(place.row))
        operator = self._memory.operators[place.row]
        tensor = operator.tensors[place.argument]
        identity = (
            rule, verdict, operator.name, place.argument, tensor.dtype, tensor.shape,
            tensor.strides, [(frame.file, frame.line) for frame in frames],
            None if by is None else (by.call.kernel, by.argument.name),
        )  # fmt: skip
        return {
            "finding_id": _id_of(json.dumps(identity)),
            "call_id": None if by is None else by.call.call_id,
            "rule": rule,
            "verdict": verdict,
            "severity": RULES[rule]["severity"] if verdict == "violation" else "note",
            "access": "load",
            "stack_id": self._stacks.add(frames),
            "arg": None if by is None else by.argument.name,
            "method": "followed",
            "reason": reason,
            "message": message,
        }

    def _undisputed(self, place: Place, reads: Reads) -> _Row | None:
        """Return the verdict on reads of which none is a violation, of operators if unknown."""
        if place.kind == "operator":
            if not reads.answers["unknown"] or reads.is_weak:
                return None
            message = (
                f"whether all that {self._places.operator(place.row)} reads was written is not "
                f"known: {reads.reason}"
            )
            return self._operator_row(place, READ, "unknown", message, reason=reads.reason)
        call = self._memory.calls[place.row].call
        if call is None:
            return None
        if reads.answers["unknown"]:
            return self._unknown(call, place, reads.reason)
        effect = self._memory.calls[place.row].effects[place.argument]
        op = effect.first_reading_op
        argument = call.arguments[argument_of(call, effect.args, op)]
        uses = "uses" if reads.drops else "reads"
        return self._row(call, Verdict(
            READ, "proven", op, f"all that it {uses} of {argument.name} was written before",
            method="followed", access="load", arg=argument.name,
        ))  # fmt: skip

    def _operators(self, places: Sequence[Place]) -> _Row:
        """Return one verdict on all operators that read only what was written, at the last one."""
        tensors = plural(len(places), "tensor")
        names = list(dict.fromkeys(self._memory.operators[place.row].name for place in places))
        message = f"all that operators of PyTorch read of {tensors} was written before: "
        message += ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        return self._operator_row(places[-1], READ, "proven", message)

    def _unknown(self, call: Call, place: Place, reason: str) -> _Row:
        """Return the verdict that reads are unknown, for a reason."""
        judged = self._memory.calls[place.row]
        effect = judged.effects[place.argument]
        if judged.lacks_contents and "the data of" in reason:
            reason = f"{reason}: {CONTENTS_LIMIT}"
        op = effect.first_reading_op
        name = call.arguments[argument_of(call, effect.args, op)].name
        return self._row(call, Verdict(
            READ, "unknown", op, f"whether all that it reads of {name} was written is not known: "
            f"{reason}", reason=reason, access="load", arg=name,
        ))  # fmt: skip

    def _violation(self, place: Place, first: Unwritten) -> _Row | None:
        judged = self._memory.at(place.row, first.seq)
        call = judged.call
        if call is None:
            return None
        effect = judged.effects[place.argument]
        unwritten, begin = first.reading.unwritten, call.tensor(place.argument).offset_bytes
        op, by_op = reading_op(call, effect, unwritten.moved(begin - first.origin))
        argument = call.tensor(argument_of(call, effect.args, op))
        if len(effect.args) > 1:
            unwritten = by_op.moved(first.origin - begin)
        size, origin = argument.element.bytes, first.origin + argument.offset_bytes - begin
        unwritten = whole_elements(unwritten, first.state.unwritten, origin, size)
        which = elements(unwritten, origin, size)
        often = f", in {plural(first.count, 'launch')}" if first.count > 1 else ""
        own = _Stored(call, argument, effect) if effect.stores else None
        return self._row(call, Verdict(
            READ, "violation", op,
            f"{which} of {argument.name} {'is' if is_one(which) else 'are'} read, and "
            f"{self._made(first.state, unwritten, which)}{often}: "
            + self._history(
                first.birth, first.state, unwritten, size, origin, first.given, own
            ),
            method="followed", access="load", arg=argument.name,
            address_offset=first_byte(unwritten) - origin,
            lanes=unwritten.size // argument.element.bytes,
        ))  # fmt: skip

    def _of_operator(self, place: Place, first: Unwritten) -> _Row | None:
        """Return a finding at an operator's line, with the kernel that left out what it reads.

        None if operators computed all of it, whose own reads are findings.
        """
        unwritten, state = first.reading.unwritten, first.state
        for spoiling in state.spoilings:
            if is_computed(spoiling.doubt):
                unwritten = unwritten - spoiling.unwritten
        if not unwritten:
            return None
        writer = next(iter(self._follower.writers(state)), first.given)
        stored = None if writer is None else self._stored_by(writer, state)
        stored = stored and stored.facing(unwritten)
        copied = None if first.source is None else self._stored_by(first.source)
        birth, history = self._places.birth(first.birth), ""
        if stored is not None:
            size, offset = stored.argument.element.bytes, stored.argument.offset_bytes
            name = stored.argument.name
            text = self._history(first.birth, state, unwritten, size, offset, first.given)
            history = f": {text}"
        else:
            tensor = self._memory.operators[place.row].tensors[place.argument]
            size, offset = tensor.element_bytes if tensor.has_known_size else 1, 0
            of = self._source(first.birth, state, unwritten)
            name = f"what {birth} made{of}"
            if copied is not None:
                name, history = f"a copy of {copied.argument.name}", f": {birth} made the copy{of}"
        often = f", in {plural(first.count, 'call')}" if first.count > 1 else ""
        effect = self._memory.operators[place.row].effects.effects[place.argument]
        verb = "adds to some of" if effect is not None and effect.adds else "reads"
        which = elements(whole_elements(unwritten, state.unwritten, offset, size), offset, size)
        message = (
            f"{self._places.operator(place.row)} {verb} {which} of "
            f"{name}, and {self._made(state, unwritten, which)}{often}{history}"
        )
        return self._operator_row(place, READ, "violation", message, by=stored or copied)

    def _leftover(self, place: Place, leftover: Leftover) -> _Row:
        unwritten = leftover.state.unwritten
        stored = None if place.kind == "operator" else self._stored_by(place, leftover.state)
        stored = stored and stored.facing(unwritten)
        brought = self._brought(leftover.state, unwritten)
        made = None if brought is None else self._carried(brought)
        if stored is None:
            tensor = self._memory.operators[place.row].tensors[place.argument]
            size, offset = tensor.element_bytes, 0
            name = f"what {self._places.birth(leftover.birth)} made"
        else:
            size, offset = stored.argument.element.bytes, stored.argument.offset_bytes
            name = stored.argument.name
        which = elements(unwritten, offset, size)
        were = "was" if is_one(which) else "were"
        never = f"{were} never written, nor" if made is None else f"{were} {made}, and not"
        message = (
            f"{which} of {name} {never} read in this run: "
            f"{self._history(leftover.birth, leftover.state, unwritten, size, offset)}"
        )
        if stored is None:
            return self._operator_row(place, RESULT, "violation", message)
        return self._row(*stored.verdict(RESULT, message, unwritten))

    def _made(self, state: State, unwritten: ByteRanges, which: str) -> str:
        """Return why bytes of a state, `which` in words, count as unwritten: nobody wrote them."""
        brought = self._brought(state, unwritten)
        if brought is not None:
            return f"{'it was' if is_one(which) else 'they were'} {self._carried(brought)}"
        if any(spoiling.reaches(unwritten) for spoiling in state.spoilings):
            return f"nobody wrote what {'it is' if is_one(which) else 'they are'} made of"
        return f"nobody wrote {'it' if is_one(which) else 'them'}"

    def _brought(self, state: State, unwritten: ByteRanges) -> CarriedValues | None:
        """Return the values that a call brought into some bytes from elsewhere, if one did."""
        values = state.spoiling_of(unwritten)
        return values if isinstance(values, CarriedValues) else None

    def _carried(self, values: CarriedValues) -> str:
        """Return from where a call brought values."""
        kernel, source = values.call.kernel, values.call.tensor(values.source)
        if values.origin is None:
            return f"made by {kernel} of what it reads beyond {source.name}"
        return f"copied by {kernel} from what nobody wrote of {source.name}"

    def _source(self, birth: Birth, state: State, unwritten: ByteRanges) -> str:
        """Return who made the memory of which a storage has unwritten values, "" if it did."""
        source = state.birth_of(unwritten, birth)
        if source is None or source == birth:
            return ""
        return f", with values of what {self._places.birth(source)} made"

    def _unused(self, foreign: CarriedValues) -> _Row:
        """Return the verdict that no harm came of a load that leaves its storage."""
        call = foreign.call
        source, target = (call.arguments[i].name for i in (foreign.source, foreign.target))
        return self._row(call, Verdict(
            READ, "proven", foreign.op, f"nothing in this run uses what it reads beyond {source} "
            f"and stores in {target}", method="followed", access="load", arg=target,
        ))  # fmt: skip

    def _undeclared(self, place: Place, writer: Place) -> _Row:
        stored = self._stored_by(writer)
        assert stored is not None  # it wrote
        message = (
            f"{stored.argument.name} is written inside of {self._places.operator(place.row)}, "
            "whose schema says that it only reads it: torch.compile may move it past other uses"
        )
        return self._row(*stored.verdict(DECLARED, message))

    def _stored_by(self, place: Place, state: State | None = None) -> _Stored | None:
        """Return the call at a place with its stores; None: it has no IR, or no store there.

        It is the call with the contents of the launch that led to a state; of the first launch if
        none did.
        """
        effect = None if state is None else self._follower.writers(state).get(place)
        judged = self._memory.calls[place.row] if effect is None else self._memory.by_effect(effect)
        stored = judged.effects.get(place.argument)
        argument = None if judged.call is None else judged.call.arguments[place.argument]
        if not isinstance(argument, TensorArgument) or stored is None or not stored.stores:
            return None
        assert judged.call is not None
        return _Stored(judged.call, argument, stored)

    def _history(
        self, birth: Birth, state: State, unwritten: ByteRanges, size: int, origin: int,
        given: Place | None = None, own: _Stored | None = None,
    ) -> str:  # fmt: skip
        """Return who made a storage, and who wrote to it in part and why no more.

        `size` is that of an element in bytes, which are counted from byte `origin` of the storage;
        `own` is what the reading call stores.
        """
        brought = self._brought(state, unwritten)
        if brought is not None and brought.origin is not None:
            of = brought.origin
            own = _Stored(brought.call, of.argument, of.effect) if of.effect.stores else None
            begin = of.argument.offset_bytes + of.shift
            return self._history(
                of.birth, of.state, of.unwritten, of.argument.element.bytes, begin, own=own
            )
        texts = [f"{self._places.birth(birth)} made it{self._source(birth, state, unwritten)}"]
        if brought is not None:
            return texts[0]
        writers = self._follower.writers(state)
        for place in (list(writers) or ([] if given is None else [given]))[:2]:
            stored = self._stored_by(place, state)
            if stored is not None:
                texts.append(stored.text(unwritten, size, origin))
        is_of_kernel = bool(writers) or given is not None
        operators = self._follower.writing_operators(state).items()
        made_by = birth.row if birth.is_by_operator else None
        for place, effect in [o for o in operators if o[0].row != made_by][:2]:
            texts.append(
                f"{self._places.operator(place.row)} wrote {part(effect.writes, origin, size)}"
            )
        if own is not None and not is_of_kernel and own.leaves_out(unwritten):
            texts.append(own.text(unwritten, size, origin))
        if len(texts) == 1 and not is_of_kernel:
            texts.append(
                "and nothing wrote to it" if own is None else "and nothing wrote to it before"
            )
        return ", ".join(texts)


_WHY: Final = {
    "mask": "; {its} mask admits no lane for the others",
    "branch": "; no program comes to {that} store for the others",
    "grid": "; no program and trip has their addresses",
}


class _Stored(Struct, frozen=True):
    """A call, a tensor of it, and what it does to the tensor's storage: it has stores to it."""

    call: Call
    argument: TensorArgument
    effect: StorageEffect

    def verdict(
        self, rule: str, message: str, unwritten: ByteRanges | None = None
    ) -> tuple[Call, Verdict]:
        """Return a violation at the first store, with the unwritten bytes of the storage."""
        argument, begin = self.argument, self.argument.offset_bytes
        site = self.effect.stores[0] if unwritten is None else self._at_fault(unwritten)[0]
        return self.call, Verdict(
            rule, "violation", site.op, message,
            method="followed", access="store", arg=argument.name,
            address_offset=None if unwritten is None else first_byte(unwritten) - begin,
            lanes=None if unwritten is None else unwritten.size // argument.element.bytes,
        )  # fmt: skip

    def facing(self, missing: ByteRanges) -> _Stored:
        """Return it with the argument of the store at fault for missing bytes of the storage."""
        args, call = self.effect.args, self.call
        if len(args) < 2:
            return self
        argument = call.tensor(argument_of(call, args, self._at_fault(missing)[0].op))
        return _Stored(call, argument, self.effect)

    def leaves_out(self, missing: ByteRanges) -> bool:
        """Return whether the call is known to store to the storage, and none of some bytes."""
        stored = self.effect.writes
        return bool(stored) and not stored & missing

    def text(self, missing: ByteRanges, size: int, origin: int) -> str:
        """Return what the call wrote, and why it left out some bytes of the storage.

        `size` is that of an element in bytes, which are counted from byte `origin` on.
        """
        kernel, stored, sites = self.call.kernel, self.effect.writes, self.effect.stores
        if not any(site.runs for site in sites):
            return f"{kernel} has a store to it that no program reaches"
        is_known = not self.effect.unlisted_writes
        own = self.argument.element.bytes
        written = part(stored, origin, own) if is_known else "an unknown part of it"
        written += f", counted as {self.argument.dtype}" if is_known and own != size else ""
        site, why = self._at_fault(missing)
        line = next((frame.line for frame in source_stack(site.op)), None)
        is_one = len(sites) == 1 or line is None
        its = "its" if is_one else f"line {line}'s"
        that = "that" if is_one else f"line {line}'s"
        text = _WHY.get(why or "", "").format(its=its, that=that)
        if why == "grid" and stored:
            text += _gap(stored, missing)
        return f"{kernel} stored {written}{text}"

    def _at_fault(self, missing: ByteRanges) -> tuple[Storing, Why | None]:
        """Return the store that has most to do with missing bytes, and why it leaves them out.

        It has their addresses, but a mask or a branch keeps it from them; else it is the first.
        """
        reasons = missing_stores(self.call, self.effect, missing)
        stores = list(zip(self.effect.stores, reasons, strict=True))
        return next((store for store in stores if store[1] in ("mask", "branch")), stores[0])


def _gap(stored: ByteRanges, missing: ByteRanges) -> str:
    """Return why a store has no address of missing bytes, by where they lie."""
    if first_byte(missing) >= stored.array[-1, 1]:
        return ": its grid or a loop is too small"
    return (
        ": a tile, stride or step leaves gaps" if first_byte(missing) > first_byte(stored) else ""
    )


def _id_of(identity: str) -> str:
    return sha256(identity.encode()).hexdigest()[:32]
