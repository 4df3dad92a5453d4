"""Comparison of memory after a launch with the IR's evaluation, by element, within radii."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Observer, OutOfBounds, TensorArgument, evaluate
from kvtrace.evaluate.errors import UNFIT, Undecided, UnfitOp
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.rounding import from_memory
from kvtrace.evaluate.scope import MOST_STEPS
from kvtrace.evaluate.shadows.errors.analysis import Radii
from kvtrace.evaluate.types import ElementType, element_of
from kvtrace.ir.tensor_maps import within_extents
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.addons.check.kept import CheckedLaunch, StorageAfter
    from kvtrace.evaluate.shadows.driver import Shadows
    from kvtrace.evaluate.shadows.errors.tt_memory import BoundedMemory
    from kvtrace.ir import Module
    from kvtrace.recorded_calls.recorded import Call

Answer = Literal["agrees", "differs", "undecided"]

_MAP_ROWS: Final = 32
_MAP_COLUMNS: Final = 64

_NOTHING_DECIDED: Final = "the error bounds of all elements are wider than their values"


@dataclass(frozen=True, slots=True)
class Worst:
    """The element farthest beyond its bound.

    `index` counts elements from the start of the storage, `offset` bytes. `bound` is the largest
    allowed distance of the device's value from the expected value.
    """

    index: int
    offset: int
    got: float
    expected: float
    bound: float


@dataclass(frozen=True, slots=True)
class TensorCheck:
    """The comparison of one storage after a launch.

    Attributes:
        argument: the name of the tensor in the storage.
        place: the tensor's position among the call's arguments.
        dtype: the element type of the comparison.
        elements: the number of compared elements.
        undecided: the number of elements whose bound is wider than their value.
        differing: byte offsets in the storage of elements beyond their bounds.
        worst: the element farthest beyond its bound; None without one.
        nearest: the largest distance, as a share of the bound, of elements within their bounds.
        bound: the median bound relative to the root mean square of the elements; 0: exact.
        map: the largest error of each part of the compared memory, relative to the root mean
            square, in rows of the tensor's last axis.
    """

    argument: str
    place: int
    dtype: str
    elements: int
    undecided: int
    differing: NDArray[np.int64]
    worst: Worst | None
    nearest: float
    bound: float
    map: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LaunchCheck:
    """The result of one launch; `reason` says why it, or some of its storages, are undecided."""

    answer: Answer
    tensors: tuple[TensorCheck, ...]
    reason: str = ""


class _BoundsGuard(Observer):
    """Observer that stops an evaluation outside of its tensors, where memory is unknown.

    On a device, memory beyond a storage may belong to another storage of the same launch. Of the
    arguments `views`, only the memory of their tensors was recorded.
    """

    def __init__(self, views: frozenset[int]) -> None:
        self._views = views

    def out_of_bounds(self, defect: OutOfBounds) -> None:
        """Raise Undecided."""
        writes = defect.kind == "store"
        if defect.rule == "out-of-view" and (writes or defect.argument not in self._views):
            return
        verb = "writes" if writes else "reads"
        raise Undecided(f"{place(defect.op)} {verb} outside of its tensor")


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive elements: offset in the storage, expected and the device's bytes, and radii."""

    offset: int
    expected: NDArray[np.uint8]
    got: NDArray[np.uint8]
    radii: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected contents of a storage after a launch; `place` is the tensor's argument position."""

    place: int
    tensor: TensorArgument
    element: ElementType
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Computed:
    """Expected contents of a launch's storages, from evaluating the launch.

    `reasons` say why some contents are unknown; `faults` name ops of the IR that come too early.
    """

    known: tuple[Expected, ...]
    reasons: tuple[str, ...]
    faults: tuple[str, ...] = ()


def expected(
    launch: CheckedLaunch, module: Module | None = None, *, may_leave: bool = False
) -> Computed:
    """Return the expected storages of a launch, evaluated from TTIR or another module.

    Args:
        launch: the launch.
        module: another module of the kernel; with TTIR, stores keep to descriptors' extents.
        may_leave: accesses may leave their tensors; memory that was not recorded is unknown.

    Raises:
        KvtraceError: the launch cannot be computed, or its result is not decided by its IR.
    """
    call = launch.call()
    module = module or within_extents(call.module)
    radii = Radii(module)
    evaluate_again(launch, replace(call, module=module), radii, may_leave=may_leave)
    memory, shared = radii.memory, radii.shared
    if memory is None or shared is None or not launch.after:
        raise Undecided("no memory that the launch writes was recorded")
    memory.finish()
    results = [_expected(call, memory, after) for after in launch.after]
    return Computed(
        tuple(result for result in results if isinstance(result, Expected)),
        tuple(result for result in results if isinstance(result, str)),
        tuple(shared.faults),
    )


