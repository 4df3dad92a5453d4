"""The memory of a run, followed in order: who wrote a byte before it is read?

Launches, operators and allocations are put into the order of their times on the host, and each
storage has a state from its allocation on (`states.py`). Streams are not followed: what was
launched before counts as done before. A captured launch counts where it was captured.

What cannot be seen is not guessed: a storage that nothing recorded made counts as written, and what
reads it is *unknown*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from kvtrace.addons.memory.lives import Birth, Life, Lives
from kvtrace.addons.memory.operator_effects import OperatorEffects, OperatorTensor
from kvtrace.addons.memory.states import Effect, NewStates, Reading, State

Kind = Literal["launch", "operator"]

UNSEEN: Final = "its storage was made where kvtrace does not see it"


@dataclass(frozen=True, slots=True)
class CallStorage:
    """A storage of a call: which of a launch's addresses leads to it, and what the call does to it.

    `position` is an index in the launch's addresses, `argument` in the call's arguments; the
    storage begins `offset_bytes` before that address and has `size` bytes.
    """

    position: int
    argument: int
    offset_bytes: int
    size: int
    effect: Effect


@dataclass(frozen=True, slots=True)
class Operator:
    """A unique call of an operator: a row of the table `operators`, and what it does."""

    name: str
    tensors: tuple[OperatorTensor, ...]
    effects: OperatorEffects

    @property
    def is_torchs(self) -> bool:
        """Whether it is one of torch's own: what happens inside of it is not recorded apart."""
        return self.name.startswith("aten::")


class Launched(NamedTuple):
    """A launch, at its time in ns; `addresses` are the data pointers of its tensors."""

    time: int
    seq: int
    call_id: int
    addresses: Sequence[int]


class Operated(NamedTuple):
    """A call of an operator, at the time when it returned; it began at `begin` (both ns)."""

    time: int
    begin: int
    operator_id: int
    addresses: Sequence[int]


class Allocated(NamedTuple):
    """Memory that was allocated; `rounded` by an allocator that makes blocks larger than asked."""

    time: int
    row: int
    address: int
    size: int
    rounded: bool


class Freed(NamedTuple):
    """Memory that was freed."""

    time: int
    address: int


