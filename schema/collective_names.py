"""Names and sizes of collective operations, from words of torch, NCCL, RCCL, and from kernels."""

import re
from functools import cache
from typing import Final

_OPERATIONS: Final = (
    "AllReduce", "AllGather", "ReduceScatter", "AllToAll", "Broadcast", "Reduce", "Gather",
    "Scatter", "Send", "Recv", "Barrier",
)  # fmt: skip
_BY_LETTERS: Final = {name.lower(): name for name in _OPERATIONS}
#: Bytes of an element by torch's name of its type.
_BYTES: Final = {
    "Byte": 1, "Char": 1, "Bool": 1, "Short": 2, "Half": 2, "BFloat16": 2, "Int": 4, "Float": 4,
    "Long": 8, "Double": 8, "ComplexFloat": 8, "ComplexDouble": 16, "UInt16": 2, "UInt32": 4,
    "UInt64": 8,
}  # fmt: skip
_PREFIX: Final = re.compile(r"(?:nccl|rccl|gloo|mpi|ucc|xccl|hccl|c10d)(?::+)?")

#: `ncclDevKernel_AllReduce_Sum_bf16_RING_LL`, and names of RCCL and of NCCL before 2.19.
_KERNEL: Final = re.compile(r"[nr]ccl\w*?Kernel_([A-Za-z]+)")
#: Kernels of others, demangled or not: vLLM's, torch's of symmetric memory, and DeepEP's.
_OTHERS: Final = (
    (re.compile(r"cross_device_reduce_[12]stage"), "AllReduce"),
    (re.compile(r"(?:one_shot|two_shot|multimem)_all_reduce_kernel"), "AllReduce"),
    (re.compile(r"multimem_all_gather_kernel"), "AllGather"),
    (re.compile(r"deep_ep.*node(?:_ll)?(?:::|\d+)(?:dispatch|combine)\b"), "AllToAll"),
    (re.compile(r"deep_ep.*node(?:_ll)?\d+(?:dispatch|combine)I"), "AllToAll"),
)


def operation_of_word(text: str) -> str:
    """Return the operation that a tool's word names; the word itself if it is none of ours.

    Example: `nccl:_all_gather_base`, `allgather_into_tensor_coalesced` and `ncclAllGather` are
    AllGather; `nccl:send 0->1` is Send.
    """
    words = re.sub("[^a-z]", "", _PREFIX.sub("", text.split(" ")[0].lower()))
    return next((_BY_LETTERS[name] for name in _BY_LETTERS if words.startswith(name)), text)


def is_collective(name: str | None) -> bool:
    """Return whether a kernel's name is of one that communicates with other ranks."""
    return name is not None and _operation_in(name) is not None


def operation_of_kernel(name: str) -> str:
    """Return the operation in the name of a kernel; the name if it has none."""
    return _operation_in(name) or name


@cache
def _operation_in(name: str) -> str | None:
    match = _KERNEL.search(name)
    if match is not None:
        return match[1]
    return next((text for pattern, text in _OTHERS if pattern.search(name)), None)


def listed_ranks(text: object) -> list[int] | None:
    """Return the ranks in a text such as "[0, 1]"; None unless it lists all of a group's ranks."""
    if not isinstance(text, str) or not re.fullmatch(r"\[\d{1,9}(, ?\d{1,9})*\]", text):
        return None
    return [int(number) for number in re.findall(r"\d+", text)]


def bytes_of(elements: int | None, dtype: object) -> int | None:
    """Return the size of elements of a type by torch's name of it; None where it is not known."""
    width = _BYTES.get(dtype) if isinstance(dtype, str) else None
    return None if elements is None or width is None else elements * width
