"""Pairs of calls of two versions of a program: each call of AFTER with its call of BEFORE."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtrace.evaluate.arguments import ScalarArgument, TensorArgument
from kvtrace.recorded_calls.recorded import Call, UnreadyCall, calls_of

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection

    _Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class CallPair:
    """A call of AFTER and the call of BEFORE that its results are compared with; None: no call."""

    before: Call | None
    after: Call


@dataclass(frozen=True, slots=True)
class CallPairs:
    """The pairs of two versions of a program, and the calls of each that cannot be evaluated."""

    pairs: tuple[CallPair, ...]
    unready_before: tuple[UnreadyCall, ...]
    unready_after: tuple[UnreadyCall, ...]


def paired_calls(
    before: Selection,
    after: Selection,
    kernels: Collection[str] | None = None,
    renamed: Mapping[str, str] = {},
    *,
    reordered: bool = False,
) -> CallPairs:
    """Pair each call of AFTER with the call of BEFORE that is most like it.

    Both have the same tensors: element types, shapes and strides. Calls with the same grid and
    scalars are paired first, then calls with the same floats, then any other, since a scalar may be
    what was changed. A call of BEFORE is in one pair at most.

    Args:
        before: Runs of the first version.
        after: Runs of the second version.
        kernels: Names of kernels, by AFTER; None: all.
        renamed: The names in BEFORE of kernels of AFTER that have another name there.
        reordered: Whether a kernel may have its tensors in another order.

    """
    calls, unready_after = _calls(after, kernels)
    others, unready_before = _calls(
        before, None if kernels is None else {renamed.get(name, name) for name in kernels}
    )
    partners: dict[int, Call] = {}
    for key in (_key_of_all, _key_of_floats, _key_of_tensors):
        unpaired: dict[_Key, list[Call]] = {}
        for other in others:
            unpaired.setdefault((other.kernel, *key(other, reordered)), []).append(other)
        for number, call in enumerate(calls):
            name = renamed.get(call.kernel, call.kernel)
            if number not in partners and (same := unpaired.get((name, *key(call, reordered)))):
                partners[number] = same.pop(0)
        others = [other for same in unpaired.values() for other in same]
    pairs = tuple(CallPair(partners.get(number), call) for number, call in enumerate(calls))
    return CallPairs(pairs, unready_before, unready_after)


def _calls(
    selection: Selection, kernels: Collection[str] | None
) -> tuple[list[Call], tuple[UnreadyCall, ...]]:
    calls = [
        call
        for run in selection.runs
        for call in calls_of(selection.trace, run)
        if kernels is None or call.kernel in kernels
    ]
    return (
        [call for call in calls if isinstance(call, Call)],
        tuple(call for call in calls if isinstance(call, UnreadyCall)),
    )


def _key_of_all(call: Call, reordered: bool) -> _Key:
    return (*_key_of_tensors(call, reordered), call.grid, *_scalars(call))


def _key_of_floats(call: Call, reordered: bool) -> _Key:
    floats = [value for value in _scalars(call) if isinstance(value, float)]
    return (*_key_of_tensors(call, reordered), *floats)


def _key_of_tensors(call: Call, reordered: bool) -> _Key:
    tensors: list[_Key] = [
        (str(argument.dtype), argument.shape, argument.strides)
        for argument in call.arguments
        if isinstance(argument, TensorArgument)
    ]
    return tuple(sorted(tensors) if reordered else tensors)


def _scalars(call: Call) -> list[object]:
    return [each.value for each in call.arguments if isinstance(each, ScalarArgument)]


def is_same_call(first: Call, second: Call) -> bool:
    """Return whether two calls have the same TTIR without names and lines, arguments and grid."""
    if first.grid != second.grid or len(first.arguments) != len(second.arguments):
        return False
    return _layouts(first) == _layouts(second) and _code(first) == _code(second)


def _layouts(call: Call) -> list[_Key]:
    """Return scalars, and tensors by their layouts and places in memory, without contents."""
    storages: list[int] = []
    layouts: list[_Key] = []
    for argument in call.arguments:
        if isinstance(argument, ScalarArgument):
            layouts.append((repr(argument.value),))
            continue
        storage = id(argument.storage)
        if storage not in storages:
            storages.append(storage)
        place = storages.index(storage), argument.offset_bytes
        layouts.append((argument.dtype, argument.shape, argument.strides, *place))
    return layouts


def _code(call: Call) -> list[_Key]:
    """Return the ops of a kernel without names and lines."""
    return [
        (
            op.name,
            sorted((name, str(value)) for name, value in op.attributes.items()),
            [value.id for value in op.operands],
            [(value.id, value.type) for value in op.results],
            [
                [(value.id, value.type) for value in block.arguments]
                for region in op.regions
                for block in region.blocks
            ],
            -1 if op.block is None else op.block.region.owner.index,
        )
        for op in call.module.ops
    ]
