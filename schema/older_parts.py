"""Sums of dropped rows that count: those of parts that are there no more, and each part once.

Before a recording deletes a part of `launches` or `gpu_kernels`, it writes the part's sums; and of
several files of sums it makes one, before it deletes them. A process that is killed in between
leaves both. As long as the run is not sealed, its parts have the numbers that the sums name; when
it is, sums that do not count are removed, so that all that remain do.
"""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

from kvtrace.schema.layout import part_numbers, run_folder
from kvtrace.schema.parts import read_part
from kvtrace.schema.tables import TABLES

#: The tables of sums of dropped rows, by the table that had the rows.
OLDER_SUMS: Final = {"launches": "older_launch_sums", "gpu_kernels": "older_execution_sums"}
#: The numbers of the first and the last part that sums are of.
Parts = tuple[int, int]


def counting(found: Iterable[Parts], existing: Collection[int]) -> set[Parts]:
    """Return which sums count, given the numbers of the parts that exist."""
    counted: set[Parts] = set()
    last_counted = -1 << 32  # less than any number, also of another producer
    for first, last in sorted(set(found), key=lambda parts: (parts[0], -parts[1])):
        if first > last_counted and not any(first <= number <= last for number in existing):
            counted.add((first, last))
            last_counted = last
    return counted


def remove_uncounted(out: Path, run_id: str) -> None:
    """Remove sums that do not count, of a run that is about to be sealed.

    Raises:
        OSError: as of removing a file.
        DamagedFile, NewerFormat, OlderFormat: a file cannot be read.

    """
    for table, name in OLDER_SUMS.items():
        files = dict(_files(out, name, run_id))
        existing = part_numbers(run_folder(out, table, run_id))
        for parts in files.keys() - counting(files, existing):
            files[parts].unlink(missing_ok=True)


def _files(out: Path, name: str, run_id: str) -> Iterator[tuple[Parts, Path]]:
    """Yield the parts that the sums in each file are of, and the file's path."""
    for path in part_numbers(run_folder(out, name, run_id)).values():
        rows = read_part(path, TABLES[name], ["first_part", "last_part"]).slice(0, 1)
        for first, last in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            yield (first, last), path
