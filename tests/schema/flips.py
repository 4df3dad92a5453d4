"""Flip single bits in the files of a trace, and see whether `validate` finds each that matters.

    python -m tests.schema.flips --count 1000 --seed 14

writes a trace with every table, sealed and journalled, flips bits all over its files, one at a
time, and ends with 1 if one changes what is read of the trace and `validate` does not say so, or
if what is lost is more than the batch of the journal, or the part, that the bit lies in.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import JOURNAL
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.writer import RunWriter
from tests.schema.make_golden import write_golden
from tests.schema.rows import plain
from tests.schema.written_runs import add_calls, launches

_BATCH = 40


@dataclass(frozen=True, slots=True)
class Flip:
    """One flipped bit: does it change what is read, is it found, is more lost than it may."""

    file: str
    byte: int
    bit: int
    changes: bool
    found: bool
    loses_more: bool

    @property
    def is_wrong(self) -> bool:
        """A trace with this bit flipped would deceive, or lose more than it must."""
        return self.loses_more or (self.changes and not self.found)


def write_trace(folder: Path) -> Path:
    """Write a trace with every table and a journal of many batches; return its directory."""
    write_golden(folder)
    out = folder / "trace"
    writer = RunWriter(out, "20260105-000000-000-00000000")
    writer.append_rows("runs", [{"host": "another-host", "pid": 1}])
    add_calls(writer)
    for first in range(0, 10 * _BATCH, _BATCH):
        writer.append("launches", launches(first, _BATCH))
        writer.flush()
    writer.close()
    return out


def flips(out: Path, count: int, seed: int) -> Iterator[Flip]:
    """Flip bits one at a time, in each file as often; the trace is whole again afterwards."""
    chance = random.Random(seed)
    files = sorted(path for path in out.rglob("*") if path.is_file() and path.name != ".reserve")
    before = {path: _read(out, path) for path in files}
    for number in range(count):
        path = files[number % len(files)]
        good = path.read_bytes()
        byte, bit = chance.randrange(len(good)), chance.randrange(8)
        bad = bytearray(good)
        bad[byte] ^= 1 << bit
        path.write_bytes(bad)
        try:
            found = any(problem.where == str(path) for problem in validate(out))
            after = _read(out, path)
        finally:
            path.write_bytes(good)
        changes = after != before[path]
        more = changes and found and _loses_more(out, path, before[path], after)
        yield Flip(str(path.relative_to(out)), byte, bit, changes, found, more)


def _read(out: Path, path: Path) -> list[dict[str, Any]] | str:
    """The rows of the table and run that a file belongs to, or why they cannot be read."""
    journalled = path.parent.parent.name == JOURNAL
    table = path.name.rpartition("-")[0] if journalled else path.parent.parent.name
    run_id = path.parent.name.removeprefix("run=")
    try:
        return plain(open_trace(out).table(table, [run_id]))
    except KvtraceError as error:
        return str(error)


def _loses_more(
    out: Path, path: Path, before: list[dict[str, Any]] | str, after: list[dict[str, Any]] | str
) -> bool:
    """Return whether more is lost than one batch of a journal."""
    if path.parent.parent.name != JOURNAL:
        return False  # a part is whole, or is not
    if isinstance(before, str) or isinstance(after, str):
        return True
    if path.name.startswith("runs"):
        return False  # an older row of the run takes its place
    kept = [row for row in before if row in after]
    return after != kept or len(before) - len(kept) > _BATCH


def main() -> int:
    """Run as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=14)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tried = list(flips(write_trace(Path(folder)), options.count, options.seed))
    wrong = [flip for flip in tried if flip.is_wrong]
    for flip in wrong:
        print(flip)
    found, changing = sum(f.found for f in tried), sum(f.changes for f in tried)
    print(
        f"{len(tried)} bits flipped in {len({flip.file for flip in tried})} files: {changing} "
        f"change what is read, {found} are found, {len(wrong)} are wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
