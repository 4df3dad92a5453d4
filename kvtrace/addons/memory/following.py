"""The memory of a run, followed in order: who wrote a byte before it is read?

Launches, operators and allocations are put into the order of their times on the host, and each
storage has a state from its allocation on (`states.py`). Streams are not followed: what was
launched before counts as done before. A captured launch counts where it was captured.

What reads a storage that nothing recorded made, or a copy of memory of the host, is *unknown*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from dataclasses import replace
from typing import Final, NamedTuple

from msgspec import Struct

from kvtrace.addons.memory.carried_values import Uses
from kvtrace.addons.memory.events import Allocated, Event, Freed, Launched, Operated
from kvtrace.addons.memory.given_storages import CallStorage, TensorUse, uses_by
from kvtrace.addons.memory.lives import Birth, Life, Lives, Place
from kvtrace.addons.memory.moves import made_of
from kvtrace.addons.memory.operator_effects import Operator
from kvtrace.addons.memory.reads import HOST_COPIED, UNSEEN_COPIED, Answered, Reads
from kvtrace.addons.memory.states import Effect, Spoiling, State
from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges

_ELSEWHERE: Final = (
    "a kernel stored at addresses that it made of integers or loaded from memory (tables are "
    "followed if KVTRACE_TENSORS=int records them)"
)
_OTHERWISE: Final = "the tensors lie otherwise in their storage than at the call's first launch"


class _Step(NamedTuple):
    """The effect of a launch on one storage, and the verdicts on its reads so far."""

    storage: CallStorage
    place: Place
    reads: Reads


class Leftover(Struct, frozen=True):
    """A storage that a kernel wrote in part and that nobody read: a result with unwritten bytes."""

    birth: Birth
    state: State


class Follower:
    """Follows the storages of a run from event to event, in the order of time.

    Attributes:
        launch_steps: the steps of launches that differ from their call, by `seq`.
        answers: a list to which the answer of each read is added; None: they are not listed.
        leftovers: results with unwritten bytes, by the place that wrote them last.
        spoiled: foreign values that calls stored; `carried` are those that an operator moved on.
        undeclared: the kernel that wrote a tensor inside of an operator whose schema says that it
            reads it, by the operator's tensor.
    """

    def __init__(
        self,
        calls: Mapping[int, Sequence[CallStorage]],
        operators: Mapping[int, Operator],
        launches: Mapping[int, tuple[int, Sequence[CallStorage]]] | None = None,
        elsewhere: Set[int] = frozenset(),
    ) -> None:
        """`calls` and `operators` have what each unique one does, by its id.

        `launches` have what launches do that differ from their call, by `seq`, with the call's id.
        Calls of `elsewhere` may store to any memory.
        """
        self._operators, self._stores_elsewhere = operators, elsewhere
        self.lives = Lives()
        self._new_states: dict[tuple[int, str], State] = {}
        self.answers: list[Answered] | None = None
        self._writers: dict[Effect, tuple[Place, Effect]] = {}
        self._operated: dict[Effect, tuple[Place, Effect]] = {}
        self._call_reads: dict[Place, Reads] = {}
        self._steps = {call_id: self._steps_of(call_id, of) for call_id, of in calls.items()}
        by_storages: dict[int, list[_Step]] = {}
        self.launch_steps: dict[int, list[_Step]] = {}
        for seq, (call_id, storages) in (launches or {}).items():
            if id(storages) not in by_storages:
                by_storages[id(storages)] = self._steps_of(call_id, storages)
            self.launch_steps[seq] = by_storages[id(storages)]
        self._moved: dict[tuple[Effect, int, int], Effect] = {}
        self._anywheres: dict[tuple[int, str], Effect] = {}
        self._spoilings: dict[tuple[object, ...], dict[int, Spoiling]] = {}
        self._copies: dict[tuple[Uses, State, Birth, int | None], Mapping[Effect, Spoiling]] = {}
        self._placings: dict[tuple[Spoiling, int | None, int], Spoiling] = {}
        self._uses: dict[int, list[TensorUse]] = {}
        self._operator_reads: dict[Place, Reads] = {}
        self.leftovers: dict[Place, Leftover] = {}
        self.spoiled: set[Spoiling] = set()
        self.carried: set[Spoiling] = set()
        self.undeclared: dict[Place, Place] = {}

    def _steps_of(self, call_id: int, storages: Sequence[CallStorage]) -> list[_Step]:
        steps: list[_Step] = []
        for storage in storages:
            place = Place("launch", call_id, storage.argument)
            self._writers[storage.effect] = place, storage.effect
            steps.append(_Step(storage, place, self._call_reads.setdefault(place, Reads())))
        return steps

    @property
    def reads(self) -> dict[Place, Reads]:
        """The verdicts on the reads at each place where something was read."""
        by_call = self._call_reads.items()
        return {place: r for place, r in by_call if r.answers} | self._operator_reads

    def follow(self, events: Iterable[Event]) -> None:
        """Follow events in the order of their times, to the end of the run."""
        self.advance(events)
        self.finish()

    def advance(self, events: Iterable[Event]) -> None:
        """Follow events in the order of their times."""
        for event in events:
            if type(event) is Launched:
                self._launch(event)
            elif type(event) is Operated:
                self._operate(event)
            elif type(event) is Allocated:
                self._allocate(event)
            elif type(event) is Freed:
                self._end(self.lives.end(event.address))

    def finish(self) -> None:
        """End the run, in the order in which storages were made."""
        for life in sorted(self.lives, key=lambda life: (life.made, life.begin)):
            self._end(life)

    def is_torchs(self, event: Operated) -> bool:
        """Return whether what happens inside of an operator is not recorded apart."""
        return self._operators[event.operator_id].is_torchs

    def reaches_all(self, event: Event) -> bool:
        """Return whether an event may store to any memory."""
        return type(event) is Launched and event.call_id in self._stores_elsewhere

    def regions(self, event: Event) -> Iterator[tuple[int, int]]:
        """Yield ranges of addresses [begin, end) of which an event asks for storages.

        What an event does depends on the storages there, and on nothing else that changes.
        """
        if type(event) is Launched:
            steps = self.launch_steps.get(event.seq, self._steps.get(event.call_id, []))
            for storage, *_ in steps:
                address = storage.address_in(event.addresses)
                begin = address - storage.offset_bytes
                yield begin, begin + storage.size
                yield address, address + 1
        elif type(event) is Operated:
            for tensor, address in self._operators[event.operator_id].placed(event):
                begin = address - tensor.offset_bytes
                yield begin, begin + max(tensor.storage_bytes, 1)
        elif type(event) is Allocated:
            yield event.address, event.address + max(event.size, 1)
        elif type(event) is Freed:
            yield event.address, event.address + 1

    def writers(self, state: State) -> dict[Place, Effect]:
        """Return the kernels that led to a state by their writes, the last one first.

        Of each, what its last launch that wrote does to the storage, as its `CallStorage` has it.
        """
        return self._led_to(state, self._writers)

    def writing_operators(self, state: State) -> dict[Place, Effect]:
        """Return the operators that led to a state by their writes, the last one first."""
        return self._led_to(state, self._operated)

    @staticmethod
    def _led_to(state: State, by: Mapping[Effect, tuple[Place, Effect]]) -> dict[Place, Effect]:
        places: dict[Place, Effect] = {}
        before = state.before
        while before is not None:
            writer = by.get(before[1])
            if writer is not None:
                places.setdefault(*writer)
            before = before[0].before
        return places

    def _launch(self, event: Launched) -> None:
        time, seq, call_id, addresses = event
        lives = self.lives
        touched: dict[Effect, tuple[Life, State, int | None]] = {}
        spoiled: list[tuple[Life, Spoiling]] = []
        copying: list[tuple[Effect, Uses]] = []
        is_as_first = True
        steps = self.launch_steps.get(seq)
        for step in self._steps.get(call_id, []) if steps is None else steps:
            storage, place, reads = step
            effect, address = storage.effect, storage.address_in(addresses)
            life = lives.at(address - storage.offset_bytes, storage.size)
            if life is None or life.size != storage.size:
                life, effect = self._elsewhere(step, address, time)
            for other, distance in storage.others:
                if addresses[other] - address != distance:
                    effect = self._anywhere(life.size, _OTHERWISE)
            if storage.foreign is not None:
                spoiled.append((life, storage.foreign))
            is_as_first = is_as_first and effect is storage.effect
            before = life.state
            for earlier, state, _ in touched.values():  # several tensors lie in it, as never before
                if earlier is life:
                    before = state
            is_known = effect.reason != _OTHERWISE
            shift = address - life.begin - storage.offset_bytes if is_known else None
            touched[storage.effect] = life, before, shift
            _, reading = before.step(effect)
            if reading.answer != "proven" and storage.uses is not None:
                if shift is not None:
                    used = storage.uses.effect
                    _, reading = before.step(
                        self._moved_by(used, shift, life.size) if shift else used
                    )
                    reads.drops |= reading.answer == "proven"
                copying.append((storage.effect, storage.uses))
            life.state, _ = life.state.step(effect)
            if effect.may_write:
                life.written, life.writer, life.is_read = time, place, False
            if effect.may_read:
                life.is_read = True
                life.is_missed |= reading.answer == "violation"
                answered = reads.add(reading, life, before, seq, address - life.begin)
                if self.answers is not None:
                    self.answers.append(answered)
            if storage.stores:
                life.given = place
        if is_as_first:  # else the storages may have room for what left them at the first launch
            for life, foreign in spoiled:
                self.spoiled.add(foreign)
                life.state = life.state.spoiled(foreign)
        for source, uses in copying:
            life, before, shift = touched[source]
            for effect, values in self._copied(uses, before, life.birth, shift).items():
                if effect not in touched:
                    continue  # its address was not recorded
                target, _, by = touched[effect]
                target.state = target.state.spoiled(self._placed(values, by, target.size))
        if call_id in self._stores_elsewhere:
            for reached in lives:
                if reached.state.unwritten:
                    effect = self._anywhere(reached.size, _ELSEWHERE)
                    reached.state, _ = reached.state.step(effect)

    def _copied(
        self, uses: Uses, before: State, birth: Birth, shift: int | None
    ) -> Mapping[Effect, Spoiling]:
        """Return what a launch copies of what nobody wrote, by the storages of the copies."""
        self.carried.update(before.spoilings)
        key = uses, before, birth, shift
        copied = self._copies.get(key)
        if copied is None:
            copied = self._copies[key] = uses.copied(before, birth, shift)
        return copied

    def _placed(self, values: Spoiling, shift: int | None, size: int) -> Spoiling:
        """Return values where the tensors of a launch lie, in a storage of `size` bytes."""
        if shift == 0:
            return values
        placed = self._placings.get((values, shift, size))
        if placed is None:
            placed = self._placings[values, shift, size] = values.placed(shift, size)
        return placed

    def _elsewhere(self, step: _Step, address: int, time: int) -> tuple[Life, Effect]:
        """Return the storage of a tensor that lies elsewhere in its storage than at first."""
        first, life = step.storage, self.lives.around(address)
        if life is None or life.rounded:
            return self._life(address - first.offset_bytes, first.size, time), first.effect
        moved = self._moved_by(first.effect, address - life.begin - first.offset_bytes, life.size)
        self._writers[moved] = step.place, first.effect
        return life, moved

    def _moved_by(self, effect: Effect, distance: int, size: int) -> Effect:
        key = effect, distance, size
        moved = self._moved.get(key)
        if moved is None:
            moved = self._moved[key] = effect.moved(distance, size)
        return moved

    def _anywhere(self, size: int, reason: str) -> Effect:
        effect = self._anywheres.get((size, reason))
        if effect is None:
            effect = self._anywheres[size, reason] = Effect.anywhere(size, reason)
        return effect

    def _operate(self, event: Operated) -> None:
        time, _, operator_id, addresses = event
        operator = self._operators[operator_id]
        uses = self._uses.get(operator_id)
        if uses is None:
            uses = self._uses[operator_id] = uses_by(operator_id, operator)
        if not operator.is_torchs:
            self._operate_around(operator, event)
            return
        unwritten: dict[int, Life] = {}
        unwritten_of_host: dict[int, Life] = {}
        written: list[tuple[Life, int]] = []
        written_of_host: list[tuple[Life, int]] = []
        for position, offset_bytes, size, is_of_host, birth, is_moved, effect, place in uses:
            begin = addresses[position] - offset_bytes
            if is_of_host:
                life = self._of_host(begin, size, time, birth)
                if operator.hands_over and not self._has_filled(operator, position, life):
                    self._of_host(begin, size, time, Birth("host"))
                elif effect is not None:
                    # a number of Python's is a tensor without an axis that nothing made
                    is_number = not operator.tensors[position].shape and life.birth.row < 0
                    if effect.may_read and not life.state.whole and not is_number:
                        unwritten_of_host[position] = copy(life)
                    if effect.may_write:
                        life.state, _ = life.state.step(effect)
                        written_of_host.append((life, position))
                continue
            if birth is not None:
                life = self._new_life(begin, size, birth, time)
            else:
                life = self._life(begin, size, time)
            if effect is None:
                continue
            if effect.may_read and not life.state.whole:
                unwritten[position] = copy(life)
            if is_moved:
                life.is_read = True  # what is moved is judged where it is used; the host uses it
                continue
            self._step(life, effect, place, time, offset_bytes)
            if effect.may_write:
                written.append((life, position))
        for sources, targets in (
            (unwritten | unwritten_of_host, written),
            (unwritten_of_host, written_of_host),  # what is copied to the host is judged there
        ):
            if sources and targets:
                self._pass_on(operator_id, operator, sources, targets)

    def _has_filled(self, operator: Operator, position: int, life: Life) -> bool:
        """Return whether an operator is given a number, or memory that torch filled at its line."""
        maker = None if life.birth.row < 0 else self._operators[life.birth.row]
        is_torchs = maker is not None and maker.is_empty and maker.stack_id == operator.stack_id
        return is_torchs or not operator.tensors[position].shape

    def _operate_around(self, operator: Operator, event: Operated) -> None:
        """Follow an operator of another library: what happened inside of it was followed already.

        What it was to write and nothing inside of it wrote, code wrote that kvtrace does not see.
        """
        self._note_undeclared(operator, event)
        unwritten: dict[int, Life] = {}
        written: list[tuple[Life, int]] = []
        for index, (tensor, address) in enumerate(operator.placed(event)):
            effect = operator.effects.writes[index]
            begin = address - tensor.offset_bytes
            life = self.lives.at(begin, tensor.storage_bytes)
            if effect is None:
                if tensor.role == "read" and life is not None and not life.state.whole:
                    unwritten[index] = copy(life)
            elif tensor.is_of_host and tensor.storage_bytes:
                self._of_host(begin, tensor.storage_bytes, event.time)
            elif tensor.storage_bytes and (life is None or life.written < event.begin):
                if life is None:
                    birth = Birth("operator", event.operator_id)
                    life = self._new_life(
                        begin, tensor.storage_bytes, birth, event.time, doubt=UNSEEN_COPIED
                    )
                life.state, _ = life.state.step(effect)
                written.append((life, index))
        if unwritten and written:
            self._pass_on(event.operator_id, operator, unwritten, written)

    def _note_undeclared(self, operator: Operator, event: Operated) -> None:
        begins = [address - tensor.offset_bytes for tensor, address in operator.placed(event)]
        tensors = list(zip(operator.tensors, begins, strict=True))
        declared = {begin for tensor, begin in tensors if tensor.role in ("written", "created")}
        for index, (tensor, begin) in enumerate(tensors):
            life = self.lives.at(begin, tensor.storage_bytes) if tensor.role == "read" else None
            if life is None or begin in declared or life.written < event.begin:
                continue
            if life.writer is not None and life.writer.kind == "launch":
                place = Place("operator", event.operator_id, index)
                self.undeclared.setdefault(place, life.writer)

    def _pass_on(
        self,
        operator_id: int,
        operator: Operator,
        unwritten: Mapping[int, Life],
        written: Sequence[tuple[Life, int]],
    ) -> None:
        """Note what an operator makes of memory that may not have been written, by its tensors.

        `unwritten` are copies of storages as they were before it.
        """
        states = {index: source.state for index, source in unwritten.items()}
        for state in states.values():
            self.carried.update(state.spoilings)
        births = (
            source.state.birth_of(source.state.unwritten, source.birth)
            for source in unwritten.values()
            if source.state.unwritten
        )
        birth = next(births, None)
        key = operator_id, tuple(states.items()), birth
        spoilings = self._spoilings.get(key)
        if spoilings is None:
            made = made_of(operator.name, operator.tensors, operator.effects, states)
            spoilings = self._spoilings[key] = {
                index: replace(spoiled, birth=birth) for index, spoiled in made.items()
            }
        writers = (
            next(iter(self.writers(source.state)), source.given or source.source)
            for source in unwritten.values()
        )
        source = next((writer for writer in writers if writer is not None), None)
        for life, index in written:
            spoiled = spoilings.get(index)
            if spoiled is not None:
                life.source = source
                life.state = life.state.spoiled(spoiled)

    def _of_host(self, begin: int, size: int, time: int, birth: Birth | None = None) -> Life:
        """Return memory of the host; what no operator wrote there may be written unseen.

        Its frees are not seen either. With a `birth`, it is new.
        """
        life = self.lives.at(begin, size)
        if birth is not None or life is None or life.birth.origin != "host":
            life = self._new_life(begin, size, birth or Birth("host"), time, doubt=HOST_COPIED)
        return life

    def _allocate(self, event: Allocated) -> None:
        if event.size <= 0:
            return  # an empty tensor has no memory, nor has a damaged row
        if event.is_of_host:
            self._of_host(event.address, event.size, event.time, Birth("host"))
            return
        birth = Birth("allocation", event.row)
        life = self._new_life(event.address, event.size, birth, event.time)
        life.rounded = event.rounded

    def _life(self, begin: int, size: int, time: int) -> Life:
        """Return the storage at an address; one that nothing made is made here, in doubt."""
        life = self.lives.at(begin, size)
        if life is None:
            return self._new_life(begin, size, Birth("unseen"), time, doubt=UNSEEN_COPIED)
        if life.size != size:  # the tensor of an allocation that was rounded up
            life.size, life.state, life.rounded = size, self._new_state(size), False
        return life

    def _new_life(self, begin: int, size: int, birth: Birth, time: int, *, doubt: str = "") -> Life:
        life = Life(begin, size, self._new_state(size, doubt), birth, time)
        for old in self.lives.add(life):
            self._end(old)
        return life

    def _new_state(self, size: int, doubt: str = "") -> State:
        """Return the state of bytes that nobody wrote, or of which that is in doubt."""
        state = self._new_states.get((size, doubt))
        if state is None:
            whole = ByteRanges.of(0, size)
            state = State(size, NOTHING, whole, doubt) if doubt else State(size, whole)
            self._new_states[size, doubt] = state
        return state

    def _step(self, life: Life, effect: Effect, place: Place, time: int, origin: int) -> None:
        """Follow what an operator does to a storage."""
        before = life.state
        life.state, reading = before.step(effect)
        if effect.may_write:
            life.written, life.writer, life.is_read = time, place, False
            self._operated[effect] = place, effect
        if effect.may_read:
            life.is_read = True
            life.is_missed |= reading.answer == "violation"
            reads = self._operator_reads.setdefault(place, Reads())
            answered = reads.add(reading, life, before, None, origin)
            if self.answers is not None:
                self.answers.append(answered)

    def _end(self, life: Life | None) -> None:
        """Note a result that ends with bytes that nobody wrote.

        It is one if a kernel wrote the others, or if an operator moved what nobody wrote there.
        """
        if life is None or life.is_read or life.is_missed or not life.state.unwritten:
            return
        if writers := self.writers(life.state):
            self.leftovers.setdefault(next(iter(writers)), Leftover(life.birth, life.state))
        elif life.state.spoilings and life.writer is not None and self._moves(life.writer):
            self.leftovers.setdefault(life.writer, Leftover(life.birth, life.state))

    def _moves(self, place: Place) -> bool:
        """Return whether a place is that of an operator that passes on values."""
        return place.kind == "operator" and self._operators[place.row].effects.moves
