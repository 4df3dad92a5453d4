"""Bytes of storages in the words of findings: elements 128 to 639."""

from __future__ import annotations

from kvtrace.metrics.byte_ranges import ByteRanges, merged
from kvtrace.text import plural


def first_byte(listed: ByteRanges) -> int:
    """Return the first of some bytes."""
    return next(iter(listed))[0]


def elements(listed: ByteRanges, offset: int, size: int) -> str:
    """Return how many elements have one of some bytes, and which.

    They have `size` bytes, and are counted from byte `offset` of the storage.
    """
    touched = _touched(listed, offset, size)
    where = ranges(listed, offset, size)
    return where if len(touched) == 1 else f"{plural(touched.size, 'element')} ({where})"


def is_one(phrase: str) -> bool:
    """Return whether a phrase of `elements` is about one element or byte."""
    return phrase.startswith(("element ", "byte "))


def whole_elements(listed: ByteRanges, within: ByteRanges, offset: int, size: int) -> ByteRanges:
    """Return those bytes of the elements that have one of some bytes that are `within` others."""
    touched = _touched(listed, offset, size)
    return merged(offset + size * touched.first, offset + size * touched.end) & within


def _touched(listed: ByteRanges, offset: int, size: int) -> ByteRanges:
    """Return the numbers of the elements that have one of some bytes."""
    return merged((listed.first - offset) // size, (listed.end - 1 - offset) // size + 1)


def part(written: ByteRanges, origin: int, size: int) -> str:
    """Return written bytes as elements from an origin on, of the storage if some lie before it."""
    if written and first_byte(written) < origin:
        return f"{ranges(written, 0, size)} of the whole storage"
    return f"{ranges(written, origin, size)} of it"


def ranges(listed: ByteRanges, offset: int, size: int) -> str:
    """Return ranges of bytes as elements of a tensor: elements 128 to 639."""
    texts = []
    touched = _touched(listed, offset, size)
    for first, end in touched:
        texts.append(f"{first:,}" if first == end - 1 else f"{first:,} to {end - 1:,}")
        if len(texts) == 3 and len(touched) > 3:
            texts.append("…")
            break
    if not texts:
        return "nothing"
    word = "element" if len(touched) == 1 and " to " not in texts[0] else "elements"
    return f"{_bytes_of(listed, offset, size, touched.size)}{word} {', '.join(texts)}"


def _bytes_of(listed: ByteRanges, offset: int, size: int, count: int) -> str:
    """Return which bytes of its elements some bytes are: "bytes 4 to 7 of ", or "" for all."""
    if listed.size == size * count:
        return ""
    first = (listed.first - offset) % size
    last = first + listed.end - listed.first - 1
    if len(listed) != count or first.min() < first.max() or last.min() < last.max():
        return "bytes of "
    which = f"{first[0]} to {last[0]}" if first[0] < last[0] else f"{first[0]}"
    return f"byte{'s' if first[0] < last[0] else ''} {which} of "
