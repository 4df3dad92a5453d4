"""Where Python keeps a thread's frames: found in this process, and checked, before any is read.

The stable C API can tell a thread's frames only to the one who holds the interpreter's lock, for
which a launch must not wait. CPython's structures differ from version to version, so the offsets of
their fields are looked for here, by values that are known: a code object is where its file name's
address is. Only objects of known size are searched. Where anything is not found, or the frames that
are then read differ from those that Python tells, stacks of libraries' launches are not recorded.

Sources: pycore_frame.h, code.h and pystate.h of CPython 3.11 to 3.14 (tried with 3.11 and 3.12).
"""

import ctypes
import struct
import sys
from types import CodeType, FrameType, ModuleType
from typing import Final

from kvtrace.schema.errors import KvtraceError

_WORD: Final = ctypes.sizeof(ctypes.c_void_p)
#: Where a frame object has its frame: after its header and the frame that it returns to.
_FRAME: Final = 3 * _WORD
#: Bytes of an interpreter's frame, and of a thread's state, that are searched.
_FRAME_BYTES: Final = 9 * _WORD
_STATE_BYTES: Final = 24 * _WORD
#: Of 3.11 and 3.12: where the thread's state has its C frame, and that one the interpreter's frame.
_C_FRAMES: Final = {(3, 11): (7 * _WORD, _WORD), (3, 12): (7 * _WORD, 0)}
#: A first line that no other word of a code object looks like.
_LINE: Final = 0x5A3C_7E19
_LENGTH: Final = 2 * _WORD
#: The bit of a text's state for ASCII, up to 3.13 and from 3.14 on; the other bits may be anything.
_ASCII: Final = (1 << 6, 1 << 20)
_TAGS: Final = ~7
#: Function of the code by which C enters Python in some versions.
ENTRY: Final = "<interpreter trampoline>"


class FramesUnknown(KvtraceError):
    """The frames of this Python cannot be read without its lock."""

    slug = "frames-unknown"


def know_frames(native: ModuleType) -> None:
    """Tell the compiled part `_requests` where frames lie, after it has read some rightly.

    Raises:
        FramesUnknown: this Python keeps them otherwise than those that are known.

    """
    if sys.implementation.name != "cpython" or _has_no_lock():
        raise FramesUnknown(f"{sys.implementation.name} without an interpreter's lock")
    native.lay_out(id(CodeType), *_of_frames(), *_of_codes(), *_of_names())
    told = []
    frame: FrameType | None = sys._getframe()
    read = [(code, at) for code, at in native.frames() if not _is_entry(code)]
    while frame is not None:
        told.append((id(frame.f_code), frame.f_lasti))
        frame = frame.f_back
    # The innermost one is running: the instruction that calls `frames` is not the one read here.
    if not read or [code for code, _ in read] != [code for code, _ in told[: len(read)]]:
        raise FramesUnknown("the frames that are read are not those that Python tells")
    if read[1:] != told[1 : len(read)]:
        raise FramesUnknown("the instructions that are read are not those that Python tells")
    native.trust()


def _is_entry(code: int) -> bool:
    """Tell whether it is what C enters Python by, a frame that Python itself leaves out."""
    return bool(ctypes.cast(code, ctypes.py_object).value.co_name == ENTRY)


def _has_no_lock() -> bool:
    enabled = getattr(sys, "_is_gil_enabled", None)
    return enabled is not None and not enabled()


def _words(address: int, size: int) -> tuple[int, ...]:
    return struct.unpack(f"{size // _WORD}N", ctypes.string_at(address, size // _WORD * _WORD))


def _place(words: tuple[int, ...], value: int, what: str) -> int:
    try:
        return words.index(value) * _WORD
    except ValueError:
        raise FramesUnknown(f"{what} is not where it is looked for") from None


def _of_frames() -> tuple[int, int, int, int, int, int]:
    """Return where frames and their code, caller and instruction lie, and what is to be added."""
    frame, caller = sys._getframe(), sys._getframe(1)
    own, outer = (_words(id(each) + _FRAME, _WORD)[0] for each in (frame, caller))
    words = _words(outer, _FRAME_BYTES)
    code = _place(tuple(word & _TAGS for word in words), id(caller.f_code), "a frame's code")
    previous = _place(_words(own, _FRAME_BYTES), outer, "a frame's caller")
    first = id(caller.f_code) + CodeType.__basicsize__
    inside = [word for word in words if first - _WORD <= word < first + len(caller.f_code.co_code)]
    if len(inside) != 1:
        raise FramesUnknown("a frame's instruction is not where it is looked for")
    instruction = words.index(inside[0]) * _WORD
    correction = caller.f_lasti - (inside[0] - first)
    get = ctypes.pythonapi.PyThreadState_Get
    get.restype = ctypes.c_void_p
    state = int(get())
    through = _C_FRAMES.get(sys.version_info[:2])
    if through is None:
        words = tuple((ctypes.c_size_t * (_STATE_BYTES // _WORD)).from_address(state))
        through = _place(words, own, "a thread's frame"), -1
    else:  # no function of Python's may be called in between: it would be the innermost frame
        c_frame = ctypes.c_size_t.from_address(state + through[0]).value
        if ctypes.c_size_t.from_address(c_frame + through[1]).value != own:
            raise FramesUnknown("a thread's frame is not where it is looked for")
    return *through, code, previous, instruction, correction


def _of_codes() -> tuple[int, int, int, int, int]:
    """Return where a code object has file, function, table of lines, first line, instructions."""
    code = sys._getframe().f_code.replace(
        co_firstlineno=_LINE, co_filename="a file's name", co_qualname="a function's name"
    )
    size = CodeType.__basicsize__
    words = _words(id(code), size)
    lines = struct.unpack(f"{size // 4}I", ctypes.string_at(id(code), size // 4 * 4))
    return (
        _place(words, id(code.co_filename), "a code's file"),
        _place(words, id(code.co_qualname), "a code's function"),
        _place(words, id(code.co_linetable), "a code's table of lines"),
        lines.index(_LINE) * 4 if _LINE in lines else _place((), 0, "a code's first line"),
        size,
    )


def _of_names() -> tuple[int, int, int, int, int]:
    """Return where text has its letters, length and state, the state's bit of ASCII, and bytes."""
    state = _LENGTH + 2 * _WORD
    plain, other = (["".join((str(i), end)) for i in range(16)] for end in ("a", "\xe9"))
    text = sys.getsizeof("") - 1
    for name in plain:
        read = ctypes.string_at(id(name) + text, len(name))
        if _words(id(name) + _LENGTH, _WORD)[0] != len(name) or read != name.encode():
            raise FramesUnknown("a text's letters are not where they are looked for")
    bits = [
        bit
        for bit in _ASCII
        if all(_words(id(name) + state, _WORD)[0] & bit for name in plain)
        and not any(_words(id(name) + state, _WORD)[0] & bit for name in other)
    ]
    if len(bits) != 1:
        raise FramesUnknown("what a text says of its letters is not where it is looked for")
    return text, _LENGTH, state, bits[0], bytes.__basicsize__ - 1
