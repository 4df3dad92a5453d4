"""Effects of a run's calls and operators on memory, and their places in the user's program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import dropwhile
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.addons.memory.carried_values import CarriedValues, Uses, foreign_values
from kvtrace.addons.memory.effects import StorageEffect, depends_on_contents, effects_of
from kvtrace.addons.memory.given_storages import CallStorage
from kvtrace.addons.memory.lives import Birth
from kvtrace.addons.memory.operator_effects import (
    SHARING,
    Operator,
    OperatorTensor,
    Within,
    operator_effects,
)
from kvtrace.addons.memory.states import Effect
from kvtrace.evaluate import TensorArgument
from kvtrace.figures.lines import is_plumbing, place_of
from kvtrace.ir.locations import Frame
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.recorded_calls.recorded import Call, KnownLaunches, UnreadyCall
from kvtrace.schema.trace import Run, Trace


class Places:
    """Names of operators, and the lines that called them and generated code, of a run."""

    def __init__(self, trace: Trace, run: Run, operators: Mapping[int, Operator]) -> None:
        """Read allocations and stacks. Errors as `Trace.table`."""
        self._operators = operators
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
        if birth.is_by_operator:
            return self.operator(birth.row)
        if birth.origin in ("unseen", "host"):
            return "code that kvtrace does not see"
        stack_id = self._allocation_stacks.get(birth.row)
        if stack_id is None:
            return "an unnamed operator"  # as its schema says, the allocation lies within one
        return f"generated code{self._at(stack_id)}"

    def allocated_at(self, birth: Birth) -> str:
        """Return the line that made a storage without values, as model.py:12.

        Empty if an operator made it with values (a copy of what nobody wrote), or no line did.
        """
        if not birth.is_by_operator:
            return self._line(self._allocation_stacks.get(birth.row))
        operator = self._operators.get(birth.row, _UNNAMED)
        return self._line(operator.stack_id) if operator.is_empty else ""

    def operator(self, operator_id: int) -> str:
        """Return an operator's name and place: that of its first call, except for empty memory."""
        operator = self._operators.get(operator_id, _UNNAMED)
        name, place = _said(operator.name), self._at(operator.stack_id)
        return (
            f"{name}{place}" if not place or operator.is_empty else f"{name} (first called{place})"
        )

    def frames(self, operator_id: int) -> list[Frame]:
        """Return the frames of an operator's first call, from the program's innermost line on."""
        return self._own_frames(self._operators.get(operator_id, _UNNAMED).stack_id)

    def birth_frames(self, birth: Birth) -> list[Frame]:
        """Return the frames that made a storage, from the program's innermost line on."""
        if birth.is_by_operator:
            return self.frames(birth.row)
        return self._own_frames(self._allocation_stacks.get(birth.row))

    def _own_frames(self, stack_id: int | None) -> list[Frame]:
        rows = self._frames.get(stack_id) or ()
        program_rows = dropwhile(lambda row: is_plumbing(row["file"]), rows)
        return [
            Frame(row["file"], row["line"], row["column"], row["function"])
            for row in list(program_rows) or rows
        ]

    def _at(self, stack_id: int | None) -> str:
        line = self._line(stack_id)
        return f" at {line}" if line else ""

    def _line(self, stack_id: int | None) -> str:
        place = place_of(self._frames.get(stack_id) or ())
        return "" if place is None else place.short


#: An operator that the table lacks.
_UNNAMED: Final = Operator("?", (), operator_effects("?", ()))


def _base(name: str) -> str:
    """Return an operator's name without its overload."""
    return name.partition(".")[0]


def _said(name: str) -> str:
    """Return how users call an operator: torch.empty for aten::empty.memory_format."""
    base = _base(name)
    return f"torch.{base.removeprefix('aten::')}" if base.startswith("aten::") else base


