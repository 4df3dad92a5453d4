"""Requirements of reductions, scans, searches and gathers, and of random numbers."""

from typing import Final

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.findings import ENGINE_DTYPE, MEMORY_SPACE, TARGET_SUPPORT, TILE_LIMIT
from kvtrace.addons.neuron.requirements.requirement import (
    Call,
    Requirement,
    engine_in,
    free_size,
    from_generation,
    generation,
    has_type,
    has_type_of,
    in_sbuf,
    integers_if_bitwise,
    is_arithmetic,
    is_bits,
    is_type,
    lies_in,
    name_of,
    not_both_in_psum,
    operation_among,
    requires,
    token,
)
from kvtrace.addons.neuron.tensors import Tensor

#: Reduction operators (table of operators of `nki.isa`).
REDUCING: Final = frozenset(
    [
        "add",
        "subtract",
        "multiply",
        "maximum",
        "minimum",
        "logical_and",
        "logical_or",
        "logical_xor",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "abs_max",
        "abs_min",
    ]
)


def _axes_are_the_last(call: Call) -> bool:
    if call.dst is None:  # the older interface has another convention, or none
        return True
    rank = len(call.data.shape)
    axes_passed = call.axis if isinstance(call.axis, tuple | list) else (call.axis,)
    axes = sorted(int(axis) % rank for axis in axes_passed)
    return axes == list(range(rank - len(axes), rank))


requires(
    "nisa.tensor_reduce",
    Requirement("op is a reduction operator", "op", lambda call: token(call.op).name in REDUCING),
    integers_if_bitwise("op", "data dst"),
    Requirement(
        "negate needs an arithmetic op",
        "negate op",
        lambda call: not call.negate or not is_bits(call.op),
    ),
    Requirement("the axes are the last ones, without gaps", "axis data", _axes_are_the_last),
)

requires(
    "nisa.tensor_partition_reduce",
    operation_among("op", "add", "maximum", "bitwise_or", "bitwise_and"),
    Requirement(
        "data lies in SBUF, which is all that GpSimd reaches",
        "data",
        lambda call: lies_in(call.data, "sbuf", "hbm"),
        MEMORY_SPACE,
    ),
)

requires(
    "nisa.tensor_tensor_scan",
    not_both_in_psum("data0", "data1"),
)

requires(
    "nisa.tensor_scalar_reduce",
    is_arithmetic("op0"),
    operation_among("reduce_op", "add", "subtract", "multiply", "maximum", "minimum"),
    has_type("operand0", dtypes.float32),
    Requirement(
        "reduce_cmd is reset_reduce, reduce or load_reduce",
        "reduce_cmd",
        lambda call: name_of(call.reduce_cmd) != "reset",
    ),
    Requirement(
        "reduce_init is passed if and only if reduce_cmd is load_reduce",
        "reduce_init reduce_cmd",
        lambda call: (name_of(call.reduce_cmd) == "load_reduce") == (call.reduce_init is not None),
    ),
)

_WIDE: Final = (dtypes.int32, dtypes.uint32)

requires(
    "nisa.tensor_scalar_cumulative",
    is_arithmetic("op0"),
    has_type("src dst", dtypes.int32, dtypes.uint32, negated=True),
    has_type("imm0 imm1", dtypes.float32),
)


_EIGHT: Final = 8
_GROUP: Final = 32
_GPSIMD_PARTITIONS: Final = 16
_INDICES: Final = 4096


def _at_least_eight(name: str) -> Requirement:
    return Requirement(
        f"{name} has at least 8 elements per partition",
        name,
        lambda call: free_size(getattr(call, name)) >= _EIGHT,
        TILE_LIMIT,
    )


requires("nisa.nc_match_replace8", _at_least_eight("data"))
requires(
    "nisa.nc_find_index8",
    _at_least_eight("data"),
    has_type("dst", dtypes.uint16, dtypes.uint32),
)


