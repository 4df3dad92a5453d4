"""The checksum of a part: SHA-256 of the whole file, kept in its own footer.

Parquet's page checksums cover pages, but neither their headers nor the footer, where one flipped
bit changes values, too. So each part says in its key/value metadata what its bytes hash to, with
the 64 digits of the checksum itself read as zeros. To a reader of Parquet it is one more fact.
"""

import hashlib
import os
from pathlib import Path
from typing import Any, BinaryIO, Final

from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.layout import refuse_irregular

_KEY: Final = "kvtrace.sha256"
_ZEROS: Final = b"0" * 64
#: Between key and value Thrift's compact protocol has the value's type and length, a byte each.
_FROM_KEY: Final = len(_KEY) + 2
#: A Parquet file ends with the length of its footer, 4 bytes, and these.
_MAGIC: Final = b"PAR1"
_TAIL_BYTES: Final = 8
_PIECE_BYTES: Final = 1 << 20


def reserve_checksum(writer: Any) -> None:
    """Have a `pq.ParquetWriter` leave room for the checksum."""
    writer.add_key_value_metadata({_KEY: _ZEROS.decode()})


def fill_checksum(path: Path) -> None:
    """Put the checksum of a written part where room was left for it.

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
    """Compare a part with its checksum, where it has one: those of older versions have none.

    Raises:
        DamagedFile: a byte is not the one that was written.
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
    """Return the position of the checksum's digits; None if a file has none, or no footer."""
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
    """The digits that belong at `place`: the hash of the file with zeros there."""
    found = hashlib.sha256()
    file.seek(0)
    left = place
    while left > 0 and (piece := file.read(min(_PIECE_BYTES, left))):
        found.update(piece)
        left -= len(piece)
    found.update(_ZEROS)
    file.seek(place + len(_ZEROS))
    while piece := file.read(_PIECE_BYTES):
        found.update(piece)
    return found.hexdigest().encode()