_ADDRESSED: Final = ("tensor", "descriptor")
#: Most distinct contents of a call for which effects are derived, some milliseconds each.
_MOST_CONTENTS: Final = 1024


class JudgedCall(Struct, frozen=True):
    """A unique call and what it does to its storages; `call` is None without IR.

    `elsewhere` as in `CallEffects`. `lacks_contents`: of further launches, contents were not kept.
    """

    call: Call | None
    storages: tuple[CallStorage, ...]
    elsewhere: bool = False
    lacks_contents: bool = False

    @property
    def effects(self) -> dict[int, StorageEffect]:
        """Effects that are derived, by the argument of the `CallStorage`."""
        of = {storage.argument: storage.effect for storage in self.storages}
        return {key: effect for key, effect in of.items() if isinstance(effect, StorageEffect)}


class RunMemory:
    """Effects of a run's calls and operators on memory, and the places of the operators."""

    def __init__(self, trace: Trace, run: Run) -> None:
        """Derive the effects of all calls. Errors as `Trace.table`."""
        self.calls: dict[int, JudgedCall] = {}
        self.launches: dict[int, JudgedCall] = {}
        """By `launches.seq`: with contents of the launch, where launches of a call had others."""
        arguments = {
            row["call_id"]: row["args"] or ()
            for row in trace.table("calls", (run,), ["call_id", "args"]).to_pylist()
        }
        for call in calls_of(trace, run):
            judged = _judged_call(call, arguments[call.call_id])
            if isinstance(call, Call) and call.launches and depends_on_contents(call):
                judged, launches = _judged_launches(judged, call.launches, arguments[call.call_id])
                self.launches |= launches
            self.calls[call.call_id] = judged
        columns = ["operator_id", "name", "tensors", "stack_id"]
        rows = trace.table("operators", (run,), columns).to_pylist()
        within = _torchs_stacks(trace, run)
        self.operators = {row["operator_id"]: _operator(row, within) for row in rows}
        self.places = Places(trace, run, self.operators)
        self._by_effect: dict[Effect, JudgedCall] = {}

    def at(self, call_id: int, seq: int | None) -> JudgedCall:
        """Return what a call does at a launch."""
        judged = None if seq is None else self.launches.get(seq)
        return judged or self.calls[call_id]

    def by_effect(self, effect: Effect) -> JudgedCall:
        """Return the call, with the contents of a launch, that has an effect on a storage."""
        if not self._by_effect:
            self._by_effect = {
                storage.effect: judged for judged in self._judged for storage in judged.storages
            }
        return self._by_effect[effect]

    def foreign(self) -> list[CarriedValues]:
        """Return the foreign values that calls store."""
        storages = (storage for judged in self._judged for storage in judged.storages)
        return [s.foreign for s in storages if isinstance(s.foreign, CarriedValues)]

    @property
    def _judged(self) -> tuple[JudgedCall, ...]:
        return (*self.calls.values(), *self.launches.values())


def _judged_call(call: Call | UnreadyCall, arguments: Sequence[Mapping[str, Any]]) -> JudgedCall:
    """Return what a call does; one that cannot be evaluated may do anything to its tensors."""
    addressed = [argument for argument in arguments if argument["kind"] in _ADDRESSED]
    if isinstance(call, UnreadyCall):
        return JudgedCall(
            None,
            tuple(
                CallStorage(
                    position, position, argument["offset_bytes"] or 0, argument["storage_bytes"],
                    Effect.anywhere(argument["storage_bytes"], call.reason),
                )
                for position, argument in enumerate(addressed)
                if argument["storage_bytes"]
            ),
        )  # fmt: skip
    positions = {argument["name"]: position for position, argument in enumerate(addressed)}
    storages: list[CallStorage] = []
    of_call = effects_of(call)
    foreign = foreign_values(of_call.boxing, of_call.storages) if of_call.boxing else {}
    for effect in of_call.storages:
        tensors = [
            (positions[argument.name], index, argument.offset_bytes)
            for index, argument in ((index, call.arguments[index]) for index in effect.args)
            if isinstance(argument, TensorArgument) and argument.name in positions
        ]
        reached = call.tensor(effect.args[0])
        if not tensors and reached.name not in positions:
            tensors = [(-1, effect.args[0], 0)]
        if not effect.size or (tensors[0][0] < 0 and reached.storage.address is None):
            continue
        (position, index, offset), *others = tensors
        distances = tuple((other, distance - offset) for other, _, distance in others)
        storages.append(
            CallStorage(
                position,
                index,
                offset,
                effect.size,
                effect,
                distances,
                bool(effect.stores),
                foreign.get(effect),
                Uses(call, effect, of_call.storages) if effect.loads else None,
                reached.storage.address if position < 0 else None,
            )
        )
    return JudgedCall(call, tuple(storages), of_call.elsewhere)


