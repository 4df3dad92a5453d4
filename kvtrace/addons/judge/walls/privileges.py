"""Removal of this process's capabilities, limits of its resources, and Landlock's rules for files.

Landlock allows writes to one folder only, no TCP, and no signals to outside processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import struct
from pathlib import Path
from typing import Final

from kvtrace.addons.judge.walls import system_calls

_READ_BOUND: Final = 23
_DROP_BOUND: Final = 24
_SET_SECURE: Final = 28
_SET_NO_NEW_PRIVILEGES: Final = 38
_AMBIENT: Final = 47
_CLEAR_AMBIENT: Final = 4
#: Secure bits: root has no special rights in this process and its children, irrevocably.
_ROOT_IS_NOBODY: Final = 0b101111
_MOST_CAPABILITIES: Final = 64
_LARGEST_FILE: Final = 1 << 31
_DESCRIPTORS: Final = 256  # also what pipes can hold
_SIGNALS: Final = 256  # and timers
_PROCESSES: Final = 512
_PROCESSES_OF_USER: Final = 4096


def give_up() -> None:
    """Drop all capabilities of this process, and any way to regain them by executing a program.

    Raises:
        OSError: the system refused.
    """
    system_calls.prctl(_SET_NO_NEW_PRIVILEGES, 1)
    system_calls.prctl(_AMBIENT, _CLEAR_AMBIENT)
    with contextlib.suppress(PermissionError):  # this process has no capability and cannot get one
        system_calls.prctl(_SET_SECURE, _ROOT_IS_NOBODY)
        for capability in range(_MOST_CAPABILITIES):
            if not _capability_exists(capability):
                break
            system_calls.prctl(_DROP_BOUND, capability)
    system_calls.set_no_capabilities()


def address_space() -> int:
    """Return the size of this process's address space in bytes."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * resource.getpagesize()


def limit(memory: int, seconds: float, *, apart: bool) -> None:
    """Limit this process's memory, processor time, files, descriptors and threads.

    Args:
        memory: limit of the address space in bytes.
        seconds: wall-clock time limit; the limit of processor time is four times as much.
        apart: the process has its own user namespace, in which its threads alone are counted, not
            all of its user. Root's threads are never limited.
    """
    for resource_kind, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, int(seconds * 4) + 1),
        (resource.RLIMIT_FSIZE, _LARGEST_FILE),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _DESCRIPTORS),
        (resource.RLIMIT_NPROC, _PROCESSES if apart else _PROCESSES_OF_USER),
        (resource.RLIMIT_SIGPENDING, _SIGNALS),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        _, hard = resource.getrlimit(resource_kind)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(resource_kind, (bound, bound))


def _capability_exists(number: int) -> bool:
    try:
        system_calls.prctl(_READ_BOUND, number)
    except OSError:
        return False  # the system has no capability of that number
    return True


_CREATE: Final = 444
_ADD: Final = 445
_RESTRICT: Final = 446
#: Rights that change files: write, remove, make, refer (version 2), truncate (3).
_WRITING: Final = 0b1111111110010
_WRITE_FILE: Final = 0b10
_REFER: Final = 1 << 13
_TRUNCATE: Final = 1 << 14
_TCP: Final = 0b11
_SCOPES: Final = 0b11  # abstract sockets, signals


def protect_files(folder: Path) -> int:
    """Restrict this process by Landlock; return Landlock's version, 0 if the kernel lacks it.

    Only `folder` and /dev/null can be written. Newer versions also forbid TCP connections, and
    signals and abstract sockets to outside processes.

    Besides the mounts, this is a second wall for files; without mounts, the only one.
    https://docs.kernel.org/userspace-api/landlock.html lists the features of each version.
    """
    try:
        version = system_calls.call(_CREATE, None, ctypes.c_size_t(0), 1)
    except OSError:
        return 0  # the kernel lacks Landlock, or has it turned off
    files = _WRITING | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    tcp = _TCP if version >= 4 else 0
    scopes = _SCOPES if version >= 6 else 0
    attributes = struct.pack("QQQ", files, tcp, scopes)
    attributes = attributes[: 24 if version >= 6 else 16 if version >= 4 else 8]
    rules = system_calls.call(_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    file_rights = _WRITE_FILE | (files & _TRUNCATE)
    for path, rights in ((str(folder), files), (os.devnull, file_rights)):
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        system_calls.call(_ADD, rules, 1, struct.pack("=Qi", rights, descriptor), 0)
        os.close(descriptor)
    system_calls.call(_RESTRICT, rules, 0)
    os.close(rules)
    return version
