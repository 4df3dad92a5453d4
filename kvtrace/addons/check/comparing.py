"""Comparison of memory after a launch with the IR's evaluation, by element, within radii."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.addons.check.kept import CheckedLaunch, StorageAfter
from kvtrace.evaluate import Observer, OutOfBounds, TensorArgument
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.rounding import from_memory
from kvtrace.evaluate.scope import MOST_STEPS
from kvtrace.evaluate.shadows.errors.analysis import ErrorAnalysis, Radii
from kvtrace.evaluate.shadows.errors.exact_values import distances_of
from kvtrace.evaluate.shadows.errors.tt_memory import BoundedMemory
from kvtrace.evaluate.types import ElementType, element_of
from kvtrace.ir import Module
from kvtrace.ir.tensor_maps import within_extents
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError

Answer = Literal["agrees", "differs", "undecided"]

_MAP_ROWS: Final = 32
_MAP_COLUMNS: Final = 64

_NOTHING_DECIDED: Final = "the error bounds of all elements are wider than their values"


class Worst(Struct, frozen=True):
    """The element farthest beyond its bound.

    `index` counts elements from the start of the storage, `offset` bytes. `bound` is the largest
    allowed distance of the device's value from the expected value.
    """

    index: int
    offset: int
    got: float
    expected: float
    bound: float


class TensorCheck(Struct, frozen=True):
    """The comparison of one storage after a launch.

    Attributes:
        argument: the name of the tensor in the storage.
        position: the tensor's position among the call's arguments.
        dtype: the element type of the comparison.
        elements: the number of compared elements.
        undecided: the number of elements with bounds too wide to decide; see `Distances.loose`.
        differing: byte offsets in the storage of elements beyond their bounds.
        worst: the element farthest beyond its bound; None without one.
        nearest: the largest distance, as a share of the bound, of elements within their bounds.
        bound: the median bound relative to the root mean square of the elements; 0: exact.
        map: a reduced picture of the errors, empty if no element differs: the compared elements,
            in rows as long as the tensor's last axis, are divided into at most 32 × 64 cells, each
            with its largest error relative to the root mean square.
    """

    argument: str
    position: int
    dtype: str
    elements: int
    undecided: int
    differing: NDArray[np.int64]
    worst: Worst | None
    nearest: float
    bound: float
    map: NDArray[np.float64]


class LaunchCheck(Struct, frozen=True):
    """The result of one launch: an answer, and the comparison of each storage.

    `reason` says why the launch, or some of its storages, are undecided; else it is empty.
    """

    answer: Answer
    tensors: tuple[TensorCheck, ...]
    reason: str = ""


class _BoundsGuard(Observer):
    """Observer that raises Undecided at an access outside of recorded memory.

    On a device, memory beyond a storage may belong to another storage of the same launch. For the
    argument positions `views`, only the tensor's own part of the storage was recorded.
    """

    def __init__(self, views: frozenset[int]) -> None:
        self._views = views

    def out_of_bounds(self, defect: OutOfBounds) -> None:
        """Raise Undecided, unless a read outside of a view or a write stays in recorded storage."""
        writes = defect.kind == "store"
        if defect.rule == "out-of-view" and (writes or defect.argument not in self._views):
            return
        verb = "writes" if writes else "reads"
        raise Undecided(f"{place(defect.op)} {verb} outside of its tensor")


class Expected(Struct, frozen=True, eq=False):
    """Expected and actual elements of a storage after a launch, where its memory was recorded.

    `tensor` is the storage's first tensor, `position` the tensor's argument position. Element i
    begins at byte `offsets[i]` of the storage; `expected[i]` and `got[i]` are the bytes that the IR
    and the device leave, and `radii[i]` is the largest allowed difference.
    """

    position: int
    tensor: TensorArgument
    element: ElementType
    offsets: NDArray[np.int64]
    expected: NDArray[np.uint8]
    got: NDArray[np.uint8]
    radii: NDArray[np.float64]


class Computed(Struct, frozen=True):
    """Expected contents of a launch's storages, from evaluating the launch.

    `reasons` say why contents of other storages are unknown; `faults` describe ops of TTGIR that
    use memory before it is ready.
    """

    known: tuple[Expected, ...]
    reasons: tuple[str, ...]
    faults: tuple[str, ...] = ()


def expected(
    launch: CheckedLaunch, module: Module | None = None, *, may_leave: bool = False
) -> Computed:
    """Evaluate a launch, and return the expected contents of its recorded storages.

    `module` is evaluated, for example the kernel's TTGIR; None: the kernel's TTIR, changed so that
    descriptor stores stay within the descriptors' extents. `may_leave`: accesses may leave their
    tensors; memory that was not recorded is unknown.

    Raises:
        KvtraceError: the launch cannot be computed, or its result is not decided by its IR.
    """
    call = launch.call()
    module = module or within_extents(call.module)
    radii = Radii(module)
    memory = evaluate_again(launch, call, radii, may_leave=may_leave)
    if not launch.after:
        raise Undecided("no memory that the launch writes was recorded")
    results = [_expected(call, memory, after) for after in launch.after]
    return Computed(
        tuple(result for result in results if isinstance(result, Expected)),
        tuple(result for result in results if isinstance(result, str)),
        tuple(radii.shared.faults),
    )


def evaluate_again(
    launch: CheckedLaunch, call: Call, analysis: ErrorAnalysis, *, may_leave: bool = False
) -> BoundedMemory:
    """Evaluate the recorded programs of a launch by an analysis; return the memory afterwards.

    `call` has the launch's arguments, or other ones. `may_leave`: as in `expected`.

    Raises:
        KvtraceError: The launch cannot be evaluated.
    """
    programs = None if launch.programs is None else np.array(launch.programs, np.int64)
    observers = () if may_leave else (_BoundsGuard(launch.views),)
    return analysis.run(
        call.arguments, call.grid, call.kernel,
        observers=observers, programs=programs, most_steps=MOST_STEPS,
    )  # fmt: skip


def computed(launch: CheckedLaunch) -> Computed:
    """Return the expected contents of a launch by its TTIR; if that fails, the reason only."""
    try:
        return expected(launch)
    except KvtraceError as error:
        return Computed((), (str(error),))


def compared(evaluation: Computed) -> LaunchCheck:
    """Return the comparison of a launch's recorded memory with the expected values.

    The answer is "differs" if an element is beyond its bound; else "agrees" if the bound of some
    element decides, "undecided" if none does.
    """
    tensor_checks, reasons = tuple(map(_tensor_check, evaluation.known)), evaluation.reasons
    if any(len(tensor.differing) for tensor in tensor_checks):
        return LaunchCheck("differs", tensor_checks)
    if any(tensor.undecided < tensor.elements for tensor in tensor_checks):
        return LaunchCheck("agrees", tensor_checks, "; ".join(reasons))
    return LaunchCheck("undecided", tensor_checks, "; ".join(reasons) or _NOTHING_DECIDED)


def _expected(call: Call, memory: BoundedMemory, after: StorageAfter) -> Expected | str:
    """Return a storage's expected contents after a launch, or the reason why they are unknown."""
    position = after.arguments[0]
    tensor = call.tensor(position)
    arguments = [call.arguments[index] for index in after.arguments]
    if tensor.storage.data is None or not all(
        memory.is_known(argument) for argument in arguments if isinstance(argument, TensorArgument)
    ):
        return f"the stored values of {tensor.name} depend on tensors that were not recorded"
    element = _element(tensor, memory.elements.get(id(tensor.storage), set()))
    size = element.bytes
    shadow_planes = memory.planes.by_storage.get(id(tensor.storage))
    phase = tensor.offset_bytes % size if shadow_planes is None else shadow_planes[1]
    if shadow_planes is not None and shadow_planes[0] != size:
        return f"the kernel writes elements of another size to {tensor.name} than the tensor has"
    recorded = list(_whole_elements(after, element, phase))
    if not recorded:
        return f"no memory of {tensor.name} was recorded"
    indices = np.concatenate([np.arange(first, end) for first, end, _ in recorded])
    offsets = phase + indices * size
    return Expected(
        position,
        tensor,
        element,
        offsets,
        tensor.storage.data[offsets[:, None] + np.arange(size)],
        np.concatenate([content for _, _, content in recorded]).reshape(-1, size),
        np.zeros(len(indices)) if shadow_planes is None else shadow_planes[2]["worst"][indices],
    )


