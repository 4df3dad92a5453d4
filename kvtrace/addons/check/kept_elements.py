"""Comparison of two versions' results of one launch, element by element, within derived bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kvtrace.addons.check.comparing import evaluate_again, root_mean_square
from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.narrow import narrowing_ops
from kvtrace.evaluate.shadows.errors.analysis import Deviations
from kvtrace.evaluate.shadows.errors.exact_values import distances_of, exact_values, held_elements
from kvtrace.evaluate.shadows.errors.images import are_same
from kvtrace.evaluate.shadows.errors.roundings import GrantedRoundings, rounding
from kvtrace.evaluate.types import value_type
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.ir.tensor_maps import within_extents
from kvtrace.ir.updates import data_of
from kvtrace.schema.cached_property import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvtrace.addons.check.kept import CheckedLaunch, Piece, StorageAfter
    from kvtrace.converters.diff.model import Word
    from kvtrace.evaluate.shadows.errors.exact_values import ExactValues, Numbers
    from kvtrace.evaluate.types import ElementType
    from kvtrace.ir import Module
    from kvtrace.recorded_calls.recorded import Call

    _Lanes = NDArray[np.bool_]

#: Widest bound that decides, relative to the root mean square of an output: a wider one would call
#: visibly different results the same. Rounding to the output's type is added.
_WIDEST: Final = 2.0**-4
#: Factor that covers the rounding of a distance in float64.
_UPWARDS: Final = 1 + 2.0**-20


class OutputAnswer(Struct, frozen=True):
    """Comparison of what two versions of a launch left in an output.

    Attributes:
        same: The answer: yes, no or not known.
        elements: The number of compared elements.
        evidence: The reason; empty if the answer is yes.
        equal: All bits are equal.
        changed: At least one version's launch changed some of the elements.
    """

    same: Word
    elements: int
    evidence: str = ""
    equal: bool = False
    changed: bool = True


class LaunchPair:
    """Recorded launches of both versions with the same inputs.

    Memory that both versions only write may differ before the launch. So BEFORE's IR is also
    evaluated on the memory of AFTER's launch: elements that neither version writes then keep their
    values, and AFTER's results are compared with those of BEFORE's IR on the same memory.
    """

    def __init__(self, before: CheckedLaunch, after: CheckedLaunch) -> None:
        self._before, self._after = before, after
        self._calls = before.call(), after.call()

    @property
    def after(self) -> CheckedLaunch:
        """AFTER's launch."""
        return self._after

    def outputs(self) -> dict[str, int]:
        """Return, for each recorded storage, BEFORE's name and the position of one of its tensors.

        This is the first tensor that a version writes; the first of all if no version writes any.
        """
        position_by_name: dict[str, int] = {}
        storages = {after.arg: after for launch in self._launches for after in launch.after}
        for storage in storages.values():
            written_positions = [
                position
                for position in storage.arguments
                if any(_is_written(call.module, position) for call in self._calls)
            ]
            position = (written_positions or storage.arguments)[0]
            position_by_name[self._calls[0].arguments[position].name] = position
        return position_by_name

    def position_of(self, output: str) -> int | None:
        """Return the argument position of BEFORE's tensor `output`; None if there is none."""
        argument_names = [argument.name for argument in self._calls[0].arguments]
        return argument_names.index(output) if output in argument_names else None

    def compare(self, position: int) -> OutputAnswer:
        """Return whether both launches left the same result in the output at an argument position.

        Results are the same if they are equal bit for bit, or if each is within BEFORE's derived
        bound and they do not all deviate in the same direction.

        Raises:
            KvtraceError: a version cannot be evaluated on these inputs.
        """
        storages = [_storage_at(launch, position) for launch in self._launches]
        storage_before, storage_after = storages
        if storage_before is None or storage_after is None:
            return OutputAnswer("not known", 0, "the output was recorded on one side only")
        if spans(storage_before.pieces) != spans(storage_after.pieces):
            return OutputAnswer(
                "not known", 0, "different parts of the output were recorded on the two sides"
            )
        elements = (
            _RecordedElements(self._calls[0].tensor(position), storage_before),
            _RecordedElements(self._calls[1].tensor(position), storage_after),
        )
        lanes = elements[0].lanes
        count = int(lanes.sum())
        equal = (elements[0].bits == elements[1].bits).all(axis=1)[lanes]
        if not any(values_of_side.is_changed for values_of_side in elements):
            return OutputAnswer(
                "not known", count, "these launches do not change the output", changed=False
            )
        if equal.all():
            return OutputAnswer("yes", count, equal=True)
        values = elements[0].numbers[lanes], elements[1].numbers[lanes]
        if not self._holds_floats(position):
            return self._integer_answer(position, equal, values, lanes)
        was, is_now = (values_of_side.astype(np.float64) for values_of_side in values)
        exact = self._before_exactly.of(position, lanes)
        exact_on_after = self._before_on_inputs_of_after.of(position, lanes)
        element = self._calls[0].tensor(position).element
        within = _is_within(was, exact, element) & _is_within(is_now, exact_on_after, element)
        within |= equal | (np.isnan(was) & np.isnan(is_now))
        if within.all():
            with np.errstate(all="ignore"):
                moved = is_now + (exact.exact - exact_on_after.exact)
            if _is_one_sided(was, moved, exact, element):
                return OutputAnswer("not known", count, self._one_sided_text())
            return OutputAnswer("yes", count)
        return self._unexplained_difference(position, ~within, values, lanes, floats=True)

    # -- elements that BEFORE's bound does not decide ---------------------------------------------

    def _integer_answer(
        self, position: int, equal: _Lanes, values: tuple[NDArray[Any], NDArray[Any]], lanes: _Lanes
    ) -> OutputAnswer:
        """Compare integers; the answer is "not known" if the stored type is not the tensor's."""
        elements = self._calls[0].tensor(position).element, self._calls[1].tensor(position).element
        if all(self._stored_types(position) == {element.name} for element in elements):
            return self._unexplained_difference(position, ~equal, values, lanes, floats=False)
        return self._undecided_answer(~equal)

    def _unexplained_difference(
        self, position: int, differing: _Lanes, values: tuple[NDArray[Any], NDArray[Any]],
        lanes: _Lanes, *, floats: bool,
    ) -> OutputAnswer:  # fmt: skip
        """Return "no" with the worst element whose difference no rounding explains, else not known.

        Each launch's result must be within the bound of its own IR: otherwise a race, a device or
        the evaluator is at fault, and the versions may mean the same. `differing` are the elements
        in question; without `floats`, elements are exact integers.
        """
        was, is_now = (values_of_side.astype(np.float64) for values_of_side in values)
        exact_values = (
            self._before_with_wide_bounds.of(position, lanes),
            self._after_with_wide_bounds.of(position, lanes),
        )
        allowed = [
            _is_allowed(value, values_of_side)
            for value, values_of_side in zip((was, is_now), exact_values, strict=True)
        ]
        limit = np.sum(
            [values_of_side.worst + values_of_side.meaning for values_of_side in exact_values],
            axis=0,
        )
        distances = distances_of(is_now, was)
        if not floats:  # float64 does not hold all integers
            distances = np.where(limit == 0, np.inf, 0.0)
        unexplained = (
            differing
            & allowed[0]
            & allowed[1]
            & np.isfinite(limit)
            & (distances > limit * _UPWARDS)
        )
        if floats:
            unexplained &= np.isfinite(was) | ~np.isfinite(is_now)  # a number where there was none
        if not unexplained.any():
            return self._undecided_answer(differing)
        worst_index = int(np.argmax(np.where(unexplained, distances, -1.0)))
        tensor = self._calls[0].tensor(position)
        tensor_index = _index_text(tensor, int(np.flatnonzero(lanes)[worst_index]))
        before, after = (_number_text(values_of_side[worst_index]) for values_of_side in values)
        text = f"element {tensor_index} is {after}, was {before}, in kept results"
        return OutputAnswer("no", len(differing), f"{text} (launch {self._after.seq})")

    def _one_sided_text(self) -> str:
        text = (
            "all differing elements moved away from zero, or all towards it, by much of the bound"
        )
        return f"{text}, in kept results (launch {self._after.seq})"

    def _undecided_answer(self, differing: _Lanes) -> OutputAnswer:
        count = f"{int(differing.sum()):,} of {len(differing):,} elements differ"
        text = f"{count} in kept results (launch {self._after.seq}), maybe by rounding alone"
        return OutputAnswer("not known", len(differing), text)

    # -- evaluations ------------------------------------------------------------------------------

    @property
    def _launches(self) -> tuple[CheckedLaunch, CheckedLaunch]:
        return self._before, self._after

    @cached_property
    def _before_exactly(self) -> _Evaluation:
        return _Evaluation(self._before, self._before.call(), GrantedRoundings())

    @cached_property
    def _before_on_inputs_of_after(self) -> _Evaluation:
        before, after = self._before.call(), self._after.call()
        if all(
            have_equal_bytes(self._before.before[position], pieces)
            for position, pieces in self._after.before.items()
        ):
            return self._before_exactly
        return _Evaluation(
            self._before, replace(before, arguments=after.arguments), GrantedRoundings()
        )

    @cached_property
    def _before_with_wide_bounds(self) -> _Evaluation:
        if _is_narrow(self._calls[0].module):
            return _Evaluation(self._before, self._before.call(), GrantedRoundings(narrow=True))
        return self._before_exactly

    @cached_property
    def _after_with_wide_bounds(self) -> _Evaluation:
        return _Evaluation(self._after, self._after.call(), GrantedRoundings(narrow=True))

    # -- arguments --------------------------------------------------------------------------------

    def _holds_floats(self, position: int) -> bool:
        element = self._calls[0].tensor(position).element
        return element.kind == "f" and self._stored_types(position) == {element.name}

    def _stored_types(self, position: int) -> set[str]:
        """Return the names of element types that either version stores to an output's storage."""
        return {
            name
            for call in self._calls
            for shared_position in call.positions_in_storage(position)
            for name in _types_stored(call.module, shared_position)
        }


