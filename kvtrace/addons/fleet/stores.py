"""Traces in object stores, as local folders whose files are fetched when read.

The store is listed with one request per table (and thousand names). A file is fetched when it is
opened, and stays in the user's cache; a cached file of the same size and modification time is not
fetched again. Parts are never changed in place, so a cached file is not mistaken for another
version, except for one of the same size written within the same second.
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

#: Files that are fetched concurrently: small files are mostly waiting time.
_AT_ONCE: Final = 16
_BLOCK: Final = 8 << 20


class _File(NamedTuple):
    size: int
    changed_ns: int


class StoredFolder:
    """A trace in an object store; `root` is the local folder in which its files are cached."""

    def __init__(self, address: str, store: Any, prefix: str, root: Path) -> None:
        self.address = address
        self.root = root
        self._store = store
        self._prefix = prefix.rstrip("/")
        #: Known contents of folders below the prefix, by path: files, and None for folders.
        self._contents: dict[str, dict[str, _File | None]] = {}
        self._listed_tables: set[str] = set()

    def entries(self, folder: Path) -> list[Path]:
        """Return the stored entries of a folder as local paths; no file is fetched."""
        relative_path = self._path_in_trace(folder)
        if relative_path == "":
            self._list_table("", recursive=False)
        else:
            self._list_table(relative_path.split("/", 1)[0], recursive=True)
        return [folder / name for name in self._contents.get(relative_path, ())]

    def fetch(self, paths: Iterable[Path]) -> None:
        """Copy files from the store into the cache, unless they are cached and unchanged.

        Paths that the store lacks are ignored.
        """
        stale = [path for path in paths if self._is_stale(path)]
        if len(stale) == 1:
            self._fetch(stale[0])
        elif stale:
            from concurrent.futures import ThreadPoolExecutor  # not for every process that records

            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(self._fetch, stale))

    def replace(self, fresh: Iterable[tuple[Path, Path]], gone: set[Path]) -> None:
        """Upload local files to the store, deleting them here, then delete obsolete stored files.

        `fresh` are pairs of a local file and its path in the trace; `gone` the obsolete paths. Each
        file is replaced atomically, but not all files together.

        Raises:
            TraceWriteError: the store refuses the change.
        """
        try:
            for local, path in fresh:
                self._put(local, path)
                local.unlink()
                gone.discard(path)
            for path in gone:
                self._remove(path)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).split("\n", 1)[0].rstrip(".")
            raise TraceWriteError(
                f"the results cannot be written to {self.address} ({reason}); the captured tables "
                "are unchanged"
            ) from error

    def _put(self, local: Path, path: Path) -> None:
        """Upload a local file as the trace's file `path`, completely or not at all."""
        with (
            local.open("rb") as source,
            self._store.open_output_stream(self._store_key(path)) as target,
        ):
            shutil.copyfileobj(source, target, _BLOCK)
        self._listed_tables.discard(self._path_in_trace(path).split("/", 1)[0])

    def _remove(self, path: Path) -> None:
        """Delete a file from the store and from the cache."""
        self._store.delete_file(self._store_key(path))
        path.unlink(missing_ok=True)
        self._listed_tables.discard(self._path_in_trace(path).split("/", 1)[0])

    def address_of(self, path: Path) -> str:
        """Return the address of a path in the store as Hadoop writes it, with s3a: for s3:."""
        scheme = self.address.split(":", 1)[0]
        return f"{'s3a' if scheme == 's3' else scheme}://{self._store_key(path)}"

    def _path_in_trace(self, path: Path) -> str:
        relative_path = path.relative_to(self.root).as_posix()
        return "" if relative_path == "." else relative_path

    def _store_key(self, path: Path) -> str:
        return f"{self._prefix}/{self._path_in_trace(path)}"

    def _list_table(self, table: str, *, recursive: bool) -> None:
        if table in self._listed_tables:
            return
        from pyarrow.fs import FileSelector, FileType

        base = f"{self._prefix}/{table}".rstrip("/")
        selector = FileSelector(base, allow_not_found=True, recursive=recursive)
        if recursive:
            for path in [path for path in self._contents if path.split("/", 1)[0] == table]:
                del self._contents[path]
        for info in self._store.get_file_info(selector):
            relative_path = info.path[len(self._prefix) + 1 :]
            folder, _, name = relative_path.rpartition("/")
            is_file = info.type == FileType.File
            file = _File(info.size, info.mtime_ns or 0) if is_file else None
            self._contents.setdefault(folder, {})[name] = file
        self._listed_tables.add(table)

    def _stored_file(self, path: Path) -> _File | None:
        relative_path = self._path_in_trace(path)
        folder, _, name = relative_path.rpartition("/")
        self._list_table(relative_path.split("/", 1)[0], recursive=True)
        return self._contents.get(folder, {}).get(name)

    def _is_stale(self, path: Path) -> bool:
        stored = self._stored_file(path)
        if stored is None:
            return False
        try:
            local = path.stat()
        except FileNotFoundError:
            return True
        return (local.st_size, local.st_mtime_ns) != stored

    def _fetch(self, path: Path) -> None:
        stored = self._stored_file(path)
        assert stored is not None  # since the file is stale
        path.parent.mkdir(parents=True, exist_ok=True)
        partial_file = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            with (
                self._store.open_input_stream(self._store_key(path)) as source,
                partial_file.open("wb") as file,
            ):
                shutil.copyfileobj(source, file, _BLOCK)
            os.utime(partial_file, ns=(stored.changed_ns, stored.changed_ns))
            partial_file.replace(path)
        finally:
            partial_file.unlink(missing_ok=True)


def open_folder(address: str) -> StoredFolder:
    """Open a trace in an object store; in the address, `s3:/` (as in a Path) is the same as `s3://`.

    Raises:
        TraceNotFound: the address does not exist, or the store cannot be reached.
    """
    from pyarrow.fs import FileSelector, FileSystem

    scheme, _, path = address.partition(":")
    path = path.lstrip("/")
    full_address = f"{scheme}://{path}"
    try:
        store, prefix = FileSystem.from_uri(full_address)
        entries = store.get_file_info(FileSelector(prefix, allow_not_found=True))
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).split("\n", 1)[0].rstrip(".")
        raise TraceNotFound(f"{full_address} cannot be read ({reason})") from error
    if not entries:
        raise TraceNotFound(f"{full_address} is empty; give the address of a trace's folder")
    root = _cache_folder() / _folder_name(scheme, path)
    root.mkdir(parents=True, exist_ok=True)
    return StoredFolder(full_address, store, prefix, root)


def _folder_name(scheme: str, rest: str) -> Path:
    """Return the cache folder of an address: readable, and unique by a hash."""
    readable = re.sub(r"[^A-Za-z0-9_./-]", "-", rest.partition("?")[0]).strip("/")
    digest = hashlib.sha256(f"{os.environ.get('AWS_ENDPOINT_URL', '')}\n{rest}".encode())
    return Path(scheme, f"{readable.replace('..', '-')}-{digest.hexdigest()[:8]}")


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "kvtrace"