def evaluate_again(
    launch: CheckedLaunch, call: Call, instrument: Shadows, *, may_leave: bool = False
) -> None:
    """Evaluate the recorded programs of a launch, with an instrument.

    Args:
        launch: The launch.
        call: The launch's call, or a modified copy.
        instrument: The instrument.
        may_leave: Accesses may leave their tensors; memory that was not recorded is unknown.

    Raises:
        KvtraceError: The launch cannot be evaluated.
    """
    programs = None if launch.programs is None else np.array(launch.programs, np.int64)
    try:
        evaluate(
            call.module,
            call.arguments,
            call.grid,
            kernel=call.kernel,
            observers=() if may_leave else (_BoundsGuard(launch.views),),
            programs=programs,
            instrument=instrument,
            most_steps=MOST_STEPS,
        )
    except UNFIT as error:  # recorded IR may be anything; reported for the launch
        raise UnfitOp(call.kernel, error) from error


def check(launch: CheckedLaunch) -> LaunchCheck:
    """Return the result of evaluating a launch and comparing its memory."""
    return compared(computed(launch))


def computed(launch: CheckedLaunch) -> Computed:
    """Return the evaluation of a launch from TTIR; if it fails, with the reason only."""
    try:
        return expected(launch)
    except KvtraceError as error:
        return Computed((), (str(error),))


def compared(evaluation: Computed) -> LaunchCheck:
    """Return the comparison of a launch's memory with the expected values."""
    checks, reasons = tuple(map(_compared, evaluation.known)), evaluation.reasons
    if any(len(tensor.differing) for tensor in checks):
        return LaunchCheck("differs", checks)
    if any(tensor.undecided < tensor.elements for tensor in checks):
        return LaunchCheck("agrees", checks, "; ".join(reasons))
    return LaunchCheck("undecided", checks, "; ".join(reasons) or _NOTHING_DECIDED)


def _expected(call: Call, memory: BoundedMemory, after: StorageAfter) -> Expected | str:
    place = after.arguments[0]
    tensor = call.arguments[place]
    assert isinstance(tensor, TensorArgument)
    sharing = [call.arguments[position] for position in after.arguments]
    if tensor.storage.data is None or not all(
        memory.is_known(argument) for argument in sharing if isinstance(argument, TensorArgument)
    ):
        return f"the stored values of {tensor.name} depend on tensors that were not recorded"
    element = _element(tensor, memory.elements.get(id(tensor.storage), set()))
    size = element.bytes
    planes = memory.planes.by_storage.get(id(tensor.storage))
    phase = tensor.offset_bytes % size if planes is None else planes[1]
    if planes is not None and planes[0] != size:
        return f"{tensor.name} is written as elements of another size"
    pieces = [
        Piece(
            phase + first * size,
            tensor.storage.data[phase + first * size : phase + last * size],
            content,
            np.zeros(last - first) if planes is None else planes[2]["worst"][first:last],
        )
        for first, last, content in _whole_elements(after, element, phase)
    ]
    return (
        Expected(place, tensor, element, tuple(pieces))
        if pieces
        else (f"no memory of {tensor.name} was recorded")
    )


def _element(tensor: TensorArgument, stored: set[str]) -> ElementType:
    """Return the type of the stored elements; the tensor's own if they have several types."""
    return element_of(next(iter(stored))) if len(stored) == 1 else tensor.element


