"""Makers of kernels: the origin that the trace names, or a library recognized by the name."""

import re
from typing import Final

from kvtrace.figures.names import readable
from kvtrace.schema.layout import IMPORTED
from kvtrace.schema.without_ir import TRITON_ORIGINS

#: Maker of kernels with a known launch that Triton's compiler made.
TRITON: Final = "Triton"
#: Maker of kernels of another tool's trace that are of no known library: their compiler, Triton
#: or another, is not recorded.
CUSTOM: Final = "custom"
#: Maker of kernels whose producer does not say what made them.
UNKNOWN: Final = "unknown"

#: Makers with patterns of readable kernel names; the first that matches counts.
_MAKERS: Final = tuple(
    (maker, re.compile(pattern))
    for maker, pattern in (
        ("other", r"triton_"),  # Inductor's, some of which have gemm in their names
        ("NCCL", r"nccl|rccl|msccl"),
        ("cuDNN", r"(\w+_s|cask_)?cudnn"),
        ("Tensile", r"(Custom_)?[CD]ijk_"),  # the products of rocBLAS and hipBLASLt
        ("rocBLAS", r"rocblas|hipblas"),
        ("MIOpen", r"(?i)miopen|naive_conv_|gridwise_convolution|Im2d2Col|batched_transpose_\d"),
        ("CK", r"ck(_tile)?::"),
        ("ROCclr", r"__amd_rocclr_"),
        ("FBGEMM", r"fbgemm"),
        ("MAGMA", r"magma_"),
        ("CUB", r"(thrust|cub|hipcub|rocprim)::"),
        (
            "cuBLAS",
            r"cublas|nvjet_|splitKreduce_|gemmk1_|(internal::)?gemv|[^:]*[a-z]gemm_|gemm_|(?!_)[^:]*_gemm_",
        ),
        ("CUTLASS", r"cutlass"),
        ("FlashAttention", r"flash::|flash_fwd|flash_bwd"),
        ("torch", r"at::|at_cuda_detail|c10::|\(anonymous\)::"),
    )
)

#: Makers, and copies and fills, of executions without a recorded launch. All other makers are those
#: of rows of `kernels`.
NOT_OWN: Final = (*(maker for maker, _ in _MAKERS), "copy", "fill", "other")
#: The maker of a row of `kernels`, in SQL: another producer's kernels are named as it names them.
OWN_KIND: Final = f"""
    CASE WHEN origin IS NULL THEN '{UNKNOWN}' WHEN origin IN {TRITON_ORIGINS} THEN '{TRITON}'
        WHEN origin = '{IMPORTED}' THEN '{CUSTOM}'
        WHEN origin IN {NOT_OWN} THEN origin || ' kernel' ELSE origin END
"""


def own_kind(origin: str | None) -> str:
    """Return the maker of a row of `kernels`, as `OWN_KIND` does in SQL."""
    if origin is None:
        return UNKNOWN
    if origin in TRITON_ORIGINS:
        return TRITON
    if origin == IMPORTED:
        return CUSTOM
    return f"{origin} kernel" if origin in NOT_OWN else origin


def is_own(kind: str) -> bool:
    """Return whether a kind is the maker of rows of `kernels`, not a library or copies."""
    return kind not in NOT_OWN


def kind_of(name: str, of_memory: str | None = None) -> str:
    """Return the library of a kernel without a recorded launch, by its name, or "other".

    `of_memory` is the kind of a copy or fill; it is returned unchanged unless None.
    """
    if of_memory is not None:
        return of_memory
    readable_name = readable(name)
    return next((maker for maker, pattern in _MAKERS if pattern.match(readable_name)), "other")