def _element(tensor: TensorArgument, stored: set[str]) -> ElementType:
    """Return the element type that was stored; the tensor's own type for none or several types."""
    return element_of(next(iter(stored))) if len(stored) == 1 else tensor.element


def _whole_elements(
    after: StorageAfter, element: ElementType, phase: int
) -> Iterator[tuple[int, int, NDArray[np.uint8]]]:
    """Yield the index range (first, end) of the elements wholly in each piece, and their bytes.

    `phase` is the byte offset of element 0 in the storage. Pieces without a whole element are
    skipped.
    """
    size = element.bytes
    for piece in after.pieces:
        first_element = -((phase - piece.offset) // size)
        end_element = (piece.offset + len(piece.content) - phase) // size
        begin = phase + first_element * size - piece.offset
        if first_element < end_element:
            yield (
                first_element,
                end_element,
                piece.content[begin : begin + (end_element - first_element) * size],
            )


class Distances(Struct, frozen=True):
    """Distance of each element of a storage from its expected value.

    Attributes:
        expected: the expected values, in float64.
        got: the device's values, in float64.
        away: absolute differences; infinity if only one value is a number.
        beyond: the difference exceeds the radius.
        loose: the radius is wider than the expected value plus `scale`, so nothing is decided.
        scale: the root mean square of the expected values.
    """

    expected: NDArray[np.float64]
    got: NDArray[np.float64]
    away: NDArray[np.float64]
    beyond: NDArray[np.bool_]
    loose: NDArray[np.bool_]
    scale: float


def distances(output: Expected) -> Distances:
    """Return the distances of the device's values from the expected values."""
    element, radii = output.element, output.radii
    expected, got = (
        from_memory(content.reshape(-1).view(element.memory), element).astype(np.float64)
        for content in (output.expected, output.got)
    )
    away, scale = distances_of(got, expected), root_mean_square(expected)
    with np.errstate(all="ignore"):
        loose = (radii > np.abs(expected) + scale) | np.isinf(radii) | np.isnan(radii)
        beyond = (away > radii) & ~loose
    return Distances(expected, got, away, beyond, loose, scale)


def root_mean_square(values: NDArray[np.float64]) -> float:
    """Return the root mean square of the finite values; 0 if there are none."""
    finite_values = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(finite_values * finite_values))) if finite_values.size else 0.0


