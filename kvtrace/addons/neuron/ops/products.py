"""Tensor engine ops: matrix multiplication and transposes, with results in PSUM.

Microscaling formats (OCP MX), of NeuronCore-v4: a group of 32 values, 8 partitions by 4 elements,
shares a scale, a power of two. Four elements of a partition are packed into one element of an `_x4`
type. The scales of 32 partitions are stored in the first four partitions (reference of
`nki.isa.quantize_mx`). A scale is twice that of the OCP specification's example.
"""

from typing import Any, Final

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes, targets
from kvtrace.addons.neuron.access import Values
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import (
    ENGINE_DTYPE,
    MATMUL_LIMIT,
    MEMORY_SPACE,
    PSUM_BANK,
)
from kvtrace.addons.neuron.memory import Space
from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.tensors import Tensor

Array = NDArray[Any]

#: Bytes of a result's element → maximum free size of the moving tile, from NeuronCore-v4 on
#: (reference of `nki.isa.nc_matmul`: the eight banks of PSUM).
_MOVING_FREE_V4: Final = {4: 4096, 2: 8192}

_VECTOR_TRANSPOSE: Final = 32

#: First generation whose tensor engine transposes bit by bit.
_EXACT_TRANSPOSE_GENERATION: Final = 3


@operation("nisa.nc_matmul", engine="tensor", kind="dot")
def nc_matmul(
    issue: Issue,
    stationary: Any,
    moving: Any,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    is_transpose: bool = False,
    accumulate: bool | None = None,
    tile_position: Any = (),
    tile_size: Any = (),
    perf_mode: Any = None,
    *,
    mask: Any = None,
) -> Result:
    """Return `stationary.T @ moving`, both with the contracted dimension along partitions.

    `accumulate` adds to the destination; None adds to the elements that were written.
    """
    del is_stationary_onezero, is_moving_onezero, tile_position, tile_size
    if mask is not None or perf_mode is not None:
        raise NkiError("kvtrace does not run nc_matmul with mask or perf_mode; use nki.simulate")
    left, right = issue.read(stationary).as_matrix(), issue.read(moving).as_matrix()
    for operand, tile, name in ((left, stationary, "stationary"), (right, moving, "moving")):
        if operand.space == "psum" and not tile.memory.placed_by_compiler:
            issue.report(MEMORY_SPACE, f"the {name} tile of nc_matmul lies in PSUM, not in SBUF")
    values = _checked_product(issue, left, right)
    if issue.destination is not None:
        is_exact = is_transpose and issue.run.target.generation >= _EXACT_TRANSPOSE_GENERATION
        values = accumulated(issue, values, accumulate, left.dtype if is_exact else None)
    return issue.result(values, dtypes.float32, space="psum")


def _checked_product(issue: Issue, left: Values, right: Values) -> Array:
    """Return `left.T @ right` in float32, and report violations of the engine's limits."""
    contracted_size, stationary_free = left.values.shape
    moving_free = right.values.shape[1]
    if contracted_size != right.values.shape[0]:
        raise NkiError(
            f"a matrix multiplication needs tiles with as many partitions; the stationary tile has "
            f"{contracted_size}, the moving tile {right.values.shape[0]}"
        )
    issue.limit(
        contracted_size, targets.PARTITIONS, MATMUL_LIMIT, "the contracted (partition) dimension"
    )
    issue.limit(
        stationary_free, targets.STATIONARY_FREE, MATMUL_LIMIT, "the stationary tile's free size"
    )
    is_v4 = issue.run.target.generation >= 4
    element_bytes = 4 if issue.destination is None else issue.destination.itemsize
    moving_most = _MOVING_FREE_V4.get(element_bytes, 0) if is_v4 else targets.MOVING_FREE
    issue.limit(moving_free, moving_most, MATMUL_LIMIT, "the moving tile's free size")
    if not is_v4:
        issue.limit(
            moving_free * 4,
            targets.PSUM_BANK_BYTES,
            PSUM_BANK,
            "bytes of a matrix multiplication's result in one partition of a bank of PSUM",
        )
    _report_operand_types(issue, left.dtype, right.dtype)
    issue.flops = 2 * contracted_size * stationary_free * moving_free
    issue.dtype = left.dtype
    return np.asarray(np.matmul(left.computed().T, right.computed()))


def _report_operand_types(issue: Issue, left: np.dtype[Any], right: np.dtype[Any]) -> None:
    for dtype in (left, right):
        if dtype not in dtypes.FLOATS:
            issue.report(ENGINE_DTYPE, f"the tensor engine multiplies floats only, not {dtype}")
            return
    if (left == dtypes.float32) != (right == dtypes.float32):
        issue.report(
            ENGINE_DTYPE,
            f"the tensor engine multiplies float32 with float32 only, not {left} with {right}",
        )


