"""Index of artifacts by hash, built run by run at the first look-up."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kvtrace.schema.columns import filled
from kvtrace.schema.content import artifact_content
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.layout import (
    part_numbers,
    pass_parts,
    refuse_irregular,
    run_folder,
    segments,
)
from kvtrace.schema.parts import damaged, open_part, part_facts
from kvtrace.schema.reading import captured_rows, quietly
from kvtrace.schema.tables import TABLES

_TABLE = TABLES["artifacts"]


#: Most bytes of a text, or of a larger text the most bytes for each compressed byte: texts are read
#: whole and parsed. Contents of tensors may be all zeros, which compress to next to nothing.
_MOST_OF_TEXT: Final = 32 << 20
_MOST_GROWTH: Final = 100


class _Place(NamedTuple):
    path: Path
    file: int  # its inode: another file may get the name
    group: int
    row: int


class ArtifactIndex:
    """Finds artifacts by hash. Of a sealed part, only the artifact's row group is read."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._places: dict[str, dict[str, _Place]] = {}
        self._journalled: dict[str, dict[str, tuple[int, bytes]]] = {}

    def content(self, sha256: str, run_ids: Sequence[str]) -> bytes | None:
        """Return an artifact's plain content, of the newest run first, or None.

        Raises:
            DamagedFile: the content is not whole.

        """
        for run_id in reversed(run_ids):
            place = self._indexed(run_id).get(sha256)
            if place is not None:
                return self._read(run_id, place, sha256)
            waiting = self._unsealed(run_id).get(sha256)
            if waiting is not None:
                return artifact_content(sha256, *waiting, f"the journal of run {run_id}")
        return None

    def forget(self, run_id: str) -> None:
        """Remove a run from the index, as a pass has replaced files."""
        self._places.pop(run_id, None)
        self._journalled.pop(run_id, None)

    def _read(self, run_id: str, place: _Place, sha256: str) -> bytes:
        """Return an artifact's content; if the file was replaced since, index the run again."""
        try:
            return _read(place, sha256)
        except (DamagedFile, FileNotFoundError):
            self.forget(run_id)
            moved = self._indexed(run_id).get(sha256)
            if moved is None or moved == place:
                raise
            return _read(moved, sha256)

    def _indexed(self, run_id: str) -> dict[str, _Place]:
        if run_id not in self._places:
            folder = run_folder(self._out, "artifacts", run_id)
            places: dict[str, _Place] = {}
            for path in (*part_numbers(folder).values(), *pass_parts(folder)):
                places.update(_places(path))
            self._places[run_id] = places
        return self._places[run_id]

    def _unsealed(self, run_id: str) -> dict[str, tuple[int, bytes]]:
        if run_id not in self._journalled:
            self._journalled[run_id] = self._journal_contents(run_id)
        return self._journalled[run_id]

    def _journal_contents(self, run_id: str) -> dict[str, tuple[int, bytes]]:
        if "artifacts" not in segments(self._out, run_id):
            return {}
        names = ["sha256", "kind", "size_bytes", "bytes"]
        rows = captured_rows(self._out, _TABLE, run_id, names, quietly).to_pylist()
        whole = [row for row in rows if row["bytes"] is not None and row["size_bytes"] is not None]
        for row in whole:
            _refuse_swollen(row, f"the journal of run {run_id}")
        return {row["sha256"]: (row["size_bytes"], row["bytes"]) for row in whole}


def _refuse_swollen(row: Mapping[str, Any], source: str) -> None:
    """Raise DamagedFile if a text is far larger than its compressed bytes."""
    size, compressed = row["size_bytes"], len(row["bytes"])
    if row["kind"] != "tensor" and size > max(_MOST_OF_TEXT, _MOST_GROWTH * compressed):
        raise DamagedFile(
            f"an artifact of kind {row['kind']} in {source} says that its {compressed:,} bytes "
            f"hold {size:,}; kvtrace trace validate lists all that is damaged"
        )


def _places(path: Path) -> dict[str, _Place]:
    inode = refuse_irregular(path).st_ino
    with open_part(path) as file:
        part_facts(file, path, _TABLE.name)
        places = {}
        for group in range(file.num_row_groups):
            try:
                rows = file.read_row_group(group, columns=["sha256"])
            except (pa.ArrowException, OSError, ValueError) as error:
                raise damaged(path, error) from error
            hashes = filled(_TABLE, rows, ["sha256"], str(path)).column(0).to_pylist()
            places.update(
                {sha256: _Place(path, inode, group, row) for row, sha256 in enumerate(hashes)}
            )
    return places


def _read(place: _Place, sha256: str) -> bytes:
    names = ["kind", "size_bytes", "bytes"]
    with open_part(place.path) as file:
        try:
            rows = file.read_row_group(place.group, columns=names)
        except (pa.ArrowException, OSError, ValueError, IndexError) as error:
            raise damaged(place.path, error) from error
    listed = filled(_TABLE, rows, names, str(place.path)).slice(place.row, 1).to_pylist()
    row = listed[0] if listed else {"bytes": None, "size_bytes": None}
    if row["bytes"] is None or row["size_bytes"] is None:
        raise DamagedFile(f"artifact {sha256[:12]} in {place.path} has no content")
    _refuse_swollen(row, str(place.path))
    return artifact_content(sha256, row["size_bytes"], row["bytes"], str(place.path))
