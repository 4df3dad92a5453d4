"""Bytes that coverage leads to, through what reads a trace: the IR parser, parts and the journal.

    python -m tests.guided_fuzz ir|part|journal CORPUS [options of libFuzzer]

needs atheris, which no test does. CORPUS is filled with seeds of the fixtures first. A case has to
end in time, in little memory, and with what was read or a sentence. Checksums that a mutation broke
are made right in half of the cases, or none would come past them. What is found is kept in
tests/ir/test_ir_fuzz.py and tests/schema.
"""

import sys
import tempfile
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["kvtrace.ir", "kvtrace.schema"]):
    from kvtrace.ir import parse, source_stack
    from kvtrace.schema import journal
    from kvtrace.schema.checksums import fill_checksum
    from kvtrace.schema.errors import KvtraceError
    from kvtrace.schema.journal import SegmentReader
    from kvtrace.schema.trace import open_trace
    from kvtrace.schema.validation import validate

import contextlib

from tests.ir.fuzz import seeds as texts

GOLDEN = Path(__file__).parents[1] / "kvtrace" / "schema" / "golden"
TABLES = ("runs", "kernels", "calls", "launches", "artifacts", "stacks")


def read_ir(data: bytes) -> None:
    """Parse a text, and ask each op where it is from."""
    for op in parse(data.decode("utf-8", "replace")).ops:
        source_stack(op)


def read_part(data: bytes) -> None:
    """Read and validate a trace in which one part is these bytes."""
    table, resealed, content = TABLES[data[0] % len(TABLES)], data[0] >= 128, data[1:]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        part = out / table / "run=20260101-000000-1-aaaaaaaa" / "part-00000.parquet"
        part.parent.mkdir(parents=True)
        part.write_bytes(content)
        if resealed:
            with contextlib.suppress(AssertionError):  # it has no room for one
                fill_checksum(part)
        validate(out)
        trace = open_trace(out)
        for name in TABLES:
            trace.table(name)


def read_journal(data: bytes) -> None:
    """Read all batches of a segment that is these bytes."""
    content = bytearray(data[1:])
    if data[0] >= 128:
        _reseal(content)
    with tempfile.NamedTemporaryFile(suffix=".segment") as file:
        file.write(content)
        file.flush()
        with SegmentReader(Path(file.name)) as reader:
            for batch in reader:
                batch.validate(full=True)
            assert reader.lost is not None


def _reseal(content: bytearray) -> None:
    """Make the checksums of frames right, in place."""
    head, total, magic = journal._HEAD, journal._HEAD_BYTES, journal._MAGIC
    place = content.find(magic)
    while 0 <= place <= len(content) - total:
        *fields, _ = head.unpack_from(content, place)
        end = place + total + fields[-1]
        head.pack_into(content, place, *fields, zlib.crc32(content[place + total : end]))
        journal._SUM.pack_into(
            content, place + head.size, zlib.crc32(content[place : place + head.size])
        )
        place = content.find(magic, place + total)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "ir": read_ir,
    "part": read_part,
    "journal": read_journal,
}


def _kinds(path: Path) -> tuple[int, int]:
    """First bytes of a case: which table its file is of, checksums as they are and made right."""
    kind = next((n for n, name in enumerate(TABLES) if name in str(path.relative_to(GOLDEN))), 0)
    return kind, 132 + kind  # 132 is a multiple of their number


def write_seeds(target: str, corpus: Path) -> None:
    """Fill the corpus with what compilers and writers made."""
    corpus.mkdir(parents=True, exist_ok=True)
    if target == "ir":
        found = [text.encode() for text in texts()]
    else:
        pattern = "*.parquet" if target == "part" else "*.arrows"
        files = [path for path in GOLDEN.rglob(pattern) if path.stat().st_size < 1 << 16]
        found = [bytes([kind]) + path.read_bytes() for path in files for kind in _kinds(path)]
    for content in found:
        (corpus / sha256(content).hexdigest()).write_bytes(content)


def main() -> None:
    """Fuzz until libFuzzer is told to stop, or has found something."""
    target, corpus = sys.argv[1:3]
    write_seeds(target, Path(corpus))
    read = TARGETS[target]

    def one_input(data: bytes) -> None:
        if data:
            with contextlib.suppress(KvtraceError):
                read(data)

    atheris.Setup(["guided_fuzz", corpus, *sys.argv[3:]], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