def _judged_launches(
    first: JudgedCall, known: KnownLaunches, arguments: Sequence[Mapping[str, Any]]
) -> tuple[JudgedCall, dict[int, JudgedCall]]:
    """Return what a call does at launches with unknown contents, and at the others by their `seq`.

    `first` is what it does with the first contents.
    """
    contents = known.contents
    launches: dict[int, JudgedCall] = {}
    for held in contents.sets[:_MOST_CONTENTS]:
        judged = first
        if held is not contents.sets[0]:
            call, partial_names = known.call(held)
            if partial_names:
                continue
            judged = _judged_call(call, arguments)
        launches |= dict.fromkeys(held.launches, judged)
    if len(launches) < contents.launches:
        judged = _judged_call(known.call(None)[0], arguments)
        return replace(judged, lacks_contents=contents.is_full), launches
    return first, launches if len(contents.sets) > 1 else {}


#: Files of torch and functions in them within which an operator is given a storage by torch.
_OF_TORCH: Final[Mapping[Within, tuple[str, re.Pattern[str]]]] = {
    "load": ("/torch/serialization.py", re.compile(r"(_legacy)?_?load")),
    "share": ("/torch/storage.py", re.compile(r".*_share_(fd|filename)_cpu_")),
}


def _torchs_stacks(trace: Trace, run: Run) -> dict[int, Within]:
    """Return what the stacks are within, of those that are within such functions."""
    return {
        stack["stack_id"]: within
        for stack in trace.table("stacks", (run,), ["stack_id", "frames"]).to_pylist()
        for within, (file, function) in _OF_TORCH.items()
        for frame in stack["frames"] or ()
        if (frame["file"] or "").endswith(file) and function.match(frame["function"] or "")
    }


def _operator(row: Mapping[str, Any], stacks: Mapping[int, Within]) -> Operator:
    name = row["name"] or "?"
    is_sharing = _base(name) in SHARING
    within = stacks.get(row["stack_id"]) if is_sharing else None
    is_viewing = is_sharing and within != "load"
    tensors = tuple(_operator_tensor(tensor, is_viewing) for tensor in row["tensors"] or ())
    return Operator(name, tensors, operator_effects(name, tensors), row["stack_id"], within)


def _operator_tensor(row: Mapping[str, Any], is_sharing: bool) -> OperatorTensor:
    """Return a tensor; one whose place was not recorded may be all of its storage."""
    dtype, shape, strides, offset = (
        row[column] for column in ("dtype", "shape", "strides", "offset_bytes")
    )
    if None in (dtype, shape, strides, offset) or None in (*shape, *strides):
        dtype, shape, strides, offset = "?", (), (), 0
    return OperatorTensor(
        role="viewed" if is_sharing and row["role"] == "created" else row["role"] or "written",
        dtype=dtype,
        is_of_host=row["device"] is None,
        shape=tuple(shape),
        strides=tuple(strides),
        offset_bytes=offset,
        storage_bytes=row["storage_bytes"] or 0,
    )
