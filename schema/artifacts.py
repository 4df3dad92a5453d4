"""Index of artifacts by hash, built run by run at the first look-up."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kvtrace.schema.columns import filled
from kvtrace.schema.content import artifact_content
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.layout import part_numbers, pass_parts, refuse_irregular, run_folder, segments
from kvtrace.schema.opened_parts import open_part, part_facts, reading
from kvtrace.schema.reading import captured_rows, quietly
from kvtrace.schema.tables import TABLES

_TABLE = TABLES["artifacts"]


#: Most bytes of a text, or of a larger text the most bytes for each compressed byte: texts are read
#: whole and parsed. Contents of tensors may be all zeros, which compress to next to nothing.
_MOST_OF_TEXT: Final = 32 << 20
_MOST_GROWTH: Final = 100
#: Most bytes of row groups that are kept for the next of their artifacts.
_MOST_KEPT: Final = 32 << 20


class _ArtifactRow(NamedTuple):
    path: Path
    file: int  # its inode: another file may get the name
    group: int
    row: int


class ArtifactIndex:
    """Index of artifacts by hash, which reads only the artifact's row group of a sealed part."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._rows_by_hash: dict[str, dict[str, _ArtifactRow]] = {}
        self._journalled: dict[str, dict[str, tuple[int, bytes]]] = {}
        self._groups: dict[tuple[Path, int, int], pa.Table] = {}

    def content(self, sha256: str, run_ids: Sequence[str]) -> bytes | None:
        """Return an artifact's decompressed content from the newest of the runs with it, or None.

        Raises:
            DamagedFile: the content is not whole.

        """
        for run_id in reversed(run_ids):
            artifact_row = self._sealed_rows(run_id).get(sha256)
            if artifact_row is not None:
                return self._read(run_id, artifact_row, sha256)
            journal_content = self._unsealed_contents(run_id).get(sha256)
            if journal_content is not None:
                return artifact_content(sha256, *journal_content, f"the journal of run {run_id}")
        return None

    def forget(self, run_id: str) -> None:
        """Remove a run from the index, for example after a pass has replaced the run's files."""
        self._rows_by_hash.pop(run_id, None)
        self._journalled.pop(run_id, None)

    def _read(self, run_id: str, artifact_row: _ArtifactRow, sha256: str) -> bytes:
        """Return an artifact's content; if its file was replaced, index the run again and retry."""
        try:
            return self._content(artifact_row, sha256)
        except (DamagedFile, FileNotFoundError):
            self.forget(run_id)
            current_row = self._sealed_rows(run_id).get(sha256)
            if current_row is None or current_row == artifact_row:
                raise
            return self._content(current_row, sha256)

    def _content(self, artifact_row: _ArtifactRow, sha256: str) -> bytes:
        """Return an artifact's content; small row groups are read once, the newest are kept."""
        path, inode, group, row = artifact_row
        rows = self._groups.get((path, inode, group))
        if rows is None:
            rows = _read_group(path, group)
            kept = rows.nbytes + sum(table.nbytes for table in self._groups.values())
            while self._groups and kept > _MOST_KEPT:
                kept -= self._groups.pop(next(iter(self._groups))).nbytes
            if kept <= _MOST_KEPT:
                self._groups[path, inode, group] = rows
        return _content(rows.slice(row, 1).to_pylist(), sha256, path)

    def _sealed_rows(self, run_id: str) -> dict[str, _ArtifactRow]:
        if run_id not in self._rows_by_hash:
            folder = run_folder(self._out, "artifacts", run_id)
            artifact_rows: dict[str, _ArtifactRow] = {}
            for path in (*part_numbers(folder).values(), *pass_parts(folder)):
                artifact_rows.update(_rows_by_hash(path))
            self._rows_by_hash[run_id] = artifact_rows
        return self._rows_by_hash[run_id]

    def _unsealed_contents(self, run_id: str) -> dict[str, tuple[int, bytes]]:
        if run_id not in self._journalled:
            self._journalled[run_id] = self._journal_contents(run_id)
        return self._journalled[run_id]

    def _journal_contents(self, run_id: str) -> dict[str, tuple[int, bytes]]:
        if "artifacts" not in segments(self._out, run_id):
            return {}
        names = ["sha256", "kind", "size_bytes", "bytes"]
        rows = captured_rows(self._out, _TABLE, run_id, names, quietly).to_pylist()
        complete_rows = [
            row for row in rows if row["bytes"] is not None and row["size_bytes"] is not None
        ]
        for row in complete_rows:
            _refuse_swollen(row, f"the journal of run {run_id}")
        return {row["sha256"]: (row["size_bytes"], row["bytes"]) for row in complete_rows}


def _refuse_swollen(row: Mapping[str, Any], source: str) -> None:
    """Raise DamagedFile if a text is far larger than its compressed bytes."""
    size, compressed = row["size_bytes"], len(row["bytes"])
    if row["kind"] != "tensor" and size > max(_MOST_OF_TEXT, _MOST_GROWTH * compressed):
        raise DamagedFile(
            f"an artifact of kind {row['kind']} in {source} claims to expand from {compressed:,} "
            f"to {size:,} bytes; kvtrace trace validate lists all damaged files"
        )


def _rows_by_hash(path: Path) -> dict[str, _ArtifactRow]:
    inode = refuse_irregular(path).st_ino
    with open_part(path) as file:
        part_facts(file, path, _TABLE.name)
        artifact_rows = {}
        for group in range(file.num_row_groups):
            with reading(path):
                rows = file.read_row_group(group, columns=["sha256"])
            hashes = filled(_TABLE, rows, ["sha256"], str(path)).column(0).to_pylist()
            artifact_rows.update(
                {sha256: _ArtifactRow(path, inode, group, row) for row, sha256 in enumerate(hashes)}
            )
    return artifact_rows


def _read_group(path: Path, group: int) -> pa.Table:
    """Return the rows of a row group."""
    names = ["kind", "size_bytes", "bytes"]
    with open_part(path) as file, reading(path):
        rows = file.read_row_group(group, columns=names)
    return filled(_TABLE, rows, names, str(path))


def _content(rows: Sequence[Mapping[str, Any]], sha256: str, path: Path) -> bytes:
    """Return the content of an artifact from its row, which is missing in a damaged part."""
    row = rows[0] if rows else {"bytes": None, "size_bytes": None}
    if row["bytes"] is None or row["size_bytes"] is None:
        raise DamagedFile(f"artifact {sha256[:12]} in {path} has no content")
    _refuse_swollen(row, str(path))
    return artifact_content(sha256, row["size_bytes"], row["bytes"], str(path))
