"""Refusals of copies, fills and transfers, and of what cores send each other."""

from collections.abc import Sequence
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
    token,
)
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import Token

_HWDGE: Final = Refusal(
    "dge_mode hwdge is of NeuronCore-v3 and later",
    "dge_mode target",
    lambda call: name_of(call.dge_mode) != "hwdge" or generation(call) >= 3,
    TARGET_SUPPORT,
)
_PRIORITY: Final = (
    Refusal(
        "priority is 0 to 3",
        "priority",
        lambda call: call.priority is None or call.priority in range(4),
    ),
    Refusal(
        "priority is of NeuronCore-v4 and later",
        "priority target",
        lambda call: call.priority is None or generation(call) >= 4,
        TARGET_SUPPORT,
    ),
)

refuses(
    "nisa.dma_copy",
    _HWDGE,
    *_PRIORITY,
    Refusal(
        "an engine is named with dge_mode hwdge, and is sync or scalar",
        "engine dge_mode",
        lambda call: (
            name_of(call.engine) in ("", "unknown")
            or (name_of(call.dge_mode) == "hwdge" and engine_in(call, "sync", "scalar"))
        ),
    ),
)

#: Types of two bytes, which hardware transposes.
_TWO_BYTES: Final = 2
#: Rows that hardware transposes, from NKI 0.6.0 on; 16 alone before.
_HARDWARE_ROWS: Final = (1, 2, 4, 8, 16)


def _hardware_transposes(call: Call) -> bool:
    src = call.src
    return name_of(call.dge_mode) != "hwdge" or bool(
        src.shape[0] in _HARDWARE_ROWS
        and (src.shape[-1] <= 128 or src.shape[-1] % 128 == 0)
        and src.itemsize == _TWO_BYTES
    )


refuses(
    "nisa.dma_transpose",
    _HWDGE,
    *_PRIORITY,
    Refusal(
        "axes are (1, 0), (2, 1, 0) or (3, 1, 2, 0)",
        "axes",
        lambda call: call.axes is None or tuple(call.axes) in ((1, 0), (2, 1, 0), (3, 1, 2, 0)),
    ),
    Refusal(
        "dge_mode hwdge takes 1, 2, 4, 8 or 16 rows of 2-byte elements, up to 128 or a multiple",
        "src dge_mode",
        _hardware_transposes,
    ),
    Refusal("dst lies in SBUF", "dst", lambda call: lies_in(call.dst, "sbuf"), MEMORY_SPACE),
    Refusal(
        "dst has the type of src",
        "dst src",
        lambda call: is_of_one_type(call.dst, call.src),
        ENGINE_DTYPE,
    ),
)

_SOURCES: Final = 16


def _scales(call: Call) -> Sequence[float]:
    """Return the scales, which may be in the other's place."""
    given = (each for each in (call.scales, call.reduce_op) if isinstance(each, list | tuple))
    return next(given, ())


def _reduces(call: Call) -> Token:
    given = (call.scales, call.reduce_op)
    named = (each for each in given if each is not None and not isinstance(each, list | tuple))
    return token(next(named, "add"))


refuses(
    "nisa.dma_compute",
    Refusal("reduce_op is add", "reduce_op scales", lambda call: _reduces(call).name == "add"),
    Refusal(
        "scales are 1.0",
        "scales reduce_op",
        lambda call: all(scale == 1.0 for scale in _scales(call)),
    ),
    Refusal("srcs are at most 16", "srcs", lambda call: len(call.srcs) <= _SOURCES, TILE_LIMIT),
    Refusal(
        "srcs and dst lie in device memory or SBUF",
        "srcs dst",
        lambda call: all(lies_in(each, "hbm", "sbuf") for each in (*call.srcs, call.dst)),
        MEMORY_SPACE,
    ),
    Refusal("unique_indices is true", "unique_indices", lambda call: call.unique_indices),
)

refuses(
    "nisa.tensor_copy",
    Refusal(
        "the engine is vector, scalar or gpsimd",
        "engine",
        lambda call: engine_in(call, "vector", "scalar", "gpsimd"),
    ),
    Refusal(
        "the scalar engine copies from NeuronCore-v3 on; before, activation with op=nl.copy does",
        "engine target",
        lambda call: name_of(call.engine) != "scalar" or generation(call) >= 3,
        TARGET_SUPPORT,
    ),
)

_PACKED: Final = (dtypes.float8_e4m3fn_x4, dtypes.float8_e5m2_x4, dtypes.float4_e2m1fn_x4)

refuses(
    "nisa.memset",
    Refusal(
        "the engine is vector or gpsimd", "engine", lambda call: engine_in(call, "vector", "gpsimd")
    ),
    Refusal(
        "packed types are filled with 0",
        "value dst",
        lambda call: (
            not isinstance(call.dst, Tensor) or call.dst.dtype not in _PACKED or call.value == 0
        ),
    ),
)

refuses(
    "nisa.iota", Refusal("dst lies in SBUF", "dst", lambda call: lies_in(call.dst, "sbuf"),
                         MEMORY_SPACE)
)  # fmt: skip
refuses(
    "nisa.affine_select",
    Refusal(
        "dst and on_true_tile lie in SBUF",
        "dst on_true_tile",
        # What the older interface has in PSUM, its compiler copies first.
        lambda call: (
            call.dst is None
            or (lies_in(call.dst, "sbuf") and lies_in(call.on_true_tile, "sbuf", "hbm"))
        ),
        MEMORY_SPACE,
    ),
)

_CORES: Final = Refusal(
    "it is of NeuronCore-v3 and later", "target", lambda call: generation(call) >= 3, TARGET_SUPPORT
)
#: Bytes a partition that GpSimd's own DMA engine sends, by the bytes of an element.
_SENT_BY_GPSIMD: Final = {4: 1024, 2: 512, 1: 256}


def _is_short_enough(call: Call) -> bool:
    src = call.src
    most = _SENT_BY_GPSIMD.get(src.itemsize, 0)
    by_gpsimd = name_of(call.dma_engine) == "gpsimd_dma" or call.use_gpsimd_dma
    return not by_gpsimd or free_size(src) * src.itemsize <= most


refuses(
    "nisa.sendrecv",
    _CORES,
    Refusal(
        "GpSimd sends up to 1,024, 512 or 256 bytes a partition of elements of 4, 2 or 1 byte",
        "src dma_engine",
        _is_short_enough,
        TILE_LIMIT,
    ),
)
refuses(
    "nisa.core_barrier",
    _CORES,
    Refusal("cores are (0, 1)", "cores", lambda call: tuple(call.cores) == (0, 1)),
    Refusal(
        "data is seen by both cores: it lies in shared_hbm",
        "data",
        lambda call: call.data.memory.shared,
        MEMORY_SPACE,
    ),
)

refuses(
    "nisa.quantize_mx",
    Refusal(
        "src, dst and dst_scale lie in SBUF",
        "src dst dst_scale",
        lambda call: all(lies_in(each, "sbuf") for each in (call.src, call.dst, call.dst_scale)),
        MEMORY_SPACE,
    ),
    Refusal(
        "dst_scale is uint8",
        "dst_scale",
        lambda call: is_type(call.dst_scale, dtypes.uint8),
        ENGINE_DTYPE,
    ),
)
