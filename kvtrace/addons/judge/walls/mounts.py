"""The root folder of a confined process: read-only system files, and a folder in memory.

No other files, sockets or devices of the host exist there. Of /proc there is a single file, since
/proc reveals the host's disks, kernel settings and keys.
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
#: Programs, libraries, the files that locate them, and the description of processors for torch.
_SYSTEM: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
    "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/localtime", "/proc/cpuinfo",
)  # fmt: skip
#: Devices; /dev/zero is missing, since mapping it gives memory that counts for no process.
_DEVICES: Final = ("null", "full", "random", "urandom")
_INODES: Final = 16_384


def enter_namespaces() -> None:
    """Move this process into new namespaces; into a new user namespace only if needed for that.

    Raises:
        OSError: this system does not allow new namespaces.
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
    """Replace this process's root by one with readable files, and a folder in memory.

    Args:
        folder: The path of the new folder in memory, the only writable one; the host's folder of
            this path is not reachable any more.
        reads: Readable files and folders besides Python's and the system's.
        size: Capacity of the folder in bytes.
        code: Python files to copy, with the files of their folders that they can import.

    Returns:
        Files of these folders that were not copied, with reasons.

    Raises:
        OSError: this system does not allow such mounts.
    """
    system_calls.mount("none", "/", None, _WHOLE_TREE | _PRIVATE)
    shared = _outermost([*map(Path, _SYSTEM), *_python_paths(folder), *reads])
    root = str(folder)  # any folder will do as the new root
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
            left_out += neighbors.copy_with_neighbors(file, root)
    for name in (str(folder), "/tmp"):  # noqa: S108 - a folder of the new root
        os.makedirs(root + name, exist_ok=True)  # noqa: PTH103
    with contextlib.suppress(FileExistsError):  # a readable folder lies there
        os.symlink(folder / "temporary", root + "/dev/shm")  # noqa: PTH211, S108
    options = f"size={size},nr_inodes={_INODES},mode=700"
    system_calls.mount("tmpfs", root + str(folder), "tmpfs", flags, options)
    system_calls.leave_root_for(root)
    system_calls.mount("none", "/", None, _AGAIN | _READ_ONLY | flags)
    return left_out


def _python_paths(folder: Path) -> Iterator[Path]:
    """Yield the folders that Python imports from, unless they contain the writable folder."""
    for name in {sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(os.path.isabs, sys.path)}:
        path = Path(os.path.abspath(name))  # noqa: PTH100 - links are bound as they are named
        for candidate in {path, path.resolve()}:
            if not folder.is_relative_to(candidate):
                yield candidate


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Return the existing paths, without those below another path."""
    outermost: list[Path] = []
    for path in sorted({path for path in paths if os.path.exists(path)}):  # noqa: PTH110 - no error
        if not any(path.is_relative_to(outer) for outer in outermost if not outer.is_symlink()):
            outermost.append(path)
    return outermost


def _bind(root: str, path: Path, *, device: bool = False) -> None:
    """Make a file, folder or device of the host readable at the same path under a new root."""
    target = root + str(path)
    os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
    if str(path) in _SYSTEM and path.is_symlink() and path.is_dir():
        return os.symlink(os.readlink(path), target)  # noqa: PTH115, PTH211
    if path.is_dir():
        os.makedirs(target, exist_ok=True)  # noqa: PTH103
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    system_calls.mount(str(path), target, None, _BIND | _WHOLE_TREE)
    attributes = _NO_SETUID if device else _READ_ONLY | _NO_SETUID | _NO_DEVICES
    system_calls.restrict_mount(target, attributes)
    return None
