"""Offsets of the fields of CPython's frames, searched for in this process and checked before use.

The stable C API returns a thread's frames only to a thread that holds the interpreter's lock, for
which a launch must not wait. CPython's structures differ from version to version, so the offsets of
fields are searched for by known values. Example: the word of a code object that equals the address
of `co_filename` is the field of the file name; found at word 14, its offset is 112 bytes. Only
objects of known size are searched. If a field is not found, or if the frames read by these offsets
differ from Python's own, stacks of libraries' launches are not recorded.

Sources and versions: `capture/_layouts.h`.
"""

import ctypes
import struct
import sys
from types import CodeType, FrameType, ModuleType
from typing import Final

from kvtrace.schema.errors import KvtraceError

_WORD: Final = ctypes.sizeof(ctypes.c_void_p)
#: Offset of the interpreter's frame in a frame object: after header and previous frame object.
_FRAME: Final = 3 * _WORD
#: Bytes that are searched, of an interpreter's frame and of a thread's state.
_FRAME_BYTES: Final = 9 * _WORD
_STATE_BYTES: Final = 24 * _WORD
#: For 3.11 and 3.12: offset of the C frame in a thread's state, and of the frame in the C frame.
_C_FRAMES: Final = {(3, 11): (7 * _WORD, _WORD), (3, 12): (7 * _WORD, 0)}
#: A first line number that no other word of a code object equals.
_LINE: Final = 0x5A3C_7E19
_LENGTH: Final = 2 * _WORD
#: The bit of a text's state for ASCII, up to 3.13 and from 3.14 on. The second one is in padding up
#: to 3.13, where it may be anything; the first one is 0 from 3.14 on.
_ASCII: Final = (1 << 6, 1 << 20)
_TAGS: Final = ~7
#: Function name of the code by which C enters Python in some versions, and file and function of the
#: code behind a constructor from 3.13 on, once Python has seen it often enough.
_ENTRY: Final = "<interpreter trampoline>"
_CONSTRUCTION: Final = ("__init__", "__init__")


class FramesUnknown(KvtraceError):
    """Raised when this Python's frames cannot be read without the interpreter's lock."""

    slug = "frames-unknown"


def find_frame_offsets(native: ModuleType) -> None:
    """Pass the offsets of frames to the C module `_requests`, and check frames read by them.

    Raises:
        FramesUnknown: a field is not found in this Python, or the check fails.

    """
    if sys.implementation.name != "cpython" or _has_no_lock():
        raise FramesUnknown(f"{sys.implementation.name} without an interpreter's lock")
    native.lay_out(id(CodeType), *_frame_offsets(), *_code_offsets(), *_text_offsets())
    expected = []
    frame: FrameType | None = sys._getframe()
    read_frames = [
        (code, offset) for code, offset in native.frames() if not _is_interpreters_code(code)
    ]
    while frame is not None:
        expected.append((id(frame.f_code), frame.f_lasti))
        frame = frame.f_back
    # The innermost frame is running: its instruction has changed since `frames` was called.
    expected = expected[: len(read_frames)]
    if not read_frames or [code for code, _ in read_frames] != [code for code, _ in expected]:
        raise FramesUnknown("the frames read from memory differ from Python's own")
    if read_frames[1:] != expected[1:]:
        raise FramesUnknown("the instructions read from memory differ from Python's own")
    native.trust()


def is_interpreters(file: str, function: str) -> bool:
    """Return whether a frame is the interpreter's own; `sys._getframe` leaves such frames out."""
    return function == _ENTRY or (file, function) == _CONSTRUCTION


def _is_interpreters_code(address: int) -> bool:
    code: CodeType = ctypes.cast(address, ctypes.py_object).value
    return is_interpreters(code.co_filename, code.co_qualname)


def _has_no_lock() -> bool:
    enabled = getattr(sys, "_is_gil_enabled", None)
    return enabled is not None and not enabled()


