"""Exceptions of a GPU: what each number in a core dump means, and what to do.

Numbers and names: `CUDBGException_t` in NVIDIA's `cudadebugger.h`, part of the CUDA toolkit
(docs.nvidia.com/cuda/debugger-api). Since CUDA 13.1 it reserves numbers 1, 2, 3, 11, 13, 15 and 16,
which drivers before that report.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType
from typing import Final


class Subject(Enum):
    """The subject of an exception, by which verdicts that can explain it are found."""

    ADDRESS = auto()
    ALIGNMENT = auto()
    ASSERTION = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class ExceptionKind:
    """A kind of exception.

    Attributes:
        words: what failed, as in "illegal address".
        means: what the device found, as a clause; empty: the words say it.
        advice: what to do where the trace has no better advice.
        subject: what it is about.
    """

    words: str
    means: str
    advice: str
    subject: Subject = Subject.OTHER


_COMPILER: Final = (
    "update Triton and the driver; if it stays, the compiler is at fault: report it with the "
    "script of kvtrace repro"
)
_CODE: Final = (
    "delete Triton's cache (triton.knobs.cache.dir), so that the kernel is compiled for this "
    "device; look for stores out of bounds and inline assembly"
)
_CLUSTER: Final = "launch with num_ctas=1; if that helps, check what inline assembly maps to"

_ILLEGAL: Final = ExceptionKind(
    "illegal address",
    "the device has no memory of this process at the address, or may not access it so",
    "mask what lies outside, or correct the pointer, sizes and strides that are passed",
    Subject.ADDRESS,
)
_MISALIGNED: Final = ExceptionKind(
    "misaligned address",
    "an address is not a multiple of what is accessed there",
    "pass pointers and strides that are multiples of the access, and check tl.multiple_of",
    Subject.ALIGNMENT,
)
_STACK: Final = ExceptionKind(
    "stack overflow",
    "the calls and local variables of a thread need more stack than the device gives it",
    "raise cudaLimitStackSize by cudaDeviceSetLimit before the first launch, or let functions be "
    "inlined: no noinline=True, no recursion",
)
_CALLS: Final = ExceptionKind(
    "stack overflow",
    "calls and branches of a warp are nested more deeply than the device has room for",
    "let functions be inlined: no noinline=True, no recursion",
)
_INSTRUCTION: Final = ExceptionKind(
    "illegal instruction", "the device does not know an instruction of the kernel", _CODE
)
_COUNTER: Final = ExceptionKind(
    "invalid program counter", "a jump or a call leads out of the kernel's code", _CODE
)
_REGISTER: Final = ExceptionKind(
    "invalid register", "an instruction names a register that the kernel does not have", _COMPILER
)
_ABSENT_BLOCK: Final = ExceptionKind(
    "block of the cluster that has ended",
    "the kernel accesses shared memory or a barrier of a block that is no longer there",
    "let all blocks of a cluster wait for each other before one ends; or launch with num_ctas=1",
)

#: Kinds by number.
EXCEPTIONS: Final[Mapping[int, ExceptionKind]] = MappingProxyType({
    1: _ILLEGAL,  # LANE_ILLEGAL_ADDRESS
    2: _STACK,  # LANE_USER_STACK_OVERFLOW
    3: _CALLS,  # DEVICE_HARDWARE_STACK_OVERFLOW
    4: _INSTRUCTION,  # WARP_ILLEGAL_INSTRUCTION
    5: ExceptionKind(  # WARP_OUT_OF_RANGE_ADDRESS
        "address out of range",
        "an address lies outside of shared, local or global memory altogether",
        "correct the sizes and strides that are passed; look for offsets that wrap around",
        Subject.ADDRESS,
    ),
    6: _MISALIGNED,  # WARP_MISALIGNED_ADDRESS
    7: ExceptionKind(  # WARP_INVALID_ADDRESS_SPACE
        "address of the wrong memory",
        "an instruction accesses a kind of memory that it must not, as shared memory by a global "
        "atomic",
        "check the pointers in inline assembly and what tl.cast makes of pointers",
        Subject.ADDRESS,
    ),
    8: _COUNTER,  # WARP_INVALID_PC
    9: _CALLS,  # WARP_HARDWARE_STACK_OVERFLOW
    10: _ILLEGAL,  # DEVICE_ILLEGAL_ADDRESS
    11: _MISALIGNED,  # LANE_MISALIGNED_ADDRESS
    12: ExceptionKind(  # WARP_ASSERT
        "failed assertion",
        "the condition of the assertion did not hold",
        "check on the host what the condition is about, before the launch",
        Subject.ASSERTION,
    ),
    13: ExceptionKind(  # LANE_SYSCALL_ERROR
        "failed system call",
        "a function of the driver that the kernel calls failed, as malloc without room",
        "raise cudaLimitMallocHeapSize by cudaDeviceSetLimit before the first launch",
    ),
    14: _ILLEGAL,  # WARP_ILLEGAL_ADDRESS
    15: ExceptionKind(  # LANE_NONMIGRATABLE_ATOMSYS
        "atomic on memory of the host that cannot move",
        "an atomic with scope sys updates managed memory that has to stay on the host",
        "copy the tensor to the device, or use scope gpu",
        Subject.ADDRESS,
    ),
    16: ExceptionKind(  # LANE_INVALID_ATOMSYS
        "atomic on memory of the host that has none",
        "an atomic with scope sys updates memory of the host, which supports none from this device",
        "copy the tensor to the device, or use scope gpu",
        Subject.ADDRESS,
    ),
    17: ExceptionKind(  # CLUSTER_OUT_OF_RANGE_ADDRESS
        "address out of range of the cluster",
        "an address of distributed shared memory lies outside of the block's that it names",
        _CLUSTER,
    ),
    18: _ABSENT_BLOCK,  # CLUSTER_BLOCK_NOT_PRESENT
    19: ExceptionKind(  # WARP_STACK_CANARY
        "overwritten stack",
        "a thread stored past the end of a local array",
        "check the sizes of local arrays in functions that are linked in or inline assembly",
    ),
    20: ExceptionKind(  # WARP_TMEM_ACCESS_CHECK
        "illegal access of tensor memory",
        "an instruction accesses tensor memory that the block has not allocated",
        _COMPILER,
    ),
    21: ExceptionKind(  # WARP_TMEM_LEAK
        "tensor memory that was not freed",
        "a block ended with tensor memory that it had allocated",
        _COMPILER,
    ),
    22: ExceptionKind(  # WARP_CALL_REQUIRES_NEWER_DRIVER
        "call that needs a newer driver",
        "the kernel was compiled by a toolkit that is newer than the driver",
        "update the driver, or set TRITON_PTXAS_PATH to a ptxas of this driver's CUDA",
    ),
    23: _COUNTER,  # WARP_MISALIGNED_PC
    24: _COUNTER,  # WARP_PC_OVERFLOW
    25: _REGISTER,  # WARP_MISALIGNED_REG
    26: _INSTRUCTION,  # WARP_ILLEGAL_INSTR_ENCODING
    27: _INSTRUCTION,  # WARP_ILLEGAL_INSTR_PARAM
    28: _REGISTER,  # WARP_OUT_OF_RANGE_REGISTER
    29: ExceptionKind(  # WARP_INVALID_CONST_ADDR_LDC
        "illegal address of constants",
        "the kernel reads constants or parameters past the end of what the launch has",
        _CODE,
    ),
    30: _ILLEGAL,  # WARP_MMU_FAULT
    31: ExceptionKind(  # WARP_ARRIVE
        "too many arrivals at a barrier",
        "more threads or copies arrived at an mbarrier than it expects, or it was locked",
        "compare the mbarrier's count with its arrivals and expected bytes in each phase",
    ),
    32: ExceptionKind(  # CLUSTER_POISON
        "memory error that cannot be corrected",
        "the device read shared memory of a cluster that its error correction gave up on",
        "read nvidia-smi -q -d ECC and the kernel's log for Xid: the device may be broken",
    ),
    33: _STACK,  # WARP_API_STACK_ERROR
    34: _ABSENT_BLOCK,  # WARP_BLOCK_NOT_PRESENT
    35: _STACK,  # WARP_USER_STACK_OVERFLOW
    36: ExceptionKind(  # TMA_SYSCALL
        "failed copy by a tensor descriptor",
        "the device refused a copy of a block: its descriptor or its coordinates are not valid",
        "check shape, strides and block of the tensor descriptor, and that its tensor still lives",
    ),
})  # fmt: skip

TRAP: Final = ExceptionKind(
    "trap",
    "the kernel executed a trap: inline assembly has one, or the compiler put one where no thread "
    "should get",
    "look for trap in inline assembly, and for loops or branches without an end",
)


def kind_of(number: int) -> ExceptionKind:
    """Return the kind of an exception; of one that a newer driver reports, what can be said."""
    return EXCEPTIONS.get(number) or ExceptionKind(
        f"exception {number}",
        "this exception is newer than kvtrace",
        "look it up in cudadebugger.h of the driver's CUDA toolkit, or open the dump in cuda-gdb",
    )
