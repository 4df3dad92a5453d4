"""Traces in object stores: a folder on this machine, into which each file comes when it is read.

Listings come from the store, one request for a table (and a thousand names). A file is fetched when
it is opened, and kept in the user's cache; a cached file of the same size and time of change is not
fetched again. Parts are never changed in place, so no other version of one is mistaken for it,
except for one of the same size that replaces it within the second.
"""

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kvtrace.schema.errors import TraceNotFound, TraceWriteError

#: Files that are fetched at once: most of the time of a small one is waiting.
_AT_ONCE: Final = 16
_BLOCK: Final = 8 << 20


class _File(NamedTuple):
    size: int
    changed_ns: int


class StoredFolder:
    """A trace in an object store; `root` is where its files are kept on this machine."""

    def __init__(self, address: str, store: Any, prefix: str, root: Path) -> None:
        self.address = address
        self.root = root
        self._store = store
        self._prefix = prefix.rstrip("/")
        #: What is known of folders below the prefix, by their paths: files, and None for folders.
        self._listed: dict[str, dict[str, _File | None]] = {}
        self._tables: set[str] = set()

    def entries(self, folder: Path) -> list[Path]:
        """Return what a folder holds, as paths on this machine; nothing is fetched."""
        inside = self._inside(folder)
        if inside == "":
            self._list("", recursive=False)
        else:
            self._list(inside.split("/", 1)[0], recursive=True)
        return [folder / name for name in self._listed.get(inside, ())]

    def fetch(self, paths: Iterable[Path]) -> None:
        """Have files on this machine; those that the store lacks are left missing."""
        missing = [path for path in paths if self._stale(path)]
        if len(missing) == 1:
            self._fetch(missing[0])
        elif missing:
            from concurrent.futures import ThreadPoolExecutor  # not for every process that records

            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(self._fetch, missing))

    def replace(self, fresh: Iterable[tuple[Path, Path]], gone: set[Path]) -> None:
        """Store files that were made here in the places of others, then remove those that are gone.

        Each is replaced whole, but not all of them at once: a reader in between sees some of both.

        Raises:
            TraceWriteError: the store refuses it.

        """
        try:
            for made, path in fresh:
                self._put(made, path)
                made.unlink()
                gone.discard(path)
            for path in gone:
                self._remove(path)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).split("\n", 1)[0].rstrip(".")
            raise TraceWriteError(
                f"what was found cannot be written to {self.address} ({reason}); nothing that was "
                "captured is touched"
            ) from error

    def _put(self, made: Path, path: Path) -> None:
        """Store a file of this machine under the name of `path`, whole or not at all."""
        with made.open("rb") as source, self._store.open_output_stream(self._key(path)) as target:
            shutil.copyfileobj(source, target, _BLOCK)
        self._tables.discard(self._inside(path).split("/", 1)[0])

    def _remove(self, path: Path) -> None:
        """Remove a file from the store, and what is kept of it here."""
        self._store.delete_file(self._key(path))
        path.unlink(missing_ok=True)
        self._tables.discard(self._inside(path).split("/", 1)[0])

    def address_of(self, path: Path) -> str:
        """Return where the store has a path, as Hadoop names it."""
        scheme = self.address.split(":", 1)[0]
        return f"{'s3a' if scheme == 's3' else scheme}://{self._key(path)}"

    def _inside(self, path: Path) -> str:
        inside = path.relative_to(self.root).as_posix()
        return "" if inside == "." else inside

    def _key(self, path: Path) -> str:
        return f"{self._prefix}/{self._inside(path)}"

    def _list(self, table: str, *, recursive: bool) -> None:
        if table in self._tables:
            return
        from pyarrow.fs import FileSelector, FileType

        base = f"{self._prefix}/{table}".rstrip("/")
        selector = FileSelector(base, allow_not_found=True, recursive=recursive)
        if recursive:
            for known in [each for each in self._listed if each.split("/", 1)[0] == table]:
                del self._listed[known]
        for found in self._store.get_file_info(selector):
            inside = found.path[len(self._prefix) + 1 :]
            folder, _, name = inside.rpartition("/")
            is_file = found.type == FileType.File
            file = _File(found.size, found.mtime_ns or 0) if is_file else None
            self._listed.setdefault(folder, {})[name] = file
        self._tables.add(table)

    def _known(self, path: Path) -> _File | None:
        inside = self._inside(path)
        folder, _, name = inside.rpartition("/")
        self._list(inside.split("/", 1)[0], recursive=True)
        return self._listed.get(folder, {}).get(name)

    def _stale(self, path: Path) -> bool:
        known = self._known(path)
        if known is None:
            return False
        try:
            here = path.stat()
        except FileNotFoundError:
            return True
        return (here.st_size, here.st_mtime_ns) != known

    def _fetch(self, path: Path) -> None:
        known = self._known(path)
        assert known is not None  # it is stale
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            with self._store.open_input_stream(self._key(path)) as source, aside.open("wb") as file:
                shutil.copyfileobj(source, file, _BLOCK)
            os.utime(aside, ns=(known.changed_ns, known.changed_ns))
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)


def open_folder(address: str) -> StoredFolder:
    """Open a trace in an object store; a slash of `//` may be missing, as in Path.

    Raises:
        TraceNotFound: there is no such place, or the store cannot be reached.

    """
    from pyarrow.fs import FileSelector, FileSystem

    scheme, _, rest = address.partition(":")
    rest = rest.lstrip("/")
    whole = f"{scheme}://{rest}"
    try:
        store, prefix = FileSystem.from_uri(whole)
        found = store.get_file_info(FileSelector(prefix, allow_not_found=True))
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).split("\n", 1)[0].rstrip(".")
        raise TraceNotFound(f"{whole} cannot be read ({reason})") from error
    if not found:
        raise TraceNotFound(f"there is nothing at {whole}; name the folder of a trace")
    root = _cache() / _folder_name(scheme, rest)
    root.mkdir(parents=True, exist_ok=True)
    return StoredFolder(whole, store, prefix, root)


def _folder_name(scheme: str, rest: str) -> Path:
    """Return a folder that no other address has, and that says whose it is."""
    plain = re.sub(r"[^A-Za-z0-9_./-]", "-", rest.partition("?")[0]).strip("/")
    unique = hashlib.sha256(f"{os.environ.get('AWS_ENDPOINT_URL', '')}\n{rest}".encode())
    return Path(scheme, f"{plain.replace('..', '-')}-{unique.hexdigest()[:8]}")


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "kvtrace"
