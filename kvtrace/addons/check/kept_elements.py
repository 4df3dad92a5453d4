"""Two versions' results of one launch, element by element, within bounds that their IR gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.addons.check.comparing import evaluate_again
from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.narrow import foreign_roundings, narrow_sums
from kvtrace.evaluate.order import memory_sites
from kvtrace.evaluate.shadows.errors.analysis import Deviations
from kvtrace.evaluate.shadows.errors.exact_values import exact_values, held_elements
from kvtrace.evaluate.shadows.errors.roundings import Granted, rounding
from kvtrace.evaluate.types import value_type
from kvtrace.ir.ops import data_of
from kvtrace.ir.tensor_maps import within_extents
from kvtrace.schema.cached_property import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvtrace.addons.check.kept import CheckedLaunch, Piece, StorageAfter
    from kvtrace.converters.diff.model import Word
    from kvtrace.evaluate.shadows.errors.exact_values import ExactValues, Numbers
    from kvtrace.evaluate.shadows.errors.tt_memory import BoundedMemory
    from kvtrace.evaluate.types import ElementType
    from kvtrace.ir import Module
    from kvtrace.recorded_calls.recorded import Call

    _Lanes = NDArray[np.bool_]

#: A wider bound, beside the root mean square of an output, decides nothing: it would call what is
#: visibly another result the same. Rounding to the output's type comes on top.
_WIDEST: Final = 2.0**-4
#: Of so many numbers all are rounded in one direction once in 2,048 times.
_FEWEST: Final = 12
#: Shares of a bound that roundings of many numbers seldom reach, and of a few; and what constants
#: round, in roundings of the result.
_SHARES: Final = 1 / 8, 1 / 4
_CONSTANTS: Final = 4.0, 8.0
#: More than rounding a distance in float64 adds to it.
_UPWARDS: Final = 1 + 2.0**-20


@dataclass(frozen=True, slots=True)
class OutputAnswer:
    """Whether two versions of a launch left the same in an output.

    Attributes:
        same: The answer.
        elements: How many elements were compared.
        evidence: Why; empty where the answer is yes.
        equal: Whether all bits are equal.
        changed: Whether a version changed any of the elements.

    """

    same: Word
    elements: int
    evidence: str = ""
    equal: bool = False
    changed: bool = True


class LaunchPair:
    """A kept launch of each version, on the same inputs.

    Memory that both versions only write may differ before the launch. So BEFORE's IR is evaluated
    on the memory of AFTER's launch, too: elements that neither version writes are then what they
    were, and what AFTER's launch left is compared with what BEFORE's IR leaves there.
    """

    def __init__(self, before: CheckedLaunch, after: CheckedLaunch) -> None:
        self._before, self._after = before, after
        self._calls = before.call(), after.call()

    @property
    def after(self) -> CheckedLaunch:
        """AFTER's launch."""
        return self._after

    def outputs(self) -> dict[str, int]:
        """Return, by BEFORE's names, one output for each storage that was kept: its place."""
        places: dict[str, int] = {}
        for kept in {each.arg: each for launch in self._launches for each in launch.after}.values():
            written = [
                place
                for place in kept.arguments
                if any(_is_written(call.module, place) for call in self._calls)
            ]
            place = (written or kept.arguments)[0]
            places[self._calls[0].arguments[place].name] = place
        return places

    def place_of(self, output: str) -> int | None:
        """Return the place of BEFORE's argument of a name."""
        names = [each.name for each in self._calls[0].arguments]
        return names.index(output) if output in names else None

    def compare(self, place: int) -> OutputAnswer:
        """Compare what both launches left in the output at a place.

        Raises:
            KvtraceError: a version cannot be evaluated on these inputs.

        """
        kept = [_storage_at(launch, place) for launch in self._launches]
        b_kept, a_kept = kept
        if b_kept is None or a_kept is None:
            return OutputAnswer("not known", 0, "it was kept of one side alone")
        if spans(b_kept.pieces) != spans(a_kept.pieces):
            return OutputAnswer("not known", 0, "other parts of it were kept on both sides")
        held = _Held(self._tensor(0, place), b_kept), _Held(self._tensor(1, place), a_kept)
        lanes = held[0].lanes
        count = int(lanes.sum())
        equal = (held[0].bits == held[1].bits).all(axis=1)[lanes]
        if not any(each.is_changed for each in held):
            return OutputAnswer(
                "not known", count, "these launches change none of it", changed=False
            )
        if equal.all():
            return OutputAnswer("yes", count, equal=True)
        values = held[0].numbers[lanes], held[1].numbers[lanes]
        if not self._holds_floats(place):
            return self._of_other_bits(place, equal, values, lanes)
        was, is_now = (each.astype(np.float64) for each in values)
        exact = self._exactly_before.of(place, lanes)
        there = self._before_on_after.of(place, lanes)
        element = self._tensor(0, place).element
        within = _is_within(was, exact, element) & _is_within(is_now, there, element)
        within |= equal | (np.isnan(was) & np.isnan(is_now))
        if within.all():
            with np.errstate(all="ignore"):
                moved = is_now + (exact.exact - there.exact)
            if _is_one_sided(was, moved, exact, element):
                return OutputAnswer("not known", count, self._one_sided())
            return OutputAnswer("yes", count)
        return self._beyond(place, ~within, values, lanes, floats=True)

    # -- elements that BEFORE's bound does not decide ---------------------------------------------

    def _of_other_bits(
        self, place: int, equal: _Lanes, values: tuple[NDArray[Any], NDArray[Any]], lanes: _Lanes
    ) -> OutputAnswer:
        """Compare integers, and what is stored as another type than its tensor has."""
        sides = self._tensor(0, place).element, self._tensor(1, place).element
        if all(self._stored_types(place) == {element.name} for element in sides):
            return self._beyond(place, ~equal, values, lanes, floats=False)
        return self._undecided(~equal)

    def _beyond(
        self, place: int, left: _Lanes, values: tuple[NDArray[Any], NDArray[Any]], lanes: _Lanes, *,
        floats: bool,
    ) -> OutputAnswer:  # fmt: skip
        """Search for an element that no rounding of either version explains.

        What a launch left must be what its IR allows: else a race, a device or the evaluator is at
        fault, and the versions may well mean the same.
        """
        was, is_now = (each.astype(np.float64) for each in values)
        sides = self._widely_before.of(place, lanes), self._widely_after.of(place, lanes)
        allowed = [
            _is_allowed(value, side) for value, side in zip((was, is_now), sides, strict=True)
        ]
        limit = np.sum([side.worst + side.meaning for side in sides], axis=0)
        with np.errstate(all="ignore"):
            away = np.abs(is_now - was)
            away = np.where(
                np.isnan(away), np.where(np.isnan(was) & np.isnan(is_now), 0, np.inf), away
            )
        if not floats:  # float64 does not hold all integers
            away = np.where(limit == 0, np.inf, 0.0)
        others = left & allowed[0] & allowed[1] & np.isfinite(limit) & (away > limit * _UPWARDS)
        if floats:
            others &= np.isfinite(was) | ~np.isfinite(is_now)  # a number where there was none
        if not others.any():
            return self._undecided(left)
        at = int(np.argmax(np.where(others, away, -1.0)))
        tensor = self._tensor(0, place)
        index = _index(tensor, int(np.flatnonzero(lanes)[at]))
        before, after = (_text(each[at]) for each in values)
        text = f"element {index} is {after}, was {before}, in kept results"
        return OutputAnswer("no", len(left), f"{text} (launch {self._after.seq})")

    def _one_sided(self) -> str:
        text = (
            "all that differ are farther from zero, or all are nearer to it, by much of the bound"
        )
        return f"{text}, in kept results (launch {self._after.seq})"

    def _undecided(self, left: _Lanes) -> OutputAnswer:
        count = f"{int(left.sum()):,} of {len(left):,} elements differ"
        text = f"{count} in kept results (launch {self._after.seq}): by rounding, or not"
        return OutputAnswer("not known", len(left), text)

    # -- evaluations ------------------------------------------------------------------------------

    @property
    def _launches(self) -> tuple[CheckedLaunch, CheckedLaunch]:
        return self._before, self._after

    @cached_property
    def _exactly_before(self) -> _Evaluated:
        return _Evaluated(self._before, self._before.call(), Granted())

    @cached_property
    def _before_on_after(self) -> _Evaluated:
        before, after = self._before.call(), self._after.call()
        if all(
            is_equal(self._before.before[place], pieces)
            for place, pieces in self._after.before.items()
        ):
            return self._exactly_before
        return _Evaluated(self._before, replace(before, arguments=after.arguments), Granted())

    @cached_property
    def _widely_before(self) -> _Evaluated:
        if _is_narrow(self._calls[0].module):
            return _Evaluated(self._before, self._before.call(), Granted(narrow=True))
        return self._exactly_before

    @cached_property
    def _widely_after(self) -> _Evaluated:
        return _Evaluated(self._after, self._after.call(), Granted(narrow=True))

    # -- arguments --------------------------------------------------------------------------------

    def _tensor(self, side: int, place: int) -> TensorArgument:
        tensor = self._calls[side].arguments[place]
        assert isinstance(tensor, TensorArgument)
        return tensor

    def _holds_floats(self, place: int) -> bool:
        element = self._tensor(0, place).element
        return element.kind == "f" and self._stored_types(place) == {element.name}

    def _stored_types(self, place: int) -> set[str]:
        """Return the types of elements that either version stores to an output's storage."""
        return {
            name
            for call in self._calls
            for sharing in _sharing(call, place)
            for name in _types_stored(call.module, sharing)
        }


