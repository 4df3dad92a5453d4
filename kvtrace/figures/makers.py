"""Whose a kernel is: Triton's, custom, or of which library, by its name, if no call is known."""

import re
from typing import Final

from kvtrace.schema.layout import IMPORTED
from kvtrace.schema.symbols import readable

#: Whose kernels they are that a launch is known for.
TRITON: Final = "Triton"
#: Those of another tool's trace that no library is known to have made: what compiled them, Triton
#: or another compiler, is not recorded.
CUSTOM: Final = "custom"
OWN: Final = (TRITON, CUSTOM)
#: Which of the two a row of `kernels` is of, in SQL.
OWN_KIND: Final = f"CASE WHEN origin = '{IMPORTED}' THEN '{CUSTOM}' ELSE '{TRITON}' END"

#: Whose a kernel is, by its name as people write it; the first that fits.
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
    """Return whose a kernel is that no launch is known for; `of_memory`: copy or fill."""
    if of_memory is not None:
        return of_memory
    written = readable(name)
    return next((maker for maker, found in _MAKERS if found.match(written)), "other")
