"""System calls without a function in Python, which raise OSError like Python's functions."""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Any, Final

_libc: Any = ctypes.CDLL(None, use_errno=True)
#: This machine's name, or None if the numbers of its system calls are not known.
MACHINE: Final = {"x86_64": "x86_64", "aarch64": "aarch64"}.get(platform.machine())
_PIVOT_ROOT: Final = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR: Final = 442
_AT_RECURSIVE: Final = 0x8000
_DETACH: Final = 2


def call(number: int, *arguments: Any) -> int:
    """Make a system call by its number, and return its result.

    Raises:
        OSError: the system refused the call.
    """
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments), f"system call {number}")


def prctl(option: int, *arguments: Any) -> int:
    """Change a property of this process; `<linux/prctl.h>` has the options."""
    words = [ctypes.c_ulong(word) if isinstance(word, int) else word for word in arguments]
    words += [ctypes.c_ulong(0)] * (4 - len(words))
    return _checked(_libc.prctl(option, *words), f"prctl {option}")


def unshare(flags: int) -> None:
    """Move this process into new namespaces, of the kinds in `flags`."""
    _checked(_libc.unshare(flags), "unshare")


def set_host_name(name: bytes) -> None:
    """Set the host name in this process's namespace."""
    _checked(_libc.sethostname(name, ctypes.c_size_t(len(name))), "sethostname")


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """Mount a file system, or a folder at another path."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    result = _libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3])
    _checked(result, f"mount {target}")


def restrict_mount(path: str, attributes: int) -> None:
    """Set attributes of a mount and of all mounts below, as MOUNT_ATTR_RDONLY (Linux 5.12)."""
    words = (ctypes.c_uint64 * 4)(attributes, 0, 0, 0)
    here = ctypes.c_int(-100)
    size = ctypes.c_size_t(ctypes.sizeof(words))
    call(_MOUNT_SETATTR, here, os.fsencode(path), ctypes.c_uint(_AT_RECURSIVE), words, size)


def leave_root_for(path: str) -> None:
    """Make the mount at `path` the root of this process, and detach the former root."""
    assert MACHINE is not None
    os.chdir(path)
    call(_PIVOT_ROOT[MACHINE], b".", b".")  # one on top of the other: man 2 pivot_root
    unmount(".")
    os.chdir("/")


def unmount(path: str) -> None:
    """Detach a mount and all mounts below."""
    _checked(_libc.umount2(os.fsencode(path), _DETACH), f"umount {path}")


def set_no_capabilities() -> None:
    """Drop all capabilities of this process: permitted, effective and inheritable."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process
    _checked(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return int(result)
