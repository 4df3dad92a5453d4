"""Traces that are not on this machine: add-ons open them, by the group `kvtrace.stores`.

Such a trace has a folder here, into which each file comes when it is read. The readers know nothing
of that: `layout` asks here for what a folder holds, and says when a path is about to be opened.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

from kvtrace import registry
from kvtrace.schema.errors import TraceNotFound

_ADDRESS: Final = re.compile(r"([a-z][a-z0-9]+):/+.+")


class RemoteFolder(Protocol):
    """A trace that lies elsewhere; `root` is where its files are kept on this machine."""

    @property
    def address(self) -> str:
        """Where it lies, as the user names it."""

    @property
    def root(self) -> Path:
        """The folder on this machine."""

    def entries(self, folder: Path) -> list[Path]:
        """Return what a folder holds, as paths on this machine; nothing is fetched."""

    def fetch(self, paths: Iterable[Path]) -> None:
        """Have files on this machine; those that are not there either are left missing."""

    def replace(self, fresh: Iterable[tuple[Path, Path]], gone: set[Path]) -> None:
        """Store files that were made here under the names of others, then remove what is gone."""

    def address_of(self, path: Path) -> str:
        """Return where a path lies, as Hadoop names it."""


_OPENED: dict[Path, RemoteFolder] = {}


def is_remote(address: str) -> bool:
    """Whether an address is one of a store; a slash of `//` may be missing, as in Path.

    Raises:
        TraceNotFound: it looks like one, and no add-on opens it.

    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return False
    if registry.entry("stores", match[1]) is not None:
        return True
    if Path(address).exists():
        return False
    raise TraceNotFound(f"nothing here opens {match[1]} addresses; name a folder")


def remote_folder(path: Path) -> RemoteFolder | None:
    """Return the opened trace that a path on this machine belongs to, if to any."""
    if not _OPENED:
        return None
    return next((_OPENED[root] for root in (path, *path.parents) if root in _OPENED), None)


def open_remote(address: str) -> Path:
    """Open a trace that lies elsewhere, and return its folder on this machine.

    Raises:
        TraceNotFound: there is no such place, or it cannot be reached.

    """
    store = registry.entry("stores", address.partition(":")[0])
    assert store is not None  # the address is one
    folder: RemoteFolder = store.load()(address)
    _OPENED[folder.root] = folder
    return folder.root
