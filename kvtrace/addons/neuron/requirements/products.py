"""Requirements of the tensor engine: products and transposes."""

from typing import Final

from kvtrace.addons.neuron import dtypes, targets
from kvtrace.addons.neuron.findings import ENGINE_DTYPE, MATMUL_LIMIT, MEMORY_SPACE, TARGET_SUPPORT
from kvtrace.addons.neuron.requirements.requirement import (
    Call,
    Requirement,
    engine_among,
    free_size,
    from_generation,
    generation,
    has_type,
    has_type_of,
    in_sbuf,
    is_type,
    lies_in,
    name_of,
    requires,
)
from kvtrace.addons.neuron.tensors import Tensor

#: Sizes of slices of the tensor engine's array; 32 from NeuronCore-v3 on.
_SLICES: Final = (32, 64, 128)


def _is_sliced(call: Call) -> bool:
    return bool(call.tile_size) and bool(call.tile_position)


def _is_slice_size(call: Call) -> bool:
    if not call.tile_size:
        return True
    smallest = 32 if generation(call) >= 3 else 64
    return all(size in _SLICES and size >= smallest for size in call.tile_size)


def _is_slice_position(call: Call) -> bool:
    if not _is_sliced(call) or not _is_slice_size(call):
        return True
    slices = zip(call.tile_position, call.tile_size, strict=True)
    return all(start % size == 0 and 0 <= start < targets.PARTITIONS for start, size in slices)


def _fits_slice(call: Call) -> bool:
    if not _is_sliced(call) or _is_double_row(call):
        return True
    rows, columns = call.tile_size
    return bool(call.stationary.shape[0] <= rows and free_size(call.stationary) <= columns)


def _is_double_row(call: Call) -> bool:
    return name_of(call.perf_mode).startswith("double_row")


def _double_row_types(call: Call) -> bool:
    return not _is_double_row(call) or all(
        is_type(operand, *dtypes.FLOAT8) for operand in (call.stationary, call.moving)
    )


def _types_of(call: Call) -> set[object]:
    operands = (call.stationary, call.moving)
    return {operand.dtype for operand in operands if isinstance(operand, Tensor)}


requires(
    "nisa.nc_matmul",
    Requirement(
        "tile_position and tile_size are given together",
        "tile_position tile_size",
        lambda call: bool(call.tile_position) == bool(call.tile_size),
    ),
    Requirement(
        "tile_size has rows and columns of 32 (from NeuronCore-v3 on), 64 or 128",
        "tile_size",
        _is_slice_size,
    ),
    Requirement(
        "tile_position is a multiple of tile_size, below 128",
        "tile_position tile_size",
        _is_slice_position,
    ),
    Requirement(
        "the stationary tile fits the rows and columns of tile_size",
        "stationary tile_size",
        _fits_slice,
        MATMUL_LIMIT,
    ),
    Requirement(
        "perf_mode double_row needs NeuronCore-v3 or later",
        "perf_mode target",
        lambda call: not _is_double_row(call) or generation(call) >= 3,
        TARGET_SUPPORT,
    ),
    Requirement(
        "perf_mode double_row multiplies 8-bit floats",
        "stationary moving perf_mode",
        _double_row_types,
        ENGINE_DTYPE,
    ),
    Requirement(
        "with perf_mode double_row, tile_size has all 128 columns",
        "perf_mode tile_size",
        lambda call: not _is_double_row(call) or not call.tile_size or call.tile_size[1] == 128,
    ),
    Requirement(
        "multiplication of float8_e4m3fn needs NeuronCore-v4 or later",
        "stationary moving target",
        lambda call: generation(call) >= 4 or dtypes.float8_e4m3fn not in _types_of(call),
        TARGET_SUPPORT,
    ),
    Requirement(
        "float8_e4m3 and float8_e4m3fn are not multiplied with each other",
        "stationary moving",
        lambda call: not {dtypes.float8_e4m3, dtypes.float8_e4m3fn} <= _types_of(call),
        ENGINE_DTYPE,
    ),
)

requires(
    "nisa.nc_matmul_mx",
    from_generation(4),
    in_sbuf("stationary moving"),
    Requirement(
        "tile_position and tile_size are given together",
        "tile_position tile_size",
        lambda call: bool(call.tile_position) == bool(call.tile_size),
    ),
    Requirement(
        "tile_size has all 128 columns, and tile_position begins at column 0",
        "tile_position tile_size",
        lambda call: not _is_sliced(call) or (call.tile_size[1], call.tile_position[1]) == (128, 0),
    ),
    Requirement(
        "the stationary tile's free size is even",
        "stationary",
        lambda call: free_size(call.stationary) % 2 == 0,
        MATMUL_LIMIT,
    ),
    has_type("stationary_scale moving_scale", dtypes.uint8, subject="scales"),
    in_sbuf("stationary_scale moving_scale", "scales"),
)


def _by_tensor_engine(call: Call) -> bool:
    return name_of(call.engine) == "tensor"


requires(
    "nisa.nc_transpose",
    engine_among("tensor", "vector"),
    has_type_of("dst", "data"),
    Requirement(
        "the tensor engine reads SBUF",
        "data engine",
        lambda call: not _by_tensor_engine(call) or lies_in(call.data, "sbuf"),
        MEMORY_SPACE,
    ),
    Requirement(
        "the tensor engine writes to PSUM",
        "dst engine",
        lambda call: not _by_tensor_engine(call) or lies_in(call.dst, "psum"),
        MEMORY_SPACE,
    ),
)