class _Evaluation:
    """A launch's evaluation that has for each stored number its exact value and error bounds."""

    def __init__(self, launch: CheckedLaunch, call: Call, granted: GrantedRoundings) -> None:
        deviations = Deviations(within_extents(call.module), granted=granted)
        self._memory = evaluate_again(launch, call, deviations)
        self._call, self._open = call, deviations.open

    def of(self, position: int, lanes: _Lanes) -> ExactValues:
        """Return exact values and bounds of the elements `lanes` of the storage of a tensor.

        Raises:
            Undecided: the stored values depend on memory that was not recorded.
        """
        for other_position in self._call.positions_in_storage(position):
            shared_tensor = self._call.tensor(other_position)
            if not self._memory.is_known(shared_tensor):
                raise Undecided(
                    f"the stored values of {shared_tensor.name} depend on unrecorded memory"
                )
        tensor = self._call.tensor(position)
        values = exact_values(tensor, self._memory, self._open, whole=True)
        return replace(
            values,
            evaluated=values.evaluated[lanes], exact=values.exact[lanes], worst=values.worst[lanes],
            near=values.near[lanes], meaning=values.meaning[lanes],
        )  # fmt: skip


class _RecordedElements:
    """Recorded contents of a storage after a launch, as elements of a tensor.

    `numbers` and `bits` have an entry for each element of the storage, and `lanes` whether all its
    bytes were recorded. `is_changed`: recorded bytes differ from before the launch.
    """

    def __init__(self, tensor: TensorArgument, after: StorageAfter) -> None:
        contents = np.zeros(tensor.storage.nbytes, np.uint8)
        is_recorded = np.zeros(tensor.storage.nbytes, np.bool_)
        for piece in after.pieces:
            end = piece.offset + len(piece.content)
            contents[piece.offset : end], is_recorded[piece.offset : end] = piece.content, True
        size, phase = tensor.element.bytes, tensor.offset_bytes % tensor.element.bytes
        count = (len(contents) - phase) // size
        whole = slice(phase, phase + count * size)
        self.numbers = held_elements(tensor, contents)
        self.bits = contents[whole].reshape(count, size)
        self.lanes: _Lanes = np.all(is_recorded[whole].reshape(count, size), axis=1)
        before = tensor.storage.data
        self.is_changed = before is not None and bool(np.any((contents != before)[is_recorded]))


