"""A launch's memory after it, element by element, against what its IR says, within radii."""

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

_NOTHING_DECIDED: Final = "the bounds of all its elements are wider than what they hold"


@dataclass(frozen=True, slots=True)
class Worst:
    """The element that is farthest beyond its bound.

    `index` counts elements from the start of the storage, `offset` bytes. `bound` is how far the
    device's may be from what is expected.
    """

    index: int
    offset: int
    got: float
    expected: float
    bound: float


@dataclass(frozen=True, slots=True)
class TensorCheck:
    """One storage after a launch.

    Attributes:
        argument: the name of the tensor in it.
        place: its place among the call's arguments.
        dtype: what its elements were compared as.
        elements: how many were compared.
        undecided: of how many the bound is wider than what they hold.
        differing: byte offsets in the storage of those beyond their bounds.
        worst: the one that is farthest beyond; None: there is none.
        nearest: the largest part of its bound that an element is away which is not beyond.
        bound: the median bound relative to the root mean square of the elements; 0: exact.
        map: the largest error of each part of the memory that was compared, relative to that root
            mean square, in rows of the tensor's last axis.
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
    """What came of one launch: a reason only where it is undecided."""

    answer: Answer
    tensors: tuple[TensorCheck, ...]
    reason: str = ""


class _Inside(Observer):
    """Ends an evaluation that leaves its tensors: nobody kept what is read there, or overwritten.

    On a device, what is stored beyond a storage may well be the next one's, of the same launch. Of
    the arguments `views` no more was kept than their tensors.
    """

    def __init__(self, views: frozenset[int]) -> None:
        self._views = views

    def out_of_bounds(self, defect: OutOfBounds) -> None:
        """Refuse to continue."""
        writes = defect.kind == "store"
        if defect.rule == "out-of-view" and (writes or defect.argument not in self._views):
            return
        verb = "writes" if writes else "reads"
        raise Undecided(f"{place(defect.op)} {verb} outside of its tensor")


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of elements: its start in the storage, the expected values, the device's values."""

    offset: int
    expected: NDArray[np.uint8]
    got: NDArray[np.uint8]
    radii: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Expected:
    """What one storage may hold after a launch: `place` is its tensor's among the arguments."""

    place: int
    tensor: TensorArgument
    element: ElementType
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Computed:
    """A launch that was computed again: what its storages may hold.

    `reasons` say why of some it is not known, `faults` what in the kernel's IR comes too early.
    """

    known: tuple[Expected, ...]
    reasons: tuple[str, ...]
    faults: tuple[str, ...] = ()


def expected(
    launch: CheckedLaunch, module: Module | None = None, *, may_leave: bool = False
) -> Computed:
    """Compute a launch again, from its TTIR, or from another module of the same kernel.

    Args:
        launch: what is computed.
        module: another module; by TTIR itself, stores keep to descriptors' extents.
        may_leave: whether it may leave its tensors, of which no more than what was kept is known.

    Raises:
        KvtraceError: the launch cannot be computed, or its result is not decided by its IR.

    """
    call = launch.call()
    module = module or within_extents(call.module)
    radii = Radii(module)
    evaluate_again(launch, replace(call, module=module), radii, may_leave=may_leave)
    memory, shared = radii.memory, radii.shared
    if memory is None or shared is None or not launch.after:
        raise Undecided("nothing that it writes to was kept")
    memory.finish()
    found = [_expected(call, memory, after) for after in launch.after]
    return Computed(
        tuple(each for each in found if isinstance(each, Expected)),
        tuple(each for each in found if isinstance(each, str)),
        tuple(shared.faults),
    )


def evaluate_again(
    launch: CheckedLaunch, call: Call, instrument: Shadows, *, may_leave: bool = False
) -> None:
    """Evaluate the programs of a launch that were kept, with an instrument.

    Args:
        launch: The launch.
        call: The call that is evaluated, which the launch made.
        instrument: The instrument.
        may_leave: Whether it may leave its tensors, of which no more than what was kept is known.

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
            observers=() if may_leave else (_Inside(launch.views),),
            programs=programs,
            instrument=instrument,
            most_steps=MOST_STEPS,
        )
    except UNFIT as error:  # recorded IR may be anything; reported for the launch
        raise UnfitOp(call.kernel, error) from error


def check(launch: CheckedLaunch) -> LaunchCheck:
    """Compute a launch again, and compare."""
    return compared(computed(launch))


def computed(launch: CheckedLaunch) -> Computed:
    """Compute a launch again, from its TTIR; where it cannot be, the one reason says why."""
    try:
        return expected(launch)
    except KvtraceError as error:
        return Computed((), (str(error),))


def compared(meant: Computed) -> LaunchCheck:
    """Compare what a launch left with the expected values."""
    checks, reasons = tuple(map(_compared, meant.known)), meant.reasons
    if any(len(each.differing) for each in checks):
        return LaunchCheck("differs", checks)
    if any(each.undecided < each.elements for each in checks):
        return LaunchCheck("agrees", checks, "; ".join(reasons))
    return LaunchCheck("undecided", checks, "; ".join(reasons) or _NOTHING_DECIDED)


def _expected(call: Call, memory: BoundedMemory, after: StorageAfter) -> Expected | str:
    place = after.arguments[0]
    tensor = call.arguments[place]
    assert isinstance(tensor, TensorArgument)
    sharing = [call.arguments[each] for each in after.arguments]
    if tensor.storage.data is None or not all(
        memory.is_known(each) for each in sharing if isinstance(each, TensorArgument)
    ):
        return f"what it stores to {tensor.name} depends on tensors that were not kept"
    element = _element(tensor, memory.elements.get(id(tensor.storage), set()))
    size = element.bytes
    kept = memory.planes.by_storage.get(id(tensor.storage))
    phase = tensor.offset_bytes % size if kept is None else kept[1]
    if kept is not None and kept[0] != size:
        return f"{tensor.name} is written as elements of another size than its own"
    pieces = [
        Piece(
            phase + first * size,
            tensor.storage.data[phase + first * size : phase + last * size],
            content,
            np.zeros(last - first) if kept is None else kept[2]["worst"][first:last],
        )
        for first, last, content in _whole_elements(after, element, phase)
    ]
    return (
        Expected(place, tensor, element, tuple(pieces))
        if pieces
        else (f"nothing of {tensor.name} was kept")
    )


def _element(tensor: TensorArgument, stored: set[str]) -> ElementType:
    """Return the type that elements were stored as, the tensor's own where that is not one."""
    return element_of(next(iter(stored))) if len(stored) == 1 else tensor.element


