"""Registers and local memory of a kernel, read from its AMD code object without a driver.

A code object is an ELF file whose `.note` section holds one note of AMD's with the kernels'
metadata in MessagePack. Layout: "Code Object Metadata" in LLVM's "User Guide for AMDGPU Backend"
(https://llvm.org/docs/AMDGPUUsage.html).
"""

import struct
from typing import Final

from kvtrace.backends.compiled_kernels.elf import Resources, UnreadableBinary, sections
from kvtrace.converters.importers.msgpack_values import value_of

_NOTE: Final = struct.Struct("<III")
_METADATA: Final = 32  # NT_AMDGPU_METADATA


def hsaco_resources(code: bytes, function: str) -> Resources:
    """Return the registers and local memory of the kernel named `function`.

    Raises:
        UnreadableBinary: The bytes are not an AMD code object, or have no such kernel.
    """
    try:
        return _resources(code, function)
    except (struct.error, LookupError, ValueError, TypeError) as error:
        reason = str(error) or type(error).__name__
        raise UnreadableBinary(
            f"The code object of kernel {function} cannot be read: {reason}."
        ) from error


def _resources(code: bytes, function: str) -> Resources:
    metadata = value_of(_note(sections(code).get(".note", b"")))
    for kernel in metadata["amdhsa.kernels"]:
        if kernel[".name"] == function:
            return Resources(kernel[".vgpr_count"], kernel[".private_segment_fixed_size"])
    raise ValueError("there is no such kernel")


def _note(notes: bytes) -> bytes:
    position = 0
    while position + _NOTE.size <= len(notes):
        name_size, size, kind = _NOTE.unpack_from(notes, position)
        start = position + _NOTE.size + (-(-name_size // 4) * 4)
        if kind == _METADATA:
            return notes[start : start + size]
        position = start + (-(-size // 4) * 4)
    raise ValueError("there is no metadata")