class _Evaluated:
    """A launch that was evaluated with the exact number beside each number."""

    def __init__(self, launch: CheckedLaunch, call: Call, granted: Granted) -> None:
        module = within_extents(call.module)
        deviations = Deviations(module, granted=granted)
        evaluate_again(launch, replace(call, module=module), deviations)
        if deviations.memory is None:
            raise Undecided("nothing was evaluated")
        deviations.memory.finish()
        self._call, self._open = call, deviations.open
        self._memory: BoundedMemory = deviations.memory

    def of(self, place: int, lanes: _Lanes) -> ExactValues:
        """Return the chosen elements of the storage of the tensor at a place."""
        for each in _sharing(self._call, place):
            sharing = self._call.arguments[each]
            assert isinstance(sharing, TensorArgument)
            if not self._memory.is_known(sharing):
                raise Undecided(f"what it stores to {sharing.name} depends on what was not kept")
        tensor = self._call.arguments[place]
        assert isinstance(tensor, TensorArgument)
        found = exact_values(tensor, self._memory, self._open, whole=True)
        return replace(
            found,
            evaluated=found.evaluated[lanes], exact=found.exact[lanes], worst=found.worst[lanes],
            near=found.near[lanes], meaning=found.meaning[lanes],
        )  # fmt: skip