Event = Launched | Operated | Allocated | Freed


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor of a unique call or operator: `argument` is its index there."""

    kind: Kind
    row: int
    argument: int


@dataclass(slots=True)
class Unwritten:
    """The first read of unwritten bytes of a kind of storages, and how many of these were read.

    `state` is the storage's state before it, whose steps say who wrote to it; `seq` is the launch
    that read, None for an operator.
    """

    reading: Reading
    birth: Birth
    state: State
    seq: int | None
    count: int = 1


@dataclass(slots=True)
class Reads:
    """What is known of all reads at a place: how many of each answer, and why.

    `unwritten` has the violations by where the storage came from; `reason` is why the first
    unknown read is unknown.
    """

    proven: int = 0
    violations: int = 0
    unknown: int = 0
    unwritten: dict[Birth, Unwritten] = field(default_factory=dict)
    reason: str = ""

    @property
    def count(self) -> int:
        """How many reads there were."""
        return self.proven + self.violations + self.unknown

    def add(self, reading: Reading, life: Life, state: State, seq: int | None) -> None:
        """Add a read of a storage that was in a state."""
        if life.birth.origin == "unseen" or reading.answer == "unknown":
            self.unknown += 1
            self.reason = self.reason or reading.reason or UNSEEN
        elif reading.answer == "proven":
            self.proven += 1
        else:
            self.violations += 1
            known = self.unwritten.get(life.birth)
            if known is None:
                self.unwritten[life.birth] = Unwritten(reading, life.birth, state, seq)
            else:
                known.count += 1


class _Step(NamedTuple):
    """What a launch does to one storage, and what is known of its reads so far."""

    position: int
    offset_bytes: int
    size: int
    effect: Effect
    place: Place
    reads: Reads


@dataclass(frozen=True, slots=True)
class Leftover:
    """A storage that a kernel wrote in part and that nobody read: a result with unwritten bytes."""

    birth: Birth
    state: State


class Follower:
    """Follows the storages of a run from event to event, in the order of time.

    Attributes:
        leftovers: results with unwritten bytes, by the place that wrote them last.
        undeclared: the kernel that wrote a tensor inside of an operator whose schema says that it
            reads it, by the operator's tensor.
    """

    def __init__(
        self, calls: Mapping[int, Sequence[CallStorage]], operators: Mapping[int, Operator]
    ) -> None:
        """`calls` and `operators` have what each unique one does, by its id."""
        self._operators = operators
        self._lives, self._states = Lives(), NewStates()
        self._steps: dict[int, list[_Step]] = {}
        self._writers: dict[Effect, Place] = {}
        for call_id, storages in calls.items():
            self._steps[call_id] = []
            for storage in storages:
                place = Place("launch", call_id, storage.argument)
                self._writers[storage.effect] = place
                self._steps[call_id].append(
                    _Step(
                        storage.position,
                        storage.offset_bytes,
                        storage.size,
                        storage.effect,
                        place,
                        Reads(),
                    )
                )
        self._operator_reads: dict[Place, Reads] = {}
        self.leftovers: dict[Place, Leftover] = {}
        self.undeclared: dict[Place, Place] = {}

    @property
    def reads(self) -> dict[Place, Reads]:
        """What is known of the reads at each place where something was read."""
        steps = (step for steps in self._steps.values() for step in steps)
        by_call = {step.place: step.reads for step in steps if step.reads.count}
        return by_call | self._operator_reads

    def follow(self, events: Iterable[Event]) -> None:
        """Follow events in the order of their times, to the end of the run."""
        for event in events:
            if type(event) is Launched:
                self._launch(event)
            elif type(event) is Operated:
                self._operate(event)
            elif type(event) is Allocated:
                self._allocate(event)
            elif type(event) is Freed:
                self._end(self._lives.end(event.address))
        for life in self._lives:
            self._end(life)

    def writers(self, state: State) -> list[Place]:
        """Return the kernels that led to a state by their writes, the last one first."""
        places: dict[Place, None] = {}
        before = state.before
        while before is not None:
            place = self._writers.get(before[1])
            if place is not None:
                places[place] = None
            before = before[0].before
        return list(places)

    def _launch(self, event: Launched) -> None:
        time, seq, call_id, addresses = event
        lives = self._lives
        for position, offset_bytes, size, effect, place, reads in self._steps.get(call_id, ()):
            begin = addresses[position] - offset_bytes
            life = lives.at(begin, size)
            if life is None or life.size != size:
                life = self._life(begin, size, time)
            before = life.state
            life.state, reading = before.step(effect)
            if effect.may_write:
                life.written, life.writer, life.is_read = time, place, False
            if effect.may_read:
                life.is_read = True
                reads.add(reading, life, before, seq)

    def _operate(self, event: Operated) -> None:
        operator = self._operators[event.operator_id]
        if not operator.is_torchs:
            self._operate_around(operator, event)
            return
        moved = operator.effects.moves and self._passes_on(operator, event)
        effects = operator.effects.unsure if moved else operator.effects.effects
        for index, (tensor, effect) in enumerate(zip(operator.tensors, effects, strict=True)):
            if not tensor.storage_bytes:
                continue
            begin = event.addresses[index] - tensor.offset_bytes
            if tensor.role == "created":
                birth = Birth("operator", event.operator_id)
                life = self._new_life(begin, tensor.storage_bytes, birth, event.time, whole=False)
            else:
                life = self._life(begin, tensor.storage_bytes, event.time)
            if effect is not None:
                self._step(life, effect, Place("operator", event.operator_id, index), event.time)

    def _operate_around(self, operator: Operator, event: Operated) -> None:
        """Follow an operator of another library: what happened inside of it was followed already.

        What it was to write and nothing inside of it wrote, code wrote that kvtrace does not see.
        """
        self._note_undeclared(operator, event)
        for tensor, address, effect in zip(
            operator.tensors, event.addresses, operator.effects.writes, strict=True
        ):
            if effect is None or not tensor.storage_bytes:
                continue
            begin = address - tensor.offset_bytes
            life = self._lives.at(begin, tensor.storage_bytes)
            if life is None:
                birth = Birth("operator", event.operator_id)
                self._new_life(begin, tensor.storage_bytes, birth, event.time, whole=True)
            elif life.written < event.begin:
                life.state, _ = life.state.step(effect)

    def _note_undeclared(self, operator: Operator, event: Operated) -> None:
        begins = [
            address - tensor.offset_bytes
            for tensor, address in zip(operator.tensors, event.addresses, strict=True)
        ]
        tensors = list(zip(operator.tensors, begins, strict=True))
        declared = {begin for tensor, begin in tensors if tensor.role in ("written", "created")}
        for index, (tensor, begin) in enumerate(tensors):
            life = self._lives.at(begin, tensor.storage_bytes) if tensor.role == "read" else None
            if life is None or begin in declared or life.written < event.begin:
                continue
            if isinstance(life.writer, Place) and life.writer.kind == "launch":
                place = Place("operator", event.operator_id, index)
                self.undeclared.setdefault(place, life.writer)

    def _passes_on(self, operator: Operator, event: Operated) -> bool:
        """Return whether an operator that moves values may move bytes that nobody wrote.

        These reads are not judged: what it moves is judged where it is used.
        """
        for tensor, address, effect in zip(
            operator.tensors, event.addresses, operator.effects.effects, strict=True
        ):
            if tensor.role != "read" or effect is None or not tensor.storage_bytes:
                continue
            life = self._life(address - tensor.offset_bytes, tensor.storage_bytes, event.time)
            life.is_read = True
            _, reading = life.state.step(effect)
            if reading.answer != "proven":
                return True
        return False

    def _allocate(self, event: Allocated) -> None:
        birth = Birth("allocation", event.row)
        life = self._new_life(event.address, event.size, birth, event.time, whole=False)
        life.rounded = event.rounded

    def _life(self, begin: int, size: int, time: int) -> Life:
        """Return the storage at an address; one that nothing made is made here, as written."""
        life = self._lives.at(begin, size)
        if life is None:
            return self._new_life(begin, size, Birth("unseen"), time, whole=True)
        if life.size != size:  # the tensor of an allocation that was rounded up
            life.size, life.state, life.rounded = size, self._states.empty(size), False
        return life

    def _new_life(self, begin: int, size: int, birth: Birth, time: int, *, whole: bool) -> Life:
        state = self._states.whole(size) if whole else self._states.empty(size)
        life = Life(begin, size, state, birth, time)
        for old in self._lives.add(life):
            self._end(old)
        return life

    def _step(self, life: Life, effect: Effect, place: Place, time: int) -> None:
        """Follow what an operator does to a storage."""
        before = life.state
        life.state, reading = before.step(effect)
        if effect.may_write:
            life.written, life.writer, life.is_read = time, place, False
        if effect.may_read:
            life.is_read = True
            self._operator_reads.setdefault(place, Reads()).add(reading, life, before, None)

    def _end(self, life: Life | None) -> None:
        """Note a result that ends with bytes that nobody wrote, if a kernel wrote the others."""
        if life is None or life.is_read or not life.state.unwritten:
            return
        writers = self.writers(life.state)
        if writers:
            self.leftovers.setdefault(writers[0], Leftover(life.birth, life.state))
