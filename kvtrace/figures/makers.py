"""Origins of kernels: Triton, custom, or a library recognized by the kernel's name."""

import re
from typing import Final

from kvtrace.schema.layout import IMPORTED
from kvtrace.schema.symbols import readable

#: Maker of kernels with a known launch.
TRITON: Final = "Triton"
#: Maker of kernels of another tool's trace that are of no known library: their compiler, Triton
#: or another, is not recorded.
CUSTOM: Final = "custom"
OWN: Final = (TRITON, CUSTOM)
#: The maker of a row of `kernels`, in SQL.
OWN_KIND: Final = f"CASE WHEN origin = '{IMPORTED}' THEN '{CUSTOM}' ELSE '{TRITON}' END"

#: Makers with patterns of readable kernel names; the first that matches counts.
_MAKERS: Final = tuple(
    (maker, re.compile(pattern))
    for maker, pattern in (
        ("NCCL", r"nccl"),
        ("cuDNN", r"cudnn"),
        ("cuBLAS", r"cublas|nvjet_|gemmk1_|gemv|.*[a-z]gemm_|gemm_|.*_gemm_"),
        ("CUTLASS", r"cutlass"),
        ("FlashAttention", r"flash::|flash_fwd|flash_bwd"),
        ("torch", r"at::|at_cuda_detail|c10::|\(anonymous\)::"),
    )
)


def kind_of(name: str, of_memory: str | None = None) -> str:
    """Return the library of a kernel without a recorded launch, by its name, or "other".

    `of_memory` is the kind of a copy or fill; it is returned unchanged unless None.
    """
    if of_memory is not None:
        return of_memory
    readable_name = readable(name)
    return next((maker for maker, pattern in _MAKERS if pattern.match(readable_name)), "other")
