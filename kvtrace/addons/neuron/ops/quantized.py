"""Microscaling formats (OCP MX): quantization, and products of quantized tiles, of NeuronCore-v4.

A group of 32 values, 8 partitions by 4 elements, shares a scale, a power of two. Four elements of a
partition are packed into one element of an `_x4` type. The scales of 32 partitions are stored in
the first four partitions (reference of `nki.isa.quantize_mx`). A scale is twice that of the OCP
specification's example.
"""

from typing import Any, Final

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes, targets
from kvtrace.addons.neuron.access import Values
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import ENGINE_DTYPE, MATMUL_LIMIT, MEMORY_SPACE, TARGET_SUPPORT
from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.ops.products import accumulated
from kvtrace.addons.neuron.tensors import Tensor

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
_MX_GENERATION: Final = 4


def _require_generation(issue: Issue) -> None:
    if issue.run.target.generation < _MX_GENERATION:
        issue.report(
            TARGET_SUPPORT,
            f"{issue.operation.name} needs NeuronCore-v4; {issue.run.target.name} is older",
        )


@operation("nisa.quantize_mx", engine="vector", kind="elementwise")
def quantize_mx(issue: Issue, src: Any, dst_scale: Any) -> Result:
    """Return the packed elements of a quantized tile; write the groups' scales to `dst_scale`."""
    _require_generation(issue)
    tile = issue.read(src)
    destination = issue.destination
    if destination is None or destination.dtype not in _LARGEST_EXPONENT:
        raise NkiError("dst of quantize_mx must be of type float8_e4m3fn_x4 or float8_e5m2_x4")
    if tile.dtype not in (dtypes.float16, dtypes.bfloat16):
        issue.report(ENGINE_DTYPE, f"quantize_mx needs float16 or bfloat16, not {tile.dtype}")
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
    return issue.result(packed, destination.dtype, states=None)


def _exponents(largest: NDArray[Any], of_element: int) -> NDArray[Any]:
    """Return scales' exponents, from each group's largest magnitude and the type's exponent."""
    with np.errstate(divide="ignore"):
        exponents = np.floor(np.log2(largest)) - of_element + 1
    return np.clip(np.where(largest > 0, exponents, -_BIAS), -_BIAS, _BIAS)


def _write_scales(issue: Issue, target: Tensor, scales: NDArray[Any]) -> None:
    """Add the scales as a result: those of each 32 partitions in their first four partitions."""
    per_quadrant = QUADRANT // GROUP
    if scales.shape[0] == per_quadrant:
        issue.add_result(target, issue.result(scales, dtypes.uint8, states=None))
        return
    for quadrant in range(scales.shape[0] // per_quadrant):
        target_rows = slice(quadrant * QUADRANT, quadrant * QUADRANT + per_quadrant)
        part = scales[quadrant * per_quadrant : (quadrant + 1) * per_quadrant]
        issue.add_result(target[target_rows], issue.result(part, dtypes.uint8, states=None))


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
    _require_generation(issue)
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
    return issue.result(values, dtypes.float32, space="psum", states=None)


def _dequantized(issue: Issue, tensor: Any, scale: Any) -> NDArray[Any]:
    """Return a quantized tile's values times their scales: (partitions, free elements, 4)."""
    tile = issue.read(tensor)
    if tile.space == "psum":
        issue.report(MEMORY_SPACE, "nc_matmul_mx can read SBUF only, not PSUM")
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