def _is_within(value: Numbers, exact: ExactValues, element: ElementType) -> _Lanes:
    """Return for each element whether its value is within its bound, and the bound is narrow."""
    scale = root_mean_square(exact.exact)
    magnitudes = np.where(np.isfinite(exact.exact), np.abs(exact.exact), 0.0)
    widest = _WIDEST * np.maximum(magnitudes, scale) + rounding(element.name, magnitudes)
    with np.errstate(all="ignore"):
        distances = np.where(value == exact.exact, 0.0, np.abs(value - exact.exact))
    return np.asarray((distances <= exact.near) & (exact.near <= widest))


def _is_one_sided(was: Numbers, is_now: Numbers, exact: ExactValues, element: ElementType) -> bool:
    """Return whether all numbers moved away from zero, or all towards it, by more than rounding.

    Bounds hold for the worst case, in which all roundings go one way. A defect that makes every sum
    2e-6 too large stays within the bounds; but roundings do not have the same sign in every
    element. The median move must exceed an eighth of the bound, and four roundings of the result,
    which rounded constants may cost. Fewer than 12 numbers are all rounded in one direction by
    chance once in 2,048 times, so these must exceed twice as much.
    """
    with np.errstate(all="ignore"):
        growth = np.where(np.isfinite(was) & np.isfinite(is_now), np.abs(is_now) - np.abs(was), 0.0)
    pairs, first_positions = np.unique(np.stack([was, is_now]), axis=1, return_index=True)
    moved = first_positions[(pairs[0] != pairs[1]) & (growth[first_positions] != 0)]
    if not len(moved) or not (np.all(growth[moved] > 0) or np.all(growth[moved] < 0)):
        return False
    thresholds = np.maximum(exact.near / 8, 4 * rounding(element.name, np.abs(was)))
    if len(moved) < 12:
        thresholds *= 2
    return bool(np.median(np.abs(growth[moved]) - thresholds[moved]) > 0)


