"""The hook of the caching allocators, called as torch's C++ code calls it; without a GPU."""

import ctypes
from pathlib import Path

import torch

from kvtrace.addons.memory.recording.following import FLAG, STATE, function_places

LIBRARY = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"))
WORD = ctypes.c_uint64


def address_of(name):
    return ctypes.addressof(ctypes.c_char.in_dll(LIBRARY, name))


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int8))
def current_device(device):
    device[0] = 3
    return 0


class Allocator:
    """Calls the hook as `(*interpreter)->trace_gpu_memory_allocation(type, address)` does."""

    def __init__(self, native):
        self.native = native
        self.allocated, self.freed = function_places(torch)
        self.state, self.flag = address_of(STATE), address_of(FLAG)

    def install(self):
        device = ctypes.cast(current_device, ctypes.c_void_p).value
        places = (self.allocated, self.freed)
        return self.native.install_hook(self.state, self.flag, device, *places)

    def uninstall(self):
        return self.native.uninstall_hook(self.state, self.flag)

    def call(self, place, address):
        interpreter = WORD.from_address(self.state).value
        object_ = WORD.from_address(interpreter).value
        table = WORD.from_address(object_).value
        function = WORD.from_address(table + 8 * place).value
        prototype = ctypes.CFUNCTYPE(None, WORD, ctypes.c_int, WORD)
        prototype(function)(object_, 1, address)

    def allocate(self, address):
        self.call(self.allocated, address)

    def free(self, address):
        self.call(self.freed, address)
