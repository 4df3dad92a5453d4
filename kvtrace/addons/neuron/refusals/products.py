"""Refusals of the tensor engine: products and transposes."""

from typing import Final

from kvtrace.addons.neuron import dtypes, targets
from kvtrace.addons.neuron.findings import ENGINE_DTYPE, MATMUL_LIMIT, MEMORY_SPACE, TARGET_SUPPORT
from kvtrace.addons.neuron.refusals.refusal import (
    Call,
    Refusal,
    engine_in,
    free_size,
    generation,
    is_of_one_type,
    is_type,
    lies_in,
    name_of,
    refuses,
)
from kvtrace.addons.neuron.tensors import Tensor

#: Rows and columns that the array of the tensor engine is sliced into; 32 from NeuronCore-v3 on.
_SLICES: Final = (32, 64, 128)


def _sliced(call: Call) -> bool:
    return bool(call.tile_size) and bool(call.tile_position)


def _size_is_a_slice(call: Call) -> bool:
    if not call.tile_size:
        return True
    least = 32 if generation(call) >= 3 else 64
    return all(size in _SLICES and size >= least for size in call.tile_size)


def _position_is_of_a_slice(call: Call) -> bool:
    if not _sliced(call) or not _size_is_a_slice(call):
        return True
    pairs = zip(call.tile_position, call.tile_size, strict=True)
    return all(start % size == 0 and 0 <= start < targets.PARTITIONS for start, size in pairs)


def _fits_its_slice(call: Call) -> bool:
    if not _sliced(call) or _doubled(call):
        return True
    rows, columns = call.tile_size
    return bool(call.stationary.shape[0] <= rows and free_size(call.stationary) <= columns)


def _doubled(call: Call) -> bool:
    return name_of(call.perf_mode).startswith("double_row")


def _doubled_floats(call: Call) -> bool:
    return not _doubled(call) or all(
        is_type(operand, *dtypes.FLOAT8) for operand in (call.stationary, call.moving)
    )


def _types_of(call: Call) -> set[object]:
    operands = (call.stationary, call.moving)
    return {operand.dtype for operand in operands if isinstance(operand, Tensor)}


refuses(
    "nisa.nc_matmul",
    Refusal(
        "tile_position and tile_size are given together",
        "tile_position tile_size",
        lambda call: bool(call.tile_position) == bool(call.tile_size),
    ),
    Refusal(
        "tile_size is of rows and columns of 32 (from NeuronCore-v3), 64 or 128",
        "tile_size",
        _size_is_a_slice,
    ),
    Refusal(
        "tile_position is a multiple of tile_size, below 128",
        "tile_position tile_size",
        _position_is_of_a_slice,
    ),
    Refusal(
        "the stationary tile fits the rows and columns of tile_size",
        "stationary tile_size",
        _fits_its_slice,
        MATMUL_LIMIT,
    ),
    Refusal(
        "perf_mode double_row is of NeuronCore-v3 and later",
        "perf_mode target",
        lambda call: not _doubled(call) or generation(call) >= 3,
        TARGET_SUPPORT,
    ),
    Refusal(
        "perf_mode double_row multiplies 8-bit floats",
        "stationary moving perf_mode",
        _doubled_floats,
        ENGINE_DTYPE,
    ),
    Refusal(
        "perf_mode double_row goes with all columns of the array",
        "perf_mode tile_size",
        lambda call: not _doubled(call) or not call.tile_size or call.tile_size[1] == 128,
    ),
    Refusal(
        "float8_e4m3fn is multiplied by NeuronCore-v4 and later",
        "stationary moving target",
        lambda call: generation(call) >= 4 or dtypes.float8_e4m3fn not in _types_of(call),
        TARGET_SUPPORT,
    ),
    Refusal(
        "float8_e4m3 and float8_e4m3fn are not multiplied with each other",
        "stationary moving",
        lambda call: not {dtypes.float8_e4m3, dtypes.float8_e4m3fn} <= _types_of(call),
        ENGINE_DTYPE,
    ),
)

refuses(
    "nisa.nc_matmul_mx",
    Refusal(
        "tile_position and tile_size are given together",
        "tile_position tile_size",
        lambda call: bool(call.tile_position) == bool(call.tile_size),
    ),
    Refusal(
        "tile_size is of all 128 columns, and tile_position begins at column 0",
        "tile_position tile_size",
        lambda call: not _sliced(call) or (call.tile_size[1], call.tile_position[1]) == (128, 0),
    ),
    Refusal(
        "the stationary tile's free size is even",
        "stationary",
        lambda call: free_size(call.stationary) % 2 == 0,
        MATMUL_LIMIT,
    ),
    Refusal(
        "scales are uint8",
        "stationary_scale moving_scale",
        lambda call: (
            is_type(call.stationary_scale, dtypes.uint8)
            and is_type(call.moving_scale, dtypes.uint8)
        ),
        ENGINE_DTYPE,
    ),
    Refusal(
        "scales lie in SBUF",
        "stationary_scale moving_scale",
        lambda call: lies_in(call.stationary_scale, "sbuf") and lies_in(call.moving_scale, "sbuf"),
        MEMORY_SPACE,
    ),
)


def _by_tensor_engine(call: Call) -> bool:
    return name_of(call.engine) == "tensor"


refuses(
    "nisa.nc_transpose",
    Refusal(
        "the engine is tensor or vector", "engine", lambda call: engine_in(call, "tensor", "vector")
    ),
    Refusal(
        "dst has the type of data",
        "dst data",
        lambda call: is_of_one_type(call.dst, call.data),
        ENGINE_DTYPE,
    ),
    Refusal(
        "the tensor engine reads SBUF",
        "data engine",
        lambda call: not _by_tensor_engine(call) or lies_in(call.data, "sbuf"),
        MEMORY_SPACE,
    ),
    Refusal(
        "the tensor engine writes to PSUM",
        "dst engine",
        lambda call: not _by_tensor_engine(call) or lies_in(call.dst, "psum"),
        MEMORY_SPACE,
    ),
)
