"""Registers and local memory of a kernel, read from its cubin or AMD code object, with no driver.

A cubin is an ELF file. Its section `.nv.info` is a list of entries: one byte format, one byte
attribute, two bytes size, and for format 4 that many bytes of payload. The attributes used here
have a payload of two 32-bit words: the function's index in the symbol table, and the figure. NVIDIA
does not document the layout; it is described in the sources of CuAssembler
(github.com/cloudcores/CuAssembler, CuAsm/CuNVInfo.py), and a test compares with `cuobjdump`.
"""

import struct
from typing import Final

from kvtrace.backends.compiled_kernels.elf import Resources, UnreadableBinary, sections, text_at
from kvtrace.converters.importers.msgpack_values import value_of

_NOTE: Final = struct.Struct("<III")
_METADATA: Final = 32  # NT_AMDGPU_METADATA
__all__ = ["Resources", "UnreadableBinary", "cubin_resources"]

_FORMAT_SIZED: Final = 0x04
_REGISTERS: Final = 0x2F  # EIATTR_REGCOUNT
_FRAME_BYTES: Final = 0x11  # EIATTR_FRAME_SIZE
_STACK_BYTES: Final = 0x12  # EIATTR_MIN_STACK_SIZE: the frames of the deepest chain of calls

_ENTRY = struct.Struct("<BBH")
_FIGURE = struct.Struct("<II")
_SYMBOL = struct.Struct("<IBBHQQ")


def cubin_resources(cubin: bytes, function: str) -> Resources:
    """Return the registers and local memory of the kernel named `function`.

    Raises:
        UnreadableBinary: The bytes are not a cubin, or have no such function.

    """
    try:
        return _resources(cubin, function)
    except (struct.error, IndexError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise UnreadableBinary(
            f"The cubin of kernel {function} cannot be read: {reason}."
        ) from error


def _resources(cubin: bytes, function: str) -> Resources:
    content = sections(cubin)
    index = _symbol_index(content, function)
    figures: dict[int, int] = {}
    for attribute, payload in _entries(content.get(".nv.info", b"")):
        if len(payload) != _FIGURE.size:
            continue
        symbol, figure = _FIGURE.unpack(payload)
        if symbol == index:
            figures[attribute] = figure
    if _REGISTERS not in figures:
        raise ValueError("there is no register count of the function")
    local_bytes = max(figures.get(_FRAME_BYTES, 0), figures.get(_STACK_BYTES, 0))
    return Resources(figures[_REGISTERS], local_bytes)


def _symbol_index(content: dict[str, bytes], name: str) -> int:
    symbols, texts = content.get(".symtab", b""), content.get(".strtab", b"")
    for index, symbol in enumerate(_SYMBOL.iter_unpack(symbols)):
        is_function = symbol[1] & 0xF == 2  # STT_FUNC
        if is_function and text_at(texts, symbol[0]) == name:
            return index
    raise ValueError("there is no such function")


def _entries(info: bytes) -> list[tuple[int, bytes]]:
    entries: list[tuple[int, bytes]] = []
    position = 0
    while position + _ENTRY.size <= len(info):
        form, attribute, size = _ENTRY.unpack_from(info, position)
        position += _ENTRY.size
        if form != _FORMAT_SIZED:
            continue
        entries.append((attribute, info[position : position + size]))
        position += size
    return entries


# Registers and local memory of a kernel, read from its AMD code object without a driver.
#
# A code object is an ELF file whose `.note` section holds one note of AMD's with the kernels'
# metadata in MessagePack. Layout: "Code Object Metadata" in LLVM's "User Guide for AMDGPU Backend"
# (https://llvm.org/docs/AMDGPUUsage.html).


def hsaco_resources(code: bytes, function: str) -> Resources:
    """Return the registers and local memory of the kernel named `function`.

    Raises:
        UnreadableBinary: The bytes are not an AMD code object, or have no such kernel.
    """
    try:
        return _descriptor_resources(code, function)
    except (struct.error, LookupError, ValueError, TypeError) as error:
        reason = str(error) or type(error).__name__
        raise UnreadableBinary(
            f"The code object of kernel {function} cannot be read: {reason}."
        ) from error


def _descriptor_resources(code: bytes, function: str) -> Resources:
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