def _whole_elements(
    after: StorageAfter, element: ElementType, phase: int
) -> Iterator[tuple[int, int, NDArray[np.uint8]]]:
    """Yield first and end index of the elements that lie in each piece, and their bytes."""
    size = element.bytes
    for piece in after.pieces:
        first = -((phase - piece.offset) // size)
        last = (piece.offset + len(piece.content) - phase) // size
        begin = phase + first * size - piece.offset
        if first < last:
            yield first, last, piece.content[begin : begin + (last - first) * size]


@dataclass(frozen=True, slots=True)
class Distances:
    """Distance of each element of a storage from its expected value, in the order of pieces.

    Attributes:
        expected: the expected values, in float64.
        got: the device's values, in float64.
        away: absolute differences; infinity if only one value is a number.
        radii: the largest allowed differences.
        offsets: byte offset of each element in the storage.
        beyond: the difference exceeds the radius.
        loose: the radius is wider than the value, so that nothing can be concluded.
        scale: the root mean square of the expected values.
    """

    expected: NDArray[np.float64]
    got: NDArray[np.float64]
    away: NDArray[np.float64]
    radii: NDArray[np.float64]
    offsets: NDArray[np.int64]
    beyond: NDArray[np.bool_]
    loose: NDArray[np.bool_]
    scale: float


def distances(output: Expected) -> Distances:
    """Return the distances of the device's values from the expected values."""
    element, pieces = output.element, output.pieces
    expected, got = (
        np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("expected", "got")
    )
    radii = np.concatenate([piece.radii for piece in pieces])
    offsets = np.concatenate(
        [piece.offset + np.arange(len(piece.radii)) * element.bytes for piece in pieces]
    )
    as_floats = [
        from_memory(np.ascontiguousarray(values).view(element.memory), element).astype(np.float64)
        for values in (expected, got)
    ]
    size = element.bytes
    same = (expected.reshape(-1, size) == got.reshape(-1, size)).all(axis=1)
    with np.errstate(all="ignore"):
        both_nan = np.isnan(as_floats[0]) & np.isnan(as_floats[1])
        away = np.where(same | both_nan, 0.0, np.abs(as_floats[1] - as_floats[0]))
        away = np.where(np.isnan(away), np.inf, away)
        finite = as_floats[0][np.isfinite(as_floats[0])]
        scale = float(np.sqrt(np.mean(finite * finite))) if finite.size else 0.0
        loose = (radii > np.abs(as_floats[0]) + scale) | np.isinf(radii) | np.isnan(radii)
        beyond = (away > radii) & ~loose
    return Distances(as_floats[0], as_floats[1], away, radii, offsets, beyond, loose, scale)


def _compared(output: Expected) -> TensorCheck:
    element, tensor = output.element, output.tensor
    differences = distances(output)
    away, radii, beyond, loose = (
        differences.away,
        differences.radii,
        differences.beyond,
        differences.loose,
    )
    columns = tensor.shape[-1] if tensor.shape else 1
    scale = differences.scale
    with np.errstate(all="ignore"):
        within = ~beyond & ~loose & (radii > 0)
        nearest = float((away[within] / radii[within]).max(initial=0.0))
        typical = float(np.median(radii[~loose])) / scale if scale and not loose.all() else 0.0
    return TensorCheck(
        argument=tensor.name,
        place=output.place,
        dtype=element.name,
        elements=len(away),
        undecided=int(loose.sum()),
        differing=differences.offsets[beyond],
        worst=_worst(differences, element.bytes),
        nearest=nearest,
        bound=typical,
        map=_map(np.where(loose, 0.0, away), scale, columns) if beyond.any() else np.zeros((0, 0)),
    )


def _map(away: NDArray[np.float64], scale: float, columns: int) -> NDArray[np.float64]:
    """Return the largest error of each cell of a grid over rows of `columns` elements."""
    columns = max(1, min(columns, len(away)))
    rows = -(-len(away) // columns)
    padded = np.zeros(rows * columns)
    padded[: len(away)] = away / scale if scale else away
    by_row = padded.reshape(rows, columns)
    row_starts = np.unique(np.arange(_MAP_ROWS) * rows // _MAP_ROWS)
    column_starts = np.unique(np.arange(_MAP_COLUMNS) * columns // _MAP_COLUMNS)
    joined = np.maximum.reduceat(np.maximum.reduceat(by_row, row_starts, 0), column_starts, 1)
    return np.asarray(joined)


def _worst(differences: Distances, size: int) -> Worst | None:
    if not differences.beyond.any():
        return None
    excess = np.where(differences.beyond, differences.away - differences.radii, -1.0)
    position = int(np.argmax(excess))
    return Worst(
        index=int(differences.offsets[position]) // size,
        offset=int(differences.offsets[position]),
        got=float(differences.got[position]),
        expected=float(differences.expected[position]),
        bound=float(differences.radii[position]),
    )
