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
    """A trace in an object store; `root` is the local folder of its files."""

    def __init__(self, address: str, store: Any, prefix: str, root: Path) -> None:
        self.address = address
        self.root = root
        self._store = store
        self._prefix = prefix.rstrip("/")
        #: Known contents of folders below the prefix, by path: files, and None for folders.
        self._contents: dict[str, dict[str, _File | None]] = {}
        self._listed_tables: set[str] = set()

    def entries(self, folder: Path) -> list[Path]:
        """Return the contents of a folder as local paths, without fetching files."""
        inside = self._inside(folder)
        if inside == "":
            self._list("", recursive=False)
        else:
            self._list(inside.split("/", 1)[0], recursive=True)
        return [folder / name for name in self._contents.get(inside, ())]

    def fetch(self, paths: Iterable[Path]) -> None:
        """Fetch files unless they are cached; files that the store lacks stay missing."""
        stale = [path for path in paths if self._is_stale(path)]
        if len(stale) == 1:
            self._fetch(stale[0])
        elif stale:
            from concurrent.futures import ThreadPoolExecutor  # not for every process that records

            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(self._fetch, stale))

    def replace(self, fresh: Iterable[tuple[Path, Path]], gone: set[Path]) -> None:
        """Upload new local files in place of stored ones, then delete obsolete stored files.

        Each file is replaced atomically, but not all files together: a reader in between may see
        both.

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
        """Upload a local file under the name of `path`, completely or not at all."""
        with local.open("rb") as source, self._store.open_output_stream(self._key(path)) as target:
            shutil.copyfileobj(source, target, _BLOCK)
        self._listed_tables.discard(self._inside(path).split("/", 1)[0])

    def _remove(self, path: Path) -> None:
        """Delete a file from the store and from the cache."""
        self._store.delete_file(self._key(path))
        path.unlink(missing_ok=True)
        self._listed_tables.discard(self._inside(path).split("/", 1)[0])

    def address_of(self, path: Path) -> str:
        """Return the address of a path in the store, as Hadoop names it."""
        scheme = self.address.split(":", 1)[0]
        return f"{'s3a' if scheme == 's3' else scheme}://{self._key(path)}"

    def _inside(self, path: Path) -> str:
        inside = path.relative_to(self.root).as_posix()
        return "" if inside == "." else inside

    def _key(self, path: Path) -> str:
        return f"{self._prefix}/{self._inside(path)}"

    def _list(self, table: str, *, recursive: bool) -> None:
        if table in self._listed_tables:
            return
        from pyarrow.fs import FileSelector, FileType

        base = f"{self._prefix}/{table}".rstrip("/")
        selector = FileSelector(base, allow_not_found=True, recursive=recursive)
        if recursive:
            for path in [path for path in self._contents if path.split("/", 1)[0] == table]:
                del self._contents[path]
        for info in self._store.get_file_info(selector):
            inside = info.path[len(self._prefix) + 1 :]
            folder, _, name = inside.rpartition("/")
            is_file = info.type == FileType.File
            file = _File(info.size, info.mtime_ns or 0) if is_file else None
            self._contents.setdefault(folder, {})[name] = file
        self._listed_tables.add(table)

    def _stored_file(self, path: Path) -> _File | None:
        inside = self._inside(path)
        folder, _, name = inside.rpartition("/")
        self._list(inside.split("/", 1)[0], recursive=True)
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
        aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            with self._store.open_input_stream(self._key(path)) as source, aside.open("wb") as file:
                shutil.copyfileobj(source, file, _BLOCK)
            os.utime(aside, ns=(stored.changed_ns, stored.changed_ns))
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)


def open_folder(address: str) -> StoredFolder:
    """Open a trace in an object store; one slash of `//` may be missing, as in a Path.

    Raises:
        TraceNotFound: the address does not exist, or the store cannot be reached.

    """
    from pyarrow.fs import FileSelector, FileSystem

    scheme, _, rest = address.partition(":")
    rest = rest.lstrip("/")
    full_address = f"{scheme}://{rest}"
    try:
        store, prefix = FileSystem.from_uri(full_address)
        entries = store.get_file_info(FileSelector(prefix, allow_not_found=True))
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).split("\n", 1)[0].rstrip(".")
        raise TraceNotFound(f"{full_address} cannot be read ({reason})") from error
    if not entries:
        raise TraceNotFound(f"there is nothing at {full_address}; name the folder of a trace")
    root = _cache() / _folder_name(scheme, rest)
    root.mkdir(parents=True, exist_ok=True)
    return StoredFolder(full_address, store, prefix, root)


def _folder_name(scheme: str, rest: str) -> Path:
    """Return a unique cache folder of an address, with a readable name."""
    plain = re.sub(r"[^A-Za-z0-9_./-]", "-", rest.partition("?")[0]).strip("/")
    unique = hashlib.sha256(f"{os.environ.get('AWS_ENDPOINT_URL', '')}\n{rest}".encode())
    return Path(scheme, f"{plain.replace('..', '-')}-{unique.hexdigest()[:8]}")


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "kvtrace"