def _whole_elements(
    after: StorageAfter, element: ElementType, phase: int
) -> Iterator[tuple[int, int, NDArray[np.uint8]]]:
    """Yield the elements that lie in pieces: the first, one past the last, and their bytes."""
    size = element.bytes
    for piece in after.pieces:
        first = -((phase - piece.offset) // size)
        last = (piece.offset + len(piece.content) - phase) // size
        begin = phase + first * size - piece.offset
        if first < last:
            yield first, last, piece.content[begin : begin + (last - first) * size]


@dataclass(frozen=True, slots=True)
class Distances:
    """How far each element of a storage is from its expected value, in the order of pieces.

    Attributes:
        expected: the expected values, in float64.
        got: what is there.
        away: how far that is apart; infinity: as numbers, not at all near.
        radii: how far it may be.
        offsets: where each element begins in the storage.
        beyond: whether it is farther than it may be.
        loose: whether the radius is wider than what it holds, so that nothing can be concluded.
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


def distances(meant: Expected) -> Distances:
    """Measure the device's values against the expected ones."""
    element, pieces = meant.element, meant.pieces
    expected, got = (
        np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("expected", "got")
    )
    radii = np.concatenate([piece.radii for piece in pieces])
    offsets = np.concatenate(
        [piece.offset + np.arange(len(piece.radii)) * element.bytes for piece in pieces]
    )
    wide = [
        from_memory(np.ascontiguousarray(each).view(element.memory), element).astype(np.float64)
        for each in (expected, got)
    ]
    size = element.bytes
    same = (expected.reshape(-1, size) == got.reshape(-1, size)).all(axis=1)
    with np.errstate(all="ignore"):
        both_nan = np.isnan(wide[0]) & np.isnan(wide[1])
        away = np.where(same | both_nan, 0.0, np.abs(wide[1] - wide[0]))
        away = np.where(np.isnan(away), np.inf, away)
        finite = wide[0][np.isfinite(wide[0])]
        scale = float(np.sqrt(np.mean(finite * finite))) if finite.size else 0.0
        loose = (radii > np.abs(wide[0]) + scale) | np.isinf(radii) | np.isnan(radii)
        beyond = (away > radii) & ~loose
    return Distances(wide[0], wide[1], away, radii, offsets, beyond, loose, scale)


def _compared(meant: Expected) -> TensorCheck:
    element, tensor = meant.element, meant.tensor
    found = distances(meant)
    away, radii, beyond, loose = found.away, found.radii, found.beyond, found.loose
    columns = tensor.shape[-1] if tensor.shape else 1
    scale = found.scale
    with np.errstate(all="ignore"):
        within = ~beyond & ~loose & (radii > 0)
        nearest = float((away[within] / radii[within]).max(initial=0.0))
        typical = float(np.median(radii[~loose])) / scale if scale and not loose.all() else 0.0
    return TensorCheck(
        argument=tensor.name,
        place=meant.place,
        dtype=element.name,
        elements=len(away),
        undecided=int(loose.sum()),
        differing=found.offsets[beyond],
        worst=_worst(found, element.bytes),
        nearest=nearest,
        bound=typical,
        map=_map(np.where(loose, 0.0, away), scale, columns) if beyond.any() else np.zeros((0, 0)),
    )


def _map(away: NDArray[np.float64], scale: float, columns: int) -> NDArray[np.float64]:
    """Return the largest error of each cell of a grid over rows of so many columns."""
    columns = max(1, min(columns, len(away)))
    rows = -(-len(away) // columns)
    whole = np.zeros(rows * columns)
    whole[: len(away)] = away / scale if scale else away
    by_row = whole.reshape(rows, columns)
    row_starts = np.unique(np.arange(_MAP_ROWS) * rows // _MAP_ROWS)
    column_starts = np.unique(np.arange(_MAP_COLUMNS) * columns // _MAP_COLUMNS)
    joined = np.maximum.reduceat(np.maximum.reduceat(by_row, row_starts, 0), column_starts, 1)
    return np.asarray(joined)


def _worst(found: Distances, size: int) -> Worst | None:
    if not found.beyond.any():
        return None
    excess = np.where(found.beyond, found.away - found.radii, -1.0)
    at = int(np.argmax(excess))
    return Worst(
        index=int(found.offsets[at]) // size,
        offset=int(found.offsets[at]),
        got=float(found.got[at]),
        expected=float(found.expected[at]),
        bound=float(found.radii[at]),
    )
