"""Checksum of a part: SHA-256 of the whole file, stored in the file's footer.

Parquet's page checksums cover pages, but neither page headers nor the footer, where a flipped bit
changes values, too. So each part's key/value metadata has the hash of the file, computed with the
64 digits of the checksum itself read as zeros. Other Parquet readers ignore the entry.
"""

import hashlib
import os
from pathlib import Path
from typing import Any, BinaryIO, Final

from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.layout import refuse_irregular

_KEY: Final = "kvtrace.sha256"
_ZEROS: Final = b"0" * 64
#: Bytes from key to value: in Thrift's compact protocol, type and length of the value lie between.
_FROM_KEY: Final = len(_KEY) + 2
#: A Parquet file ends with the length of the footer, 4 bytes, and these 4 bytes.
_MAGIC: Final = b"PAR1"
_TAIL_BYTES: Final = 8
_PIECE_BYTES: Final = 1 << 20


def reserve_checksum(writer: Any) -> None:
    """Add 64 zeros to a `pq.ParquetWriter`'s footer metadata, as placeholder for the checksum."""
    writer.add_key_value_metadata({_KEY: _ZEROS.decode()})


def fill_checksum(path: Path) -> None:
    """Compute a written part's checksum, and overwrite the placeholder in the file with it.

    Raises:
        OSError: the file cannot be read or written.

    """
    with path.open("r+b") as file:
        position = _checksum_position(file)
        assert position is not None
        digits = _computed_digits(file, position)
        file.seek(position)
        file.write(digits)


def verify_part(path: Path) -> None:
    """Check a part's bytes against its checksum; parts of older versions without one are accepted.

    Raises:
        DamagedFile: a byte differs from the written byte.
        OSError: the file cannot be read.

    """
    refuse_irregular(path)
    with path.open("rb") as file:
        position = _checksum_position(file)
        if position is None:
            return
        file.seek(position)
        if file.read(len(_ZEROS)) == _computed_digits(file, position):
            return
    raise DamagedFile(
        f"{path} is damaged (its bytes differ from its checksum); restore it from a copy, or move "
        "it out of the trace"
    )


def _checksum_position(file: BinaryIO) -> int | None:
    """Return the byte offset of the checksum's digits in a file; None without a checksum."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL_BYTES))
    tail = file.read(_TAIL_BYTES)
    footer_offset = size - _TAIL_BYTES - int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or footer_offset < 0:
        return None
    file.seek(footer_offset)
    key_offset = file.read(size - footer_offset).rfind(_KEY.encode())
    return None if key_offset < 0 else footer_offset + key_offset + _FROM_KEY


def _computed_digits(file: BinaryIO, position: int) -> bytes:
    """Return the file's SHA-256 in hex, with 64 zeros instead of the bytes at `position`."""
    digest = hashlib.sha256()
    file.seek(0)
    remaining = position
    while remaining > 0 and (piece := file.read(min(_PIECE_BYTES, remaining))):
        digest.update(piece)
        remaining -= len(piece)
    digest.update(_ZEROS)
    file.seek(position + len(_ZEROS))
    while piece := file.read(_PIECE_BYTES):
        digest.update(piece)
    return digest.hexdigest().encode()
