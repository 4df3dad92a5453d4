"""Requirements of copies, fills, transfers, and exchange between cores."""

from collections.abc import Sequence
from typing import Final

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.findings import MEMORY_SPACE, TARGET_SUPPORT, TILE_LIMIT
from kvtrace.addons.neuron.requirements.requirement import (
    Call,
    Requirement,
    engine_among,
    engine_in,
    free_size,
    from_generation,
    generation,
    has_type,
    has_type_of,
    in_sbuf,
    lies_in,
    name_of,
    requires,
    token,
)
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import Token

_HWDGE: Final = Requirement(
    "dge_mode hwdge needs NeuronCore-v3 or later",
    "dge_mode target",
    lambda call: name_of(call.dge_mode) != "hwdge" or generation(call) >= 3,
    TARGET_SUPPORT,
)
_PRIORITY: Final = (
    Requirement(
        "priority is 0 to 3",
        "priority",
        lambda call: call.priority is None or call.priority in range(4),
    ),
    Requirement(
        "priority needs NeuronCore-v4 or later",
        "priority target",
        lambda call: call.priority is None or generation(call) >= 4,
        TARGET_SUPPORT,
    ),
)

requires(
    "nisa.dma_copy",
    _HWDGE,
    *_PRIORITY,
    Requirement(
        "an engine is named only with dge_mode hwdge, and is sync or scalar",
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


requires(
    "nisa.dma_transpose",
    _HWDGE,
    *_PRIORITY,
    Requirement(
        "axes are (1, 0), (2, 1, 0) or (3, 1, 2, 0)",
        "axes",
        lambda call: call.axes is None or tuple(call.axes) in ((1, 0), (2, 1, 0), (3, 1, 2, 0)),
    ),
    Requirement(
        "dge_mode hwdge takes 1, 2, 4, 8 or 16 rows of 2-byte elements: up to 128, or n × 128",
        "src dge_mode",
        _hardware_transposes,
    ),
    in_sbuf("dst"),
    has_type_of("dst", "src"),
)

_SOURCES: Final = 16


def _scales(call: Call) -> Sequence[float]:
    """Return the scales, which may be passed as `reduce_op`; empty if none are passed."""
    lists = (value for value in (call.scales, call.reduce_op) if isinstance(value, list | tuple))
    return next(lists, ())


def _reduction(call: Call) -> Token:
    """Return the token of the reduction, which may be passed as `scales`; by default add."""
    tokens = (
        value
        for value in (call.scales, call.reduce_op)
        if value is not None and not isinstance(value, list | tuple)
    )
    return token(next(tokens, "add"))


requires(
    "nisa.dma_compute",
    Requirement(
        "reduce_op is add", "reduce_op scales", lambda call: _reduction(call).name == "add"
    ),
    Requirement(
        "scales are 1.0",
        "scales reduce_op",
        lambda call: all(scale == 1.0 for scale in _scales(call)),
    ),
    Requirement(
        "there are at most 16 srcs", "srcs", lambda call: len(call.srcs) <= _SOURCES, TILE_LIMIT
    ),
    Requirement(
        "srcs and dst lie in device memory or SBUF",
        "srcs dst",
        lambda call: all(lies_in(tile, "hbm", "sbuf") for tile in (*call.srcs, call.dst)),
        MEMORY_SPACE,
    ),
    Requirement("unique_indices is true", "unique_indices", lambda call: call.unique_indices),
)

requires(
    "nisa.tensor_copy",
    engine_among("vector", "scalar", "gpsimd"),
    Requirement(
        "copies on the scalar engine need NeuronCore-v3 or later; use activation with op=nl.copy",
        "engine target",
        lambda call: name_of(call.engine) != "scalar" or generation(call) >= 3,
        TARGET_SUPPORT,
    ),
)

_PACKED: Final = (dtypes.float8_e4m3fn_x4, dtypes.float8_e5m2_x4, dtypes.float4_e2m1fn_x4)

requires(
    "nisa.memset",
    engine_among("vector", "gpsimd"),
    Requirement(
        "packed types are filled with 0",
        "value dst",
        lambda call: (
            not isinstance(call.dst, Tensor) or call.dst.dtype not in _PACKED or call.value == 0
        ),
    ),
)

requires(
    "nisa.iota", in_sbuf("dst")
)  # fmt: skip
requires(
    "nisa.affine_select",
    Requirement(
        "dst and on_true_tile lie in SBUF",
        "dst on_true_tile",
        # The older interface's compiler first copies an operand that is in PSUM to SBUF.
        lambda call: (
            call.dst is None
            or (lies_in(call.dst, "sbuf") and lies_in(call.on_true_tile, "sbuf", "hbm"))
        ),
        MEMORY_SPACE,
    ),
)

_CORES: Final = from_generation(3)
#: Bytes per partition that GpSimd's own DMA engine sends, by the bytes of an element.
_SENT_BY_GPSIMD: Final = {4: 1024, 2: 512, 1: 256}


def _is_short_enough(call: Call) -> bool:
    src = call.src
    byte_limit = _SENT_BY_GPSIMD.get(src.itemsize, 0)
    uses_gpsimd = name_of(call.dma_engine) == "gpsimd_dma" or call.use_gpsimd_dma
    return not uses_gpsimd or free_size(src) * src.itemsize <= byte_limit


requires(
    "nisa.sendrecv",
    _CORES,
    in_sbuf("src dst"),
    Requirement(
        "GpSimd sends up to 1,024, 512 or 256 bytes per partition of elements of 4, 2 or 1 byte",
        "src dma_engine",
        _is_short_enough,
        TILE_LIMIT,
    ),
)
requires(
    "nisa.core_barrier",
    _CORES,
    Requirement("cores are (0, 1)", "cores", lambda call: tuple(call.cores) == (0, 1)),
    Requirement(
        "data lies in shared_hbm, which both cores access",
        "data",
        lambda call: call.data.memory.shared,
        MEMORY_SPACE,
    ),
)

requires(
    "nisa.quantize_mx",
    from_generation(4),
    has_type("src", dtypes.float16, dtypes.bfloat16),
    in_sbuf("src dst dst_scale"),
    has_type("dst_scale", dtypes.uint8),
)
