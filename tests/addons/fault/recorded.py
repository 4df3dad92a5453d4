"""Recorded faults: traces of planted_faults.py on an H100, with dumps that were made smaller."""

import random
from pathlib import Path

from kvtrace.addons.fault.dump.tables import Kind
from kvtrace.backends.compiled_kernels.elf import SectionTable

FAULTS = Path(__file__).parents[2] / "fixtures" / "faults"
#: Dumps alone, of other small programs, which `cuda-gdb` 13.0 was asked about before.
DUMPS = FAULTS / "dumps"
#: Offset of the field `exception` in rows of tables, as `cudacoredump.h` lays them out.
FIELDS = {Kind.PROCESSORS: 8, Kind.THREADS: 32}


def with_exception(content: bytes, number: int) -> bytes:
    """Return a dump whose exceptions are all replaced by another one."""
    table, changed = SectionTable(content), bytearray(content)
    for row in table.rows:
        kind, start, length, size = row[1], row[4], row[5], row[9]
        if kind in FIELDS:
            for at in range(start + FIELDS[kind], start + length, size):
                if any(changed[at : at + 4]):
                    changed[at : at + 4] = number.to_bytes(4, "little")
    return bytes(changed)


def mutated(whole: bytes, choose: random.Random) -> bytes:
    """Return a dump with some bytes changed, sometimes also cut off."""
    content = bytearray(whole)
    for _ in range(choose.choice((1, 1, 2, 8, 64))):
        content[choose.randrange(len(content))] = choose.randrange(256)
    if choose.random() < 0.2:
        del content[choose.randrange(len(content)) :]
    elif choose.random() < 0.3:  # in the table of sections, at the end
        content[-choose.randrange(1, 4096)] = choose.randrange(256)
    return bytes(content)