def accumulated(
    issue: Issue, values: Array, accumulate: bool | None, passed: np.dtype[Any] | None = None
) -> Array:
    """Return values added to the contents of the destination.

    `accumulate` adds to all elements, None to written elements only, False to none. `passed` is the
    type of a tile that is transposed bit by bit; the destination may have it too.
    """
    destination = issue.destination
    assert destination is not None
    if destination.memory.space != "psum":
        issue.report(MEMORY_SPACE, "the tensor engine can write to PSUM only, and dst is elsewhere")
    is_v4 = issue.run.target.generation >= 4
    allowed = (dtypes.float32, dtypes.bfloat16) if is_v4 else (dtypes.float32,)
    if destination.dtype not in (*allowed, passed):
        issue.report(
            ENGINE_DTYPE,
            f"the tensor engine accumulates in float32, but dst is {destination.dtype}",
        )
    if accumulate is False:
        return values
    if values.size != destination.size:
        raise NkiError(f"a product of {values.shape} does not fit dst of {destination.shape}")
    contents = destination.array().reshape(values.shape)
    written = destination.memory.written_elements
    if written is None:
        return dtypes.computed(contents) + values
    is_written = destination.per_element(written).reshape(values.shape)
    if not is_written.any():
        if accumulate:
            issue.read(destination)  # reports the read of unwritten elements
        return values
    return np.where(is_written, dtypes.computed(contents) + values, values)


@operation("nl.matmul", engine="tensor", kind="dot")
def matmul(issue: Issue, x: Any, y: Any, *, transpose_x: bool = False, mask: Any = None) -> Result:
    """Return `x @ y` in PSUM; with `transpose_x`, `x.T @ y`."""
    left, right = issue.read(x, mask).as_matrix(), issue.read(y, mask).as_matrix()
    if not transpose_x:
        left = left.moved(np.transpose)
    values = _checked_product(issue, left, right)
    return issue.result(values, dtypes.float32, space="psum", mask=mask)


@operation("nisa.nc_transpose", engine="tensor", kind="other")
def nc_transpose(
    issue: Issue, data: Any, *, dtype: Any = None, mask: Any = None, engine: Any = None
) -> Result:
    """Return a tile transposed, in PSUM, or in SBUF by the vector engine."""
    issue.choose_engine(engine)
    uses_vector_engine = issue.engine == "vector"
    tile = _transposed(
        issue, data, mask, _VECTOR_TRANSPOSE if uses_vector_engine else targets.PARTITIONS
    )
    space: Space = "sbuf" if uses_vector_engine else "psum"
    result = issue.result(tile.values, dtype, tile, space=space)
    result.placed_by_compiler = not issue.has_named_engine
    return result


def _transposed(issue: Issue, data: Any, mask: Any, size_limit: int) -> Values:
    """Return a tile as a transposed matrix, and report sizes above the limit."""
    tile = issue.read(data, mask).as_matrix()
    for size, name in zip(tile.values.shape, ("partitions", "free size"), strict=True):
        issue.limit(size, size_limit, MATMUL_LIMIT, f"the {name} of a transposed tile")
    return tile.moved(np.transpose)


@operation("nl.transpose", engine="tensor", kind="other")
def transpose(issue: Issue, x: Any, *, dtype: Any = None, mask: Any = None) -> Result:
    """Return a tile with partitions and free elements swapped, in PSUM."""
    tile = _transposed(issue, x, mask, targets.PARTITIONS)
    result = issue.result(tile.values, dtype, tile, space="psum")
    result.placed_by_compiler = True
    return result


#: Partitions of a group, elements packed into one, and partitions whose scales are stored together.
GROUP: Final = 8
PACKED: Final = 4
QUADRANT: Final = 32

_BIAS: Final = 127
#: Exponent of the largest power of two of an element type (OCP MX 1.0, section 5.3).
_LARGEST_EXPONENT: Final = {dtypes.float8_e4m3fn_x4: 8, dtypes.float8_e5m2_x4: 15}
_ELEMENTS: Final = {
    dtypes.float8_e4m3fn_x4: dtypes.float8_e4m3fn,
    dtypes.float8_e5m2_x4: dtypes.float8_e5m2,
}


