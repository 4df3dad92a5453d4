"""Registers and local memory of a kernel, read from its AMD code object without a driver.

A code object is an ELF file whose `.note` section holds one note of AMD's with the kernels'
metadata in MessagePack. Layout: "Code Object Metadata" in LLVM's "User Guide for AMDGPU Backend"
(https://llvm.org/docs/AMDGPUUsage.html); MessagePack: https://github.com/msgpack/msgpack.
"""

import struct
from typing import Any, Final

from kvtrace.backends.compiled_kernels.elf import Resources, UnreadableBinary, sections

_NOTE: Final = struct.Struct("<III")
_METADATA: Final = 32  # NT_AMDGPU_METADATA
#: MessagePack's numbers: first byte → struct format of the number.
_NUMBERS: Final = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_CONSTANTS: Final = {0xC0: None, 0xC2: False, 0xC3: True}
#: First byte → kind, and struct format of the length.
_SIZED: Final = {
    0xC4: ("binary", ">B"),
    0xC5: ("binary", ">H"),
    0xC6: ("binary", ">I"),
    0xD9: ("text", ">B"),
    0xDA: ("text", ">H"),
    0xDB: ("text", ">I"),
    0xDC: ("list", ">H"),
    0xDD: ("list", ">I"),
    0xDE: ("map", ">H"),
    0xDF: ("map", ">I"),
}


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
    metadata, _ = _decode(_note(sections(code).get(".note", b"")), 0)
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


def _decode(data: bytes, at: int) -> tuple[Any, int]:
    """Return the MessagePack value at byte offset `at`, and the offset after the value."""
    type_byte = data[at]
    at += 1
    if type_byte <= 0x7F:
        return type_byte, at
    if type_byte >= 0xE0:
        return type_byte - 0x100, at
    if type_byte <= 0x8F:
        return _decode_sized("map", type_byte & 0x0F, data, at)
    if type_byte <= 0x9F:
        return _decode_sized("list", type_byte & 0x0F, data, at)
    if type_byte <= 0xBF:
        return _decode_sized("text", type_byte & 0x1F, data, at)
    if type_byte in _CONSTANTS:
        return _CONSTANTS[type_byte], at
    if type_byte in _NUMBERS:
        (number,) = struct.unpack_from(_NUMBERS[type_byte], data, at)
        return number, at + struct.calcsize(_NUMBERS[type_byte])
    kind, packing = _SIZED[type_byte]
    (size,) = struct.unpack_from(packing, data, at)
    return _decode_sized(kind, size, data, at + struct.calcsize(packing))


def _decode_sized(kind: str, size: int, data: bytes, at: int) -> tuple[Any, int]:
    if kind == "text":
        return data[at : at + size].decode(), at + size
    if kind == "binary":
        return data[at : at + size], at + size
    values: list[Any] = []
    for _ in range(size * 2 if kind == "map" else size):
        value, at = _decode(data, at)
        values.append(value)
    if kind == "list":
        return values, at
    return dict(zip(values[::2], values[1::2], strict=True)), at
