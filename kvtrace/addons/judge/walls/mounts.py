"""A root folder of a process's own: what it needs of the system, read-only, and a folder in memory.

Nothing else of the host's files is there, so neither its sockets nor its devices are.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from kvtrace.addons.judge.walls import system_calls

_NEW_USER: Final = 0x10000000
#: Mounts, host name, System V objects, processes, network.
_NAMESPACES: Final = 0x00020000 | 0x04000000 | 0x08000000 | 0x20000000 | 0x40000000
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_PROGRAMS = 1, 2, 4, 8
_AGAIN, _BIND, _WHOLE_TREE, _PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
#: Programs and libraries, and the few files that finding them takes.
_SYSTEM: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
    "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/localtime",
)  # fmt: skip
_DEVICES: Final = ("null", "zero", "full", "random", "urandom")
_INODES: Final = 65_536


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


def change_root(folder: Path, reads: Iterable[Path], size: int) -> None:
    """Make a root of what may be read, with a folder in memory at the path of `folder`.

    The host's /proc is there until `mount_processes` puts another one on top of it.

    Args:
        folder: What may be written to; it is empty then, and the host's is out of reach.
        reads: Files and folders that may be read besides Python's and the system's.
        size: Bytes that the folder may hold.

    Raises:
        OSError: this system does not allow it.

    """
    system_calls.mount("none", "/", None, _WHOLE_TREE | _PRIVATE)
    shared = [*_system_paths(), *_python_paths(folder), *reads, Path("/proc")]
    root = str(folder)  # any folder will do: it is the root soon
    flags = _NO_SETUID | _NO_DEVICES
    system_calls.mount("tmpfs", root, "tmpfs", flags, "size=1m,nr_inodes=16384,mode=755")
    for path in _outermost(shared):
        _bind(root, path)
    for name in _DEVICES:
        _bind(root, Path("/dev", name), device=True)
    for name in (str(folder), "/tmp"):  # noqa: S108 - a folder of the new root
        os.makedirs(root + name, exist_ok=True)  # noqa: PTH103
    with contextlib.suppress(FileExistsError):  # then what is given lies there
        os.symlink(folder / "temporary", root + "/dev/shm")  # noqa: PTH211, S108
    options = f"size={size},nr_inodes={_INODES},mode=700"
    system_calls.mount("tmpfs", root + str(folder), "tmpfs", flags, options)
    system_calls.leave_root_for(root)
    system_calls.mount("none", "/", None, _AGAIN | _READ_ONLY | flags)


def mount_processes() -> None:
    """Show the processes of this namespace in /proc, where nothing can be set.

    A container whose own /proc is covered in part allows none: then nothing is in the folder.
    """
    flags = _READ_ONLY | _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS
    try:
        system_calls.mount("proc", "/proc", "proc", flags)
    except PermissionError:
        system_calls.unmount("/proc")  # the host's, which had to be seen until here


def importable_beside(file: Path) -> list[Path]:
    """Return a Python file, and what it can import of its folder: other files, and packages."""
    with contextlib.suppress(OSError):  # a folder that cannot be listed has nothing to import
        beside = sorted(file.parent.iterdir())
        return [file, *(each for each in beside if each.suffix == ".py" or _is_package(each))]
    return [file]


def _is_package(path: Path) -> bool:
    try:
        return (path / "__init__.py").exists()
    except PermissionError:
        return False


def _system_paths() -> Iterator[Path]:
    return (Path(each) for each in _SYSTEM)


def _python_paths(folder: Path) -> Iterator[Path]:
    """Give where Python imports from, but no folder that holds what others are given."""
    for each in {sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(None, sys.path)}:
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
