"""Remote traces, opened by add-ons of the registry's group `kvtrace.stores`.

A remote trace has a local folder, into which each file is downloaded before it is read. Readers do
not notice: `layout` lists remote folders through this module, and fetches paths before opening.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

from kvtrace import registry
from kvtrace.schema.errors import TraceNotFound

_ADDRESS: Final = re.compile(r"([a-z][a-z0-9]+):/+.+")


class RemoteFolder(Protocol):
    """A remote trace, with the local folder `root` to which its files are downloaded."""

    @property
    def address(self) -> str:
        """The address that the user gave."""

    @property
    def root(self) -> Path:
        """The local folder."""

    def entries(self, folder: Path) -> list[Path]:
        """Return the local paths of a folder's remote entries; nothing is downloaded."""

    def fetch(self, paths: Iterable[Path]) -> None:
        """Download files; files that do not exist remotely stay missing."""

    def replace(self, fresh: Iterable[tuple[Path, Path]], gone: set[Path]) -> None:
        """Upload files, given as (local file, path in the trace), then remove the paths `gone`."""

    def address_of(self, path: Path) -> str:
        """Return the address of a path in Hadoop's form."""


_OPENED: dict[Path, RemoteFolder] = {}


def is_remote(address: str) -> bool:
    """Return whether an address begins with `scheme:/`; a `Path` has dropped a slash of `//`.

    Raises:
        TraceNotFound: the address has a scheme that no add-on opens.

    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return False
    if registry.entry("stores", match[1]) is not None:
        return True
    if Path(address).exists():
        return False
    raise TraceNotFound(f"no installed add-on opens {match[1]} addresses; name a folder")


def remote_folder(path: Path) -> RemoteFolder | None:
    """Return the opened remote trace to which a local path belongs, or None."""
    if not _OPENED:
        return None
    return next((_OPENED[root] for root in (path, *path.parents) if root in _OPENED), None)


def open_remote(address: str) -> Path:
    """Open a remote trace, and return its local folder.

    Raises:
        TraceNotFound: the address does not exist, or cannot be reached.

    """
    store = registry.entry("stores", address.partition(":")[0])
    assert store is not None  # `is_remote` is True
    folder: RemoteFolder = store.load()(address)
    _OPENED[folder.root] = folder
    return folder.root