def _tensor_check(output: Expected) -> TensorCheck:
    element, tensor = output.element, output.tensor
    differences = distances(output)
    away, beyond, loose = differences.away, differences.beyond, differences.loose
    radii = output.radii
    columns = tensor.shape[-1] if tensor.shape else 1
    scale = differences.scale
    with np.errstate(all="ignore"):
        within = ~beyond & ~loose & (radii > 0)
        nearest = float((away[within] / radii[within]).max(initial=0.0))
        median_bound = float(np.median(radii[~loose])) / scale if scale and not loose.all() else 0.0
    return TensorCheck(
        argument=tensor.name,
        position=output.position,
        dtype=element.name,
        elements=len(away),
        undecided=int(loose.sum()),
        differing=output.offsets[beyond],
        worst=_worst_element(output, differences),
        nearest=nearest,
        bound=median_bound,
        map=_error_map(np.where(loose, 0.0, away), scale, columns)
        if beyond.any()
        else np.zeros((0, 0)),
    )


def _error_map(away: NDArray[np.float64], scale: float, columns: int) -> NDArray[np.float64]:
    """Return the map of a TensorCheck: the largest relative error of each cell.

    `away` are absolute errors, arranged in rows of `columns`; `scale` divides them unless it is 0.
    """
    columns = max(1, min(columns, len(away)))
    rows = -(-len(away) // columns)
    padded = np.zeros(rows * columns)
    padded[: len(away)] = away / scale if scale else away
    errors = padded.reshape(rows, columns)
    row_starts = np.unique(np.arange(_MAP_ROWS) * rows // _MAP_ROWS)
    column_starts = np.unique(np.arange(_MAP_COLUMNS) * columns // _MAP_COLUMNS)
    largest = np.maximum.reduceat(np.maximum.reduceat(errors, row_starts, 0), column_starts, 1)
    return np.asarray(largest)


def _worst_element(output: Expected, differences: Distances) -> Worst | None:
    if not differences.beyond.any():
        return None
    excess = np.where(differences.beyond, differences.away - output.radii, -1.0)
    position = int(np.argmax(excess))
    return Worst(
        index=int(output.offsets[position]) // output.element.bytes,
        offset=int(output.offsets[position]),
        got=float(differences.got[position]),
        expected=float(differences.expected[position]),
        bound=float(output.radii[position]),
    )
