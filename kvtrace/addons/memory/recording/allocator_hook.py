"""The hook that the caching allocators of devices call, by which torch's CSAN works.

It gives each allocation and free of `torch.cuda`'s memory, without Python on the way, and may be
used if nothing else has it. Its object is made in C (`_allocator.h`), with the places of its
functions counted in torch's header: if that is not as expected, frees are not recorded.

Sources: c10/core/impl/PyInterpreter.h, c10/core/impl/GPUTrace.h, c10/cuda/CUDACachingAllocator.cpp;
the Itanium C++ ABI for tables of virtual functions.
"""

import ctypes
import re
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from kvtrace.addons.memory.recording.layouts import COMMENT, TorchUnknown

#: Symbols of libc10 and libc10_cuda.
STATE: Final = "_ZN3c104impl8GPUTrace13gpuTraceStateE"
FLAG: Final = "_ZN3c104impl8GPUTrace9haveStateE"
DEVICE: Final = "_ZN3c104cuda9GetDeviceEPa"

_TABLE: Final = re.compile(r"struct C10_API PyInterpreterVTable \{(.*?)\n\};", re.DOTALL)
_OBJECT: Final = re.compile(
    r"struct C10_API PyInterpreter \{\s*const PyInterpreterVTable\* vtable_;"
)
_FUNCTION: Final = re.compile(r"\bvirtual\b[^;]*;")
_ALLOCATED: Final = "trace_gpu_memory_allocation"
_FREED: Final = "trace_gpu_memory_deallocation"
_PARAMETERS: Final = re.compile(r"\(\s*c10::DeviceType \w+,\s*uintptr_t \w+\)\s*const")


class AllocatorHook(NamedTuple):
    """An installed hook, with the addresses of torch's variables of it."""

    state: int
    flag: int


def install_hook(native: ModuleType, torch: Any) -> AllocatorHook | None:
    """Install the hook of the C module `_operators`; None if this torch has no CUDA.

    Raises:
        TorchUnknown: something is not as expected, or has the hook; nothing is installed.

    """
    libraries = Path(torch.__file__).parent / "lib"
    if not (libraries / "libc10_cuda.so").is_file():
        return None
    try:
        state, flag = (_address(libraries / "libc10.so", name) for name in (STATE, FLAG))
        device = _address(libraries / "libc10_cuda.so", DEVICE)
    except (OSError, ValueError) as error:
        raise TorchUnknown(f"the allocator's hook was not found ({error})") from error
    allocated, freed = function_places(torch)
    if not native.install_hook(state, flag, device, allocated, freed):
        raise TorchUnknown("something else, as torch's CSAN, uses the allocator's hook")
    return AllocatorHook(state, flag)


def _address(library: Path, name: str) -> int:
    return ctypes.addressof(ctypes.c_char.in_dll(ctypes.CDLL(str(library)), name))


def function_places(torch: Any) -> tuple[int, int]:
    """Return the places of the functions for allocations and frees in the table of the hook.

    Raises:
        TorchUnknown: torch's header cannot be read, or is not as expected.

    """
    header = Path(torch.__file__).parent / "include/c10/core/impl/PyInterpreter.h"
    try:
        text = COMMENT.sub("", header.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise TorchUnknown(f"torch's header {header.name} cannot be read ({error})") from error
    table = _TABLE.search(text)
    functions = _FUNCTION.findall(table[1]) if table and _OBJECT.search(text) else []
    places = [
        # A destructor has two places.
        index + 1
        for name in (_ALLOCATED, _FREED)
        for index, function in enumerate(functions)
        if re.search(rf"\bvoid {name}\b", function) and _PARAMETERS.search(function)
    ]
    if len(places) != 2 or "~" not in functions[0]:
        raise TorchUnknown(f"torch {torch.__version__} has another hook of its allocators")
    return places[0], places[1]
