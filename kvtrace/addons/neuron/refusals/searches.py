"""Refusals of instructions that find and gather elements, and of those that make numbers."""

from typing import Final

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.findings import ENGINE_DTYPE, MEMORY_SPACE, TARGET_SUPPORT, TILE_LIMIT
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

_EIGHT: Final = 8
_GROUP: Final = 32
_GPSIMD_PARTITIONS: Final = 16
_INDICES: Final = 4096


def _at_least_eight(name: str) -> Refusal:
    return Refusal(
        f"{name} has at least 8 elements a partition",
        name,
        lambda call: free_size(getattr(call, name)) >= _EIGHT,
        TILE_LIMIT,
    )


refuses("nisa.nc_match_replace8", _at_least_eight("data"))
refuses(
    "nisa.nc_find_index8",
    _at_least_eight("data"),
    Refusal(
        "dst is uint16 or uint32",
        "dst",
        lambda call: is_type(call.dst, dtypes.uint16, dtypes.uint32),
        ENGINE_DTYPE,
    ),
)


def _begins_with_its_partitions(call: Call) -> bool:
    active = max(-(-each.shape[0] // _GROUP) * _GROUP for each in (call.src, call.dst))
    allowed = {32: (0, 32, 64, 96), 64: (0, 64)}.get(active, (0,))
    return all(_first_partition(each) in allowed for each in (call.src, call.dst))


def _first_partition(tile: Tensor) -> int:
    memory = tile.memory
    if memory.partition != 0 or not memory.shape:
        return 0
    return tile.offset * tile.itemsize // max(memory.raw.size // memory.shape[0], 1)


refuses(
    "nisa.nc_stream_shuffle",
    Refusal(
        "dst has the type of src",
        "dst src",
        lambda call: is_of_one_type(call.dst, call.src),
        ENGINE_DTYPE,
    ),
    Refusal(
        "tiles of up to 32 partitions begin at 0, 32, 64 or 96, of up to 64 at 0 or 64, else at 0",
        "src dst",
        _begins_with_its_partitions,
        by_place=True,
    ),
)

refuses(
    "nisa.local_gather",
    Refusal(
        "dst has the type of src_buffer",
        "dst src_buffer",
        lambda call: is_of_one_type(call.dst, call.src_buffer),
        ENGINE_DTYPE,
    ),
    Refusal(
        "a core gathers by up to 4,096 indices",
        "index num_valid_indices",
        lambda call: (
            (call.num_valid_indices or _GPSIMD_PARTITIONS * free_size(call.index)) <= _INDICES
        ),
        TILE_LIMIT,
    ),
)
refuses(
    "nisa.nc_n_gather",
    Refusal(
        "dst has the type of data",
        "dst data",
        lambda call: is_of_one_type(call.dst, call.data),
        ENGINE_DTYPE,
    ),
    Refusal("dst lies in SBUF", "dst", lambda call: lies_in(call.dst, "sbuf"), MEMORY_SPACE),
)
refuses(
    "nisa.nonzero_with_count",
    Refusal(
        "src is float32 or int32",
        "src",
        lambda call: is_type(call.src, dtypes.float32, dtypes.int32),
        ENGINE_DTYPE,
    ),
    Refusal("dst is int32", "dst", lambda call: is_type(call.dst, dtypes.int32), ENGINE_DTYPE),
    Refusal("dst lies in SBUF", "dst", lambda call: lies_in(call.dst, "sbuf"), MEMORY_SPACE),
)
refuses(
    "nisa.sequence_bounds",
    Refusal(
        "segment_ids lie in one partition",
        "segment_ids",
        lambda call: call.segment_ids.shape[0] == 1,
        TILE_LIMIT,
    ),
    Refusal(
        "segment_ids and dst are float32 or int32",
        "segment_ids dst",
        lambda call: all(
            is_type(each, dtypes.float32, dtypes.int32) for each in (call.segment_ids, call.dst)
        ),
        ENGINE_DTYPE,
    ),
)
refuses(
    "nisa.topk",
    Refusal(
        "src and val_dst are bfloat16, idx_dst is uint32",
        "src val_dst idx_dst",
        lambda call: (
            is_type(call.src, dtypes.bfloat16)
            and is_type(call.val_dst, dtypes.bfloat16)
            and is_type(call.idx_dst, dtypes.uint32)
        ),
        ENGINE_DTYPE,
    ),
    Refusal(
        "tiles lie in SBUF",
        "src val_dst idx_dst",
        lambda call: all(lies_in(each, "sbuf") for each in (call.src, call.val_dst, call.idx_dst)),
        MEMORY_SPACE,
    ),
    Refusal("n is 8 to 65,535", "n", lambda call: _EIGHT <= call.n < 1 << 16, TILE_LIMIT),
)


def _rng_engine(call: Call) -> bool:
    return engine_in(call, "vector", "gpsimd")


_RNG_ENGINE: Final = Refusal("the engine is vector or gpsimd", "engine", _rng_engine)

refuses(
    "nisa.rng",
    _RNG_ENGINE,
    Refusal(
        "GpSimd makes random numbers from NeuronCore-v3 on",
        "engine target",
        lambda call: name_of(call.engine) != "gpsimd" or generation(call) >= 3,
        TARGET_SUPPORT,
    ),
)
refuses(
    "nisa.rand2",
    Refusal(
        "it is of NeuronCore-v4 and later",
        "target",
        lambda call: generation(call) >= 4,
        TARGET_SUPPORT,
    ),
    Refusal(
        "min is less than max",
        "min max",
        lambda call: isinstance(call.min, Tensor) or isinstance(call.max, Tensor)
        or call.min < call.max,
    ),
)  # fmt: skip
for _name, _operand in (("nisa.rand_set_state", "src_seeds"), ("nisa.rand_get_state", "dst")):
    refuses(
        _name,
        _RNG_ENGINE,
        Refusal(
            "it is of NeuronCore-v3 and later, on the vector engine of v4 and later",
            "engine target",
            lambda call: generation(call) >= (4 if name_of(call.engine) == "vector" else 3),
            TARGET_SUPPORT,
        ),
        Refusal(
            f"{_operand} is uint32",
            _operand,
            lambda call, operand=_operand: is_type(getattr(call, operand), dtypes.uint32),  # type: ignore[misc]
            ENGINE_DTYPE,
        ),
    )
refuses(
    "nisa.set_rng_seed",
    Refusal(
        "src_seeds is one value of 32 bits",
        "src_seeds",
        lambda call: call.src_seeds.size == 1 and call.src_seeds.itemsize == 4,
        ENGINE_DTYPE,
    ),
)