def _words(address: int, size: int) -> tuple[int, ...]:
    return struct.unpack(f"{size // _WORD}N", ctypes.string_at(address, size // _WORD * _WORD))


def _offset(words: tuple[int, ...], value: int, field: str) -> int:
    try:
        return words.index(value) * _WORD
    except ValueError:
        raise FramesUnknown(f"the field of {field} was not found") from None


def _frame_offsets() -> tuple[int, int, int, int, int, int]:
    """Return byte offsets: thread state to frame (two), and a frame's code, caller, instruction.

    The sixth number is a correction in bytes: added to the distance of a frame's instruction from
    the code object's end, it gives `f_lasti`.
    """
    frame, caller = sys._getframe(), sys._getframe(1)
    inner, outer = (_words(id(python) + _FRAME, _WORD)[0] for python in (frame, caller))
    words = _words(outer, _FRAME_BYTES)
    code = _offset(tuple(word & _TAGS for word in words), id(caller.f_code), "a frame's code")
    previous = _offset(_words(inner, _FRAME_BYTES), outer, "a frame's caller")
    begin = id(caller.f_code) + CodeType.__basicsize__
    inside = [word for word in words if begin - _WORD <= word < begin + len(caller.f_code.co_code)]
    if len(inside) != 1:
        raise FramesUnknown("the field of a frame's instruction was not found")
    instruction = words.index(inside[0]) * _WORD
    correction = caller.f_lasti - (inside[0] - begin)
    get = ctypes.pythonapi.PyThreadState_Get
    get.restype = ctypes.c_void_p
    state = int(get())
    through = _C_FRAMES.get(sys.version_info[:2])
    if through is None:
        words = tuple((ctypes.c_size_t * (_STATE_BYTES // _WORD)).from_address(state))
        through = _offset(words, inner, "a thread's frame"), -1
    else:  # no function of Python's may be called in between: it would be the innermost frame
        c_frame = ctypes.c_size_t.from_address(state + through[0]).value
        if ctypes.c_size_t.from_address(c_frame + through[1]).value != inner:
            raise FramesUnknown("the field of a thread's frame was not found")
    return *through, code, previous, instruction, correction


def _code_offsets() -> tuple[int, int, int, int, int]:
    """Return a code object's offsets: file, function, line table, first line, instructions."""
    code = sys._getframe().f_code.replace(
        co_firstlineno=_LINE, co_filename="a file's name", co_qualname="a function's name"
    )
    size = CodeType.__basicsize__
    words = _words(id(code), size)
    lines = struct.unpack(f"{size // 4}I", ctypes.string_at(id(code), size // 4 * 4))
    return (
        _offset(words, id(code.co_filename), "a code's file"),
        _offset(words, id(code.co_qualname), "a code's function"),
        _offset(words, id(code.co_linetable), "a code's table of lines"),
        lines.index(_LINE) * 4 if _LINE in lines else _offset((), 0, "a code's first line"),
        size,
    )


def _text_offsets() -> tuple[int, int, int, int, int]:
    """Return byte offsets in a `str`: letters, length and state; the state's ASCII bit.

    The fifth number is the offset of the letters in a `bytes` object.
    """
    state = _LENGTH + 2 * _WORD
    ascii_names, other_names = (
        ["".join((str(i), letter)) for i in range(16)] for letter in ("a", "\xe9")
    )
    text = sys.getsizeof("") - 1
    for name in ascii_names:
        letters = ctypes.string_at(id(name) + text, len(name))
        if _words(id(name) + _LENGTH, _WORD)[0] != len(name) or letters != name.encode():
            raise FramesUnknown("the letters of a text were not found")
    for bit in _ASCII:
        if all(_words(id(name) + state, _WORD)[0] & bit for name in ascii_names) and not any(
            _words(id(name) + state, _WORD)[0] & bit for name in other_names
        ):
            return text, _LENGTH, state, bit, bytes.__basicsize__ - 1
    raise FramesUnknown("the ASCII bit of a text was not found")
