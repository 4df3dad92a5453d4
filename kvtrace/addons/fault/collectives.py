"""Collectives of NCCL, by the names of its kernels.

NCCL compiles a kernel for a few of its functions, and runs the others in that of the nearest one: a
maximum in the kernel of the sum, signed integers in that of the unsigned ones, and other protocols
in that of LL: see `best_kernel` and `equivalent_primary` in
https://github.com/NVIDIA/nccl/blob/master/src/device/generate.py. So a name has the collective and
its type, and not the operation.
"""

import re
from typing import Final

from kvtrace.figures.names import readable

#: `ncclDevKernel_AllReduce_Sum_bf16_RING_LL`; `ncclKernel_AllReduce_RING_LL_Sum_float` before 2.19.
_KERNEL: Final = re.compile(r"nccl\w*?Kernel_([A-Za-z]+)((?:_\w+)?)")
_GENERIC: Final = "Generic"
_REDUCTIONS: Final = frozenset({"AllReduce", "Reduce", "ReduceScatter"})
_TYPES: Final = {
    "f16": "fp16", "half": "fp16", "bf16": "bf16", "bfloat16": "bf16", "f32": "fp32",
    "float": "fp32", "f64": "fp64", "double": "fp64", "f8e4m3": "fp8e4m3", "f8e5m2": "fp8e5m2",
    "i8": "int8", "u8": "int8", "i32": "int32", "u32": "int32", "i64": "int64", "u64": "int64",
}  # fmt: skip


def collective_of(kernel: str) -> str:
    """Return the collective that a kernel of NCCL runs; empty for another kernel.

    >>> collective_of("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
    "NCCL's AllReduce of bf16"
    """
    match = _KERNEL.match(readable(kernel))
    if match is None:
        return ""
    if match[1] == _GENERIC:
        return "a collective of NCCL"
    types = [_TYPES[part] for part in match[2].split("_") if part in _TYPES]
    of_type = f" of {types[0]}" if types and match[1] in _REDUCTIONS else ""
    return f"NCCL's {match[1]}{of_type}"