def _is_allowed(value: Numbers, side: ExactValues) -> _Lanes:
    """Return for each element whether a device that follows the IR may have left its value."""
    with np.errstate(all="ignore"):
        within = np.abs(value - side.exact) <= side.worst * _UPWARDS
        return np.asarray(are_same(value, side.exact) | within)


def _is_narrow(module: Module) -> bool:
    """Return whether a kernel has sums in narrow types or foreign roundings, which widen bounds."""
    return any(True for _ in narrowing_ops(module))


def _is_written(module: Module, position: int) -> bool:
    return any(site.kind != "load" and site.reaches(position) for site in memory_sites(module))


def _types_stored(module: Module, position: int) -> set[str]:
    return {
        value_type(value.type).element.name
        for site in memory_sites(module)
        if site.kind != "load" and site.reaches(position)
        for value in data_of(site.op)
    }


def _storage_at(launch: CheckedLaunch, position: int) -> StorageAfter | None:
    return next((after for after in launch.after if position in after.arguments), None)


def reads(module: Module, call: Call, position: int) -> bool:
    """Return whether a kernel may read the storage of the tensor at an argument position."""
    sites = [site for site in memory_sites(module) if site.kind != "store"]
    return any(
        site.reaches(other_position)
        for site in sites
        for other_position in call.positions_in_storage(position)
    )


def spans(pieces: Iterable[Piece]) -> tuple[tuple[int, int], ...]:
    """Return offset and size, in bytes, of each piece."""
    return tuple((piece.offset, len(piece.content)) for piece in pieces)


def have_equal_bytes(left: Sequence[Piece], right: Sequence[Piece]) -> bool:
    """Return whether two storages held the same bytes at the same offsets."""
    return spans(left) == spans(right) and all(
        np.array_equal(left_piece.content, right_piece.content)
        for left_piece, right_piece in zip(left, right, strict=True)
    )


def _index_text(tensor: TensorArgument, element: int) -> str:
    """Return a storage's element as an index of the tensor; outside of it, as an offset from it."""
    axis_offsets = [
        np.arange(size) * stride for size, stride in zip(tensor.shape, tensor.strides, strict=True)
    ]
    offset = element - tensor.offset_bytes // tensor.element.bytes
    index = np.argwhere(np.asarray(sum(np.ix_(*axis_offsets)) if axis_offsets else 0) == offset)
    return str(index[0].tolist()) if len(index) and axis_offsets else str(offset)


def _number_text(number: np.generic) -> str:
    value = number.item()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
