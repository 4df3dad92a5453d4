"""Landlock rules: writes to one folder only, no TCP, no signals to outside processes."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path
from typing import Final

from kvtrace.addons.judge.walls import system_calls

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


def restrict(folder: Path) -> int:
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
