"""Everything that a trace's files hold, as one text: what is looked through for private things."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kvtrace.schema.runs import plain_rows


def everything(folder: Path) -> bytes:
    """Names and bytes of all files; of Parquet also metadata, dictionaries and values.

    Statistics are among the bytes, which are not compressed there; artifacts are decompressed.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert files
    return b"\n".join(piece for path in files for piece in _pieces(path, folder))


def _pieces(path: Path, folder: Path) -> Iterator[bytes]:
    yield str(path.relative_to(folder)).encode()
    yield path.read_bytes()
    if path.suffix != ".parquet":
        return
    file = pq.ParquetFile(path)
    yield repr((file.metadata.metadata, file.schema_arrow.metadata)).encode()
    rows = file.read()
    yield repr(plain_rows(rows)).encode("utf-8", "backslashreplace")
    texts = [name for name in rows.column_names if _is_text(rows.schema.field(name).type)]
    coded = pq.read_table(path, read_dictionary=texts, partitioning=None)
    for name in texts:
        dictionaries = [chunk.dictionary.to_pylist() for chunk in coded.column(name).chunks]
        yield repr(dictionaries).encode("utf-8", "backslashreplace")
    if "bytes" in rows.column_names and pa.types.is_binary(rows.schema.field("bytes").type):
        for content in rows.column("bytes").to_pylist():
            yield pa.input_stream(pa.py_buffer(content), compression="zstd").read()


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_dictionary(kind)
