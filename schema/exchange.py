"""Atomic exchange of two folders, so that a reader sees either of them whole, never a mixture.

Linux has renameat2(2) with RENAME_EXCHANGE (glibc 2.28, most local file systems); macOS has
renamex_np(2) with RENAME_SWAP (APFS). Other systems have no such call.
"""

import ctypes
import errno
import os
import sys
from pathlib import Path
from typing import Final

_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
_RENAME_SWAP: Final = 2


def exchange(first: Path, second: Path) -> None:
    """Exchange the names of two folders of one file system, in one step.

    Raises:
        OSError: nothing has changed; ENOTSUP or EINVAL if system or file system do not support it.

    """
    names = os.fsencode(first), os.fsencode(second)
    library = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        status = library.renamex_np(*names, ctypes.c_uint(_RENAME_SWAP))
    elif library is not None and hasattr(library, "renameat2"):
        status = library.renameat2(
            _AT_FDCWD, names[0], _AT_FDCWD, names[1], ctypes.c_uint(_RENAME_EXCHANGE)
        )
    else:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), str(first))
    if status:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(second))


def can_exchange(folder: Path) -> bool:
    """Return whether subfolders of `folder` can be exchanged, by a test with two new folders."""
    first, second = folder / ".first", folder / ".second"
    first.mkdir()
    second.mkdir()
    try:
        exchange(first, second)
    except OSError:
        return False
    finally:
        first.rmdir()
        second.rmdir()
    return True
