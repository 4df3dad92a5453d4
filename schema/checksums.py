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
    """Let a `pq.ParquetWriter` write 64 zeros as placeholder for the checksum."""
    writer.add_key_value_metadata({_KEY: _ZEROS.decode()})


def fill_checksum(path: Path) -> None:
    """Replace the placeholder in a written part by the checksum.

    Raises:
        OSError: the file cannot be read or written.

    """
    with path.open("r+b") as file:
        place = _place(file)
        assert place is not None
        digits = _digits(file, place)
        file.seek(place)
        file.write(digits)


def verify_part(path: Path) -> None:
    """Compare a part with its checksum, if there is one: parts of older versions have none.

    Raises:
        DamagedFile: a byte differs from the written byte.
        OSError: the file cannot be read.

    """
    refuse_irregular(path)
    with path.open("rb") as file:
        place = _place(file)
        if place is None:
            return
        file.seek(place)
        if file.read(len(_ZEROS)) == _digits(file, place):
            return
    raise DamagedFile(
        f"{path} is damaged (its bytes differ from its checksum); restore it from a copy, or move "
        "it out of the trace"
    )


def _place(file: BinaryIO) -> int | None:
    """Return the position of the checksum's digits; None without checksum or footer."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL_BYTES))
    tail = file.read(_TAIL_BYTES)
    start = size - _TAIL_BYTES - int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or start < 0:
        return None
    file.seek(start)
    key = file.read(size - start).rfind(_KEY.encode())
    return None if key < 0 else start + key + _FROM_KEY


def _digits(file: BinaryIO, place: int) -> bytes:
    """Return the digits for the position `place`: the hash of the file with zeros there."""
    digest = hashlib.sha256()
    file.seek(0)
    remaining = place
    while remaining > 0 and (piece := file.read(min(_PIECE_BYTES, remaining))):
        digest.update(piece)
        remaining -= len(piece)
    digest.update(_ZEROS)
    file.seek(place + len(_ZEROS))
    while piece := file.read(_PIECE_BYTES):
        digest.update(piece)
    return digest.hexdigest().encode()
