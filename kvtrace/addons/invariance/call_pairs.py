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
    """Pair each call of AFTER with the most similar call of BEFORE.

    Both calls of a pair have tensors of the same element types, shapes and strides. Calls with the
    same grid and scalars are paired first, then those with the same floats, then the others, as a
    scalar may be the change. A call of BEFORE is in at most one pair.

    Args:
        before: Runs of the first version.
        after: Runs of the second version.
        kernels: Names of kernels, by AFTER; None: all.
        renamed: The names in BEFORE of kernels of AFTER that have another name there.
        reordered: Whether a kernel may have its tensors in another order.
    """
    after_calls, unready_after = _calls(after, kernels)
    unpaired_before, unready_before = _calls(
        before, None if kernels is None else {renamed.get(name, name) for name in kernels}
    )
    partners: dict[int, Call] = {}
    for key in (_key_of_all, _key_of_floats, _key_of_tensors):
        unpaired: dict[_Key, list[Call]] = {}
        for before_call in unpaired_before:
            unpaired.setdefault((before_call.kernel, *key(before_call, reordered)), []).append(
                before_call
            )
        for index, call in enumerate(after_calls):
            name = renamed.get(call.kernel, call.kernel)
            if index not in partners and (matches := unpaired.get((name, *key(call, reordered)))):
                partners[index] = matches.pop(0)
        unpaired_before = [before_call for matches in unpaired.values() for before_call in matches]
    pairs = tuple(CallPair(partners.get(index), call) for index, call in enumerate(after_calls))
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
    return [scalar.value for scalar in call.arguments if isinstance(scalar, ScalarArgument)]


def is_same_call(first: Call, second: Call) -> bool:
    """Return whether two calls have the same TTIR without names and lines, arguments and grid."""
    if first.grid != second.grid or len(first.arguments) != len(second.arguments):
        return False
    return _layouts(first) == _layouts(second) and _code(first) == _code(second)


def _layouts(call: Call) -> list[_Key]:
    """Return scalar values, and each tensor's type, shape, strides, storage and offset."""
    storages: list[int] = []
    layouts: list[_Key] = []
    for argument in call.arguments:
        if isinstance(argument, ScalarArgument):
            layouts.append((repr(argument.value),))
            continue
        storage = id(argument.storage)
        if storage not in storages:
            storages.append(storage)
        storage_and_offset = storages.index(storage), argument.offset_bytes
        layouts.append((argument.dtype, argument.shape, argument.strides, *storage_and_offset))
    return layouts


def _code(call: Call) -> list[_Key]:
    """Return the ops of a kernel as comparable tuples, without names and source lines."""
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