class _Held:
    """What was kept of a storage after a launch, as elements of a tensor in it."""

    def __init__(self, tensor: TensorArgument, after: StorageAfter) -> None:
        held = np.zeros(tensor.storage.nbytes, np.uint8)
        known = np.zeros(tensor.storage.nbytes, np.bool_)
        for piece in after.pieces:
            end = piece.offset + len(piece.content)
            held[piece.offset : end], known[piece.offset : end] = piece.content, True
        size, phase = tensor.element.bytes, tensor.offset_bytes % tensor.element.bytes
        count = (len(held) - phase) // size
        whole = slice(phase, phase + count * size)
        self.numbers = held_elements(tensor, held)
        self.bits = held[whole].reshape(count, size)
        self.lanes: _Lanes = np.all(known[whole].reshape(count, size), axis=1)
        before = tensor.storage.data
        self.is_changed = before is not None and bool(np.any((held != before)[known]))


def _is_within(value: Numbers, exact: ExactValues, element: ElementType) -> _Lanes:
    """Tell which elements are within derived bounds that are narrow enough to decide."""
    finite = exact.exact[np.isfinite(exact.exact)]
    scale = float(np.sqrt(np.mean(finite * finite))) if finite.size else 0.0
    size = np.where(np.isfinite(exact.exact), np.abs(exact.exact), 0.0)
    widest = _WIDEST * np.maximum(size, scale) + rounding(element.name, size)
    with np.errstate(all="ignore"):
        away = np.where(value == exact.exact, 0.0, np.abs(value - exact.exact))
    return np.asarray((away <= exact.near) & (exact.near <= widest))