def _has_allowed_start(call: Call) -> bool:
    partition_count = max(-(-tile.shape[0] // _GROUP) * _GROUP for tile in (call.src, call.dst))
    allowed_starts = {32: (0, 32, 64, 96), 64: (0, 64)}.get(partition_count, (0,))
    return all(_first_partition(tile) in allowed_starts for tile in (call.src, call.dst))


def _first_partition(tile: Tensor) -> int:
    memory = tile.memory
    if memory.partition != 0 or not memory.shape:
        return 0
    return tile.offset * tile.itemsize // max(memory.raw.size // memory.shape[0], 1)


requires(
    "nisa.nc_stream_shuffle",
    has_type_of("dst", "src"),
    Requirement(
        "tiles of up to 32 partitions begin at 0, 32, 64 or 96, of up to 64 at 0 or 64, else at 0",
        "src dst",
        _has_allowed_start,
        depends_on_offset=True,
    ),
)

requires(
    "nisa.local_gather",
    in_sbuf("src_buffer index"),
    has_type("index", dtypes.uint16),
    has_type_of("dst", "src_buffer"),
    Requirement(
        "a core gathers at most 4,096 indices",
        "index num_valid_indices",
        lambda call: (
            (call.num_valid_indices or _GPSIMD_PARTITIONS * free_size(call.index)) <= _INDICES
        ),
        TILE_LIMIT,
    ),
)
requires(
    "nisa.nc_n_gather",
    in_sbuf("data indices"),
    has_type("indices", dtypes.uint32),
    has_type_of("dst", "data"),
    in_sbuf("dst"),
)
requires(
    "nisa.nonzero_with_count",
    from_generation(3),
    in_sbuf("src"),
    has_type("src", dtypes.float32, dtypes.int32),
    has_type("dst", dtypes.int32),
    in_sbuf("dst"),
)
requires(
    "nisa.sequence_bounds",
    Requirement(
        "segment_ids lie in one partition",
        "segment_ids",
        lambda call: call.segment_ids.shape[0] == 1,
        TILE_LIMIT,
    ),
    has_type("segment_ids dst", dtypes.float32, dtypes.int32),
)
requires(
    "nisa.topk",
    Requirement(
        "src and val_dst are bfloat16, idx_dst is uint32",
        "src val_dst idx_dst",
        lambda call: (
            is_type(call.src, dtypes.bfloat16)
            and is_type(call.val_dst, dtypes.bfloat16)
            and is_type(call.idx_dst, dtypes.uint32)
        ),
        ENGINE_DTYPE,
    ),
    in_sbuf("src val_dst idx_dst", "tiles"),
    Requirement("n is 8 to 65,535", "n", lambda call: _EIGHT <= call.n < 1 << 16, TILE_LIMIT),
)


def _is_rng_engine(call: Call) -> bool:
    return engine_in(call, "vector", "gpsimd")


_RNG_ENGINE: Final = Requirement("the engine is vector or gpsimd", "engine", _is_rng_engine)

requires(
    "nisa.rng",
    _RNG_ENGINE,
    Requirement(
        "GpSimd makes random numbers from NeuronCore-v3 on",
        "engine target",
        lambda call: name_of(call.engine) != "gpsimd" or generation(call) >= 3,
        TARGET_SUPPORT,
    ),
)
requires(
    "nisa.rand2",
    from_generation(4),
    Requirement(
        "min is less than max",
        "min max",
        lambda call: isinstance(call.min, Tensor) or isinstance(call.max, Tensor)
        or call.min < call.max,
    ),
)  # fmt: skip
for _name, _operand in (("nisa.rand_set_state", "src_seeds"), ("nisa.rand_get_state", "dst")):
    requires(
        _name,
        _RNG_ENGINE,
        Requirement(
            "needs NeuronCore-v3 or later; the vector engine, v4 or later",
            "engine target",
            lambda call: generation(call) >= (4 if name_of(call.engine) == "vector" else 3),
            TARGET_SUPPORT,
        ),
        Requirement(
            f"{_operand} is uint32",
            _operand,
            lambda call, operand=_operand: is_type(getattr(call, operand), dtypes.uint32),  # type: ignore[misc]
            ENGINE_DTYPE,
        ),
    )
requires(
    "nisa.set_rng_seed",
    Requirement(
        "src_seeds is one 32-bit value",
        "src_seeds",
        lambda call: call.src_seeds.size == 1 and call.src_seeds.itemsize == 4,
        ENGINE_DTYPE,
    ),
)
