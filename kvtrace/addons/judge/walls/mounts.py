"""A root folder of a process's own: what it needs of the system, read-only, and a folder in memory.

Nothing else of the host's files is there, so neither its sockets nor its devices are; nor is /proc
but one file, since it names the host's disks, its kernel's settings, and keys.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from kvtrace.addons.judge.walls import neighbors, system_calls

_NEW_USER: Final = 0x10000000
#: Mounts, host name, System V objects, processes, network.
_NAMESPACES: Final = 0x00020000 | 0x04000000 | 0x08000000 | 0x20000000 | 0x40000000
_READ_ONLY, _NO_SETUID, _NO_DEVICES = 1, 2, 4
_AGAIN, _BIND, _WHOLE_TREE, _PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
#: Programs and libraries, the few files that finding them takes, and what torch asks of processors.
_SYSTEM: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
    "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/localtime", "/proc/cpuinfo",
)  # fmt: skip
#: Not zero, of which memory can be had that counts for nobody.
_DEVICES: Final = ("null", "full", "random", "urandom")
_INODES: Final = 16_384


def enter_namespaces() -> None:
    """Leave the host's namespaces; as who may, without a namespace of users.

    Raises:
        OSError: this system does not allow it.

    """
    user, group = os.geteuid(), os.getegid()
    with contextlib.suppress(PermissionError):
        return system_calls.unshare(_NAMESPACES)
    system_calls.unshare(_NEW_USER | _NAMESPACES)
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    return None


def change_root(
    folder: Path, reads: Iterable[Path], size: int, code: Iterable[Path] = ()
) -> list[str]:
    """Make a root of what may be read, with a folder in memory at the path of `folder`.

    Args:
        folder: What may be written to; it is empty then, and the host's is out of reach.
        reads: Files and folders that may be read besides Python's and the system's.
        size: Bytes that the folder may hold.
        code: Python files, of which copies are there, and of what they can import beside them.

    Returns:
        What lies beside them and is not there, with reasons.

    Raises:
        OSError: this system does not allow it.

    """
    system_calls.mount("none", "/", None, _WHOLE_TREE | _PRIVATE)
    shared = _outermost([*_system_paths(), *_python_paths(folder), *reads])
    root = str(folder)  # any folder will do: it is the root soon
    flags = _NO_SETUID | _NO_DEVICES
    size_of_root = neighbors.MOST_BYTES + (1 << 20)
    options = f"size={size_of_root},nr_inodes={_INODES},mode=755"
    system_calls.mount("tmpfs", root, "tmpfs", flags, options)
    for path in shared:
        _bind(root, path)
    for name in _DEVICES:
        _bind(root, Path("/dev", name), device=True)
    left_out = []
    for file in code:
        if not any(file.is_relative_to(path) for path in shared):
            left_out += neighbors.copy(file, root)
    for name in (str(folder), "/tmp"):  # noqa: S108 - a folder of the new root
        os.makedirs(root + name, exist_ok=True)  # noqa: PTH103
    with contextlib.suppress(FileExistsError):  # then what is given lies there
        os.symlink(folder / "temporary", root + "/dev/shm")  # noqa: PTH211, S108
    options = f"size={size},nr_inodes={_INODES},mode=700"
    system_calls.mount("tmpfs", root + str(folder), "tmpfs", flags, options)
    system_calls.leave_root_for(root)
    system_calls.mount("none", "/", None, _AGAIN | _READ_ONLY | flags)
    return left_out


def _system_paths() -> Iterator[Path]:
    return (Path(each) for each in _SYSTEM)


def _python_paths(folder: Path) -> Iterator[Path]:
    """Give where Python imports from, but no folder that holds what others are given."""
    for each in {sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(os.path.isabs, sys.path)}:
        path = Path(os.path.abspath(each))  # noqa: PTH100 - links are bound as they are named
        for one in {path, path.resolve()}:
            if not folder.is_relative_to(one):
                yield one


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Return the paths that exist, less those below another one."""
    found: list[Path] = []
    for path in sorted({each for each in paths if os.path.exists(each)}):  # noqa: PTH110 - no error
        if not any(path.is_relative_to(known) for known in found if not known.is_symlink()):
            found.append(path)
    return found


def _bind(root: str, path: Path, *, device: bool = False) -> None:
    """Show a file, folder or device of the host at its own path under a root, read-only."""
    target = root + str(path)
    os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
    if str(path) in _SYSTEM and path.is_symlink() and path.is_dir():
        return os.symlink(os.readlink(path), target)  # noqa: PTH115, PTH211
    if path.is_dir():
        os.makedirs(target, exist_ok=True)  # noqa: PTH103
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    system_calls.mount(str(path), target, None, _BIND | _WHOLE_TREE)
    kept = _NO_SETUID if device else _READ_ONLY | _NO_SETUID | _NO_DEVICES
    system_calls.restrict_mount(target, kept)
    return None