def _is_one_sided(was: Numbers, is_now: Numbers, exact: ExactValues, element: ElementType) -> bool:
    """Tell whether all numbers became larger, or all smaller, by more than constants round.

    Bounds hold for the worst case, in which all roundings go one way. A sum that is 2e-6 too large
    stays within them, and is that in every element, as no roundings are.
    """
    with np.errstate(all="ignore"):
        away = np.where(np.isfinite(was) & np.isfinite(is_now), np.abs(is_now) - np.abs(was), 0.0)
    pairs, first = np.unique(np.stack([was, is_now]), axis=1, return_index=True)
    apart = first[(pairs[0] != pairs[1]) & (away[first] != 0)]
    if not len(apart) or not (np.all(away[apart] > 0) or np.all(away[apart] < 0)):
        return False
    share, constants = ((a, b)[len(apart) < _FEWEST] for a, b in (_SHARES, _CONSTANTS))
    least = np.maximum(share * exact.near, constants * rounding(element.name, np.abs(was)))
    return bool(np.median(np.abs(away[apart]) - least[apart]) > 0)


def _is_allowed(value: Numbers, side: ExactValues) -> _Lanes:
    """Tell which elements are what a device may have left that keeps to the IR."""
    with np.errstate(all="ignore"):
        same = (value == side.exact) | (np.isnan(value) & np.isnan(side.exact))
        return np.asarray(same | (np.abs(value - side.exact) <= side.worst * _UPWARDS))


def _is_narrow(module: Module) -> bool:
    """Return whether a kernel loses what is granted only where that is asked for."""
    return any(True for _ in (*narrow_sums(module), *foreign_roundings(module)))


def _is_written(module: Module, place: int) -> bool:
    return any(site.kind != "load" and site.reaches(place) for site in memory_sites(module))


def _types_stored(module: Module, place: int) -> set[str]:
    return {
        value_type(value.type).element.name
        for site in memory_sites(module)
        if site.kind != "load" and site.reaches(place)
        for value in data_of(site.op)
    }


def _sharing(call: Call, place: int) -> Iterable[int]:
    tensor = call.arguments[place]
    assert isinstance(tensor, TensorArgument)
    return [
        each
        for each, other in enumerate(call.arguments)
        if isinstance(other, TensorArgument) and other.storage is tensor.storage
    ]


def _storage_at(launch: CheckedLaunch, place: int) -> StorageAfter | None:
    return next((each for each in launch.after if place in each.arguments), None)


def reads(module: Module, call: Call, place: int) -> bool:
    """Return whether a kernel may read the storage of the tensor at a place."""
    sites = [site for site in memory_sites(module) if site.kind != "store"]
    return any(site.reaches(each) for site in sites for each in _sharing(call, place))


def spans(pieces: Iterable[Piece]) -> tuple[tuple[int, int], ...]:
    """Return where pieces of a storage begin, and their sizes, in bytes."""
    return tuple((piece.offset, len(piece.content)) for piece in pieces)


def is_equal(first: Sequence[Piece], second: Sequence[Piece]) -> bool:
    """Return whether two storages held the same in the same places."""
    return spans(first) == spans(second) and all(
        np.array_equal(one.content, other.content) for one, other in zip(first, second, strict=True)
    )


def _index(tensor: TensorArgument, element: int) -> str:
    """Return the index of a storage's element in a tensor; outside of it, its offset."""
    steps = [
        np.arange(size) * stride for size, stride in zip(tensor.shape, tensor.strides, strict=True)
    ]
    offset = element - tensor.offset_bytes // tensor.element.bytes
    index = np.argwhere(np.asarray(sum(np.ix_(*steps)) if steps else 0) == offset)
    return str(index[0].tolist()) if len(index) and steps else str(offset)


def _text(number: np.generic) -> str:
    value = number.item()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