@operation("nisa.quantize_mx", engine="vector", kind="elementwise")
def quantize_mx(issue: Issue, src: Any, dst_scale: Any) -> Result:
    """Return the packed elements of a quantized tile; write the groups' scales to `dst_scale`."""
    tile = issue.read(src)
    destination = issue.destination
    if destination is None or destination.dtype not in _LARGEST_EXPONENT:
        raise NkiError("dst of quantize_mx must be of type float8_e4m3fn_x4 or float8_e5m2_x4")
    partitions, free = tile.values.shape[0], tile.values.size // tile.values.shape[0]
    if partitions % QUADRANT or free % PACKED:
        raise NkiError(
            f"quantize_mx needs a multiple of {QUADRANT} partitions and of {PACKED} elements, not "
            f"{partitions} and {free}"
        )
    grouped = tile.computed().reshape(partitions // GROUP, GROUP, free // PACKED, PACKED)
    exponents = _exponents(np.abs(grouped).max(axis=(1, 3)), _LARGEST_EXPONENT[destination.dtype])
    scaled = grouped * np.exp2(-exponents)[:, None, :, None]
    element = _ELEMENTS[destination.dtype]
    bits = scaled.astype(np.float32).astype(element).reshape(partitions, free).view(np.uint8)
    issue.flops = 2 * tile.values.size
    _write_scales(issue, dst_scale, exponents + _BIAS)
    packed = np.ascontiguousarray(bits).view(destination.dtype)
    return issue.result(packed, destination.dtype)


def _exponents(largest: NDArray[Any], of_element: int) -> NDArray[Any]:
    """Return scales' exponents, from each group's largest magnitude and the type's exponent."""
    with np.errstate(divide="ignore"):
        exponents = np.floor(np.log2(largest)) - of_element + 1
    return np.clip(np.where(largest > 0, exponents, -_BIAS), -_BIAS, _BIAS)


def _write_scales(issue: Issue, target: Tensor, scales: NDArray[Any]) -> None:
    """Add the scales as a result: those of each 32 partitions in their first four partitions."""
    per_quadrant = QUADRANT // GROUP
    if scales.shape[0] == per_quadrant:
        issue.add_result(target, issue.result(scales, dtypes.uint8))
        return
    for quadrant in range(scales.shape[0] // per_quadrant):
        target_rows = slice(quadrant * QUADRANT, quadrant * QUADRANT + per_quadrant)
        part = scales[quadrant * per_quadrant : (quadrant + 1) * per_quadrant]
        issue.add_result(target[target_rows], issue.result(part, dtypes.uint8))


@operation("nisa.nc_matmul_mx", engine="tensor", kind="dot")
def nc_matmul_mx(
    issue: Issue,
    stationary: Any,
    moving: Any,
    stationary_scale: Any,
    moving_scale: Any,
    tile_position: Any = None,
    tile_size: Any = None,
    accumulate: bool | None = None,
) -> Result:
    """Return the product of quantized tiles; partitions and packed elements are contracted."""
    del tile_position, tile_size
    if stationary.shape[0] % QUADRANT:
        raise NkiError(
            f"nc_matmul_mx needs a multiple of {QUADRANT} partitions, not {stationary.shape[0]}"
        )
    left = _dequantized(issue, stationary, stationary_scale)
    right = _dequantized(issue, moving, moving_scale)
    if left.shape[0] != right.shape[0]:
        raise NkiError(
            f"nc_matmul_mx needs tiles with as many partitions, not {left.shape[0]} and "
            f"{right.shape[0]}"
        )
    stationary_free, moving_free = left.shape[1], right.shape[1]
    issue.limit(
        stationary_free, targets.STATIONARY_FREE, MATMUL_LIMIT, "the stationary tile's free size"
    )
    element_bytes = 4 if issue.destination is None else issue.destination.itemsize
    column_limit = targets.MOVING_FREE * 4 // element_bytes
    issue.limit(moving_free, column_limit, MATMUL_LIMIT, "the moving tile's free size")
    issue.flops = 2 * left.shape[0] * PACKED * stationary_free * moving_free
    issue.dtype = _ELEMENTS.get(stationary.dtype, dtypes.float8_e4m3fn)
    values = np.einsum("pmj,pnj->mn", left, right, optimize=True).astype(np.float32)
    if issue.destination is not None:
        values = accumulated(issue, values, accumulate)
    return issue.result(values, dtypes.float32, space="psum")


def _dequantized(issue: Issue, tensor: Any, scale: Any) -> NDArray[Any]:
    """Return a quantized tile's values times their scales: (partitions, free elements, 4)."""
    tile = issue.read(tensor)
    partitions, free_size = tile.values.shape[0], tile.values.size // tile.values.shape[0]
    elements = _unpacked(tile, partitions, free_size)
    factors = np.exp2(_scales(issue, scale, partitions // GROUP).astype(np.float32) - _BIAS)
    element_scales = np.repeat(factors, GROUP, axis=0)[:, :free_size, None]
    return np.asarray(elements * element_scales, np.float32)


def _scales(issue: Issue, scale: Tensor, groups: int) -> NDArray[Any]:
    """Return the scales of groups as rows, from the first four of each 32 partitions."""
    if scale.shape[0] == QUADRANT // GROUP:
        return issue.read(scale).values
    starts = range(0, groups // 4 * QUADRANT, QUADRANT)
    quadrants = [issue.read(scale[start : start + QUADRANT // GROUP]) for start in starts]
    return np.concatenate(
        [quadrant.values.reshape(quadrant.values.shape[0], -1) for quadrant in quadrants]
    )


def _unpacked(tile: Values, partitions: int, free: int) -> NDArray[Any]:
    raw = np.ascontiguousarray(tile.values).reshape(partitions, free).view(np.uint8)
    if tile.dtype in _ELEMENTS:
        values = np.asarray(raw.view(_ELEMENTS[tile.dtype]), np.float32)
        return values.reshape(partitions, free, PACKED)
    if tile.dtype != dtypes.float4_e2m1fn_x4:
        raise NkiError(f"nc_matmul_mx needs packed types, not {tile.dtype}")
    halves = np.stack([raw & 15, raw >> 4], axis=-1).astype(np.uint8)
    values = np.asarray(halves.view(ml_dtypes.float4_e2m1fn), np.float32)
    return values.reshape(partitions, free, PACKED)
