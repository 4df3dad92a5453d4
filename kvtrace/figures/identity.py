"""What a kernel is: the one definition that every output counts and sums kernels by.

A kernel is a name in a module, whatever its source is: a program that is edited keeps its kernels.
A generated kernel is in no module. It is a name with a source text, since Inductor gives one name
to kernels that have nothing else in common; the file of the text differs from rank to rank.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.lines import GENERATED, HASH_SHOWN
from kvtrace.schema.columns import without_dictionary

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Columns of `kernels` that the column `source` is made from.
SOURCE_COLUMNS: Final = ("module", "source_artifact", "file")
#: The same in SQL, of a row `k` of `kernels`.
SOURCE: Final = "CASE WHEN k.module IS NULL THEN coalesce(k.source_artifact, k.file) END"
#: What a kernel without a name is called.
NO_NAME: Final = "(no name)"


class KernelKey(NamedTuple):
    """A kernel; parts that are not known are empty.

    Attributes:
        module: The module that defines it; empty of a generated kernel.
        name: Its function's name.
        source: The hash of a generated kernel's source, or its file where the source was not kept.

    """

    module: str
    name: str
    source: str = ""


def key_of(row: Mapping[str, Any]) -> KernelKey:
    """Return the kernel of a row of `kernels` that has `name` and `SOURCE_COLUMNS`."""
    source = row["source_artifact"] or row["file"] if row["module"] is None else None
    return KernelKey(row["module"] or "", row["name"] or "", source or "")


def with_source(kernels: pa.Table) -> pa.Table:
    """Return rows of `kernels` with a column `source`: null where the module says which it is."""
    module, text, file = (without_dictionary(kernels[name]) for name in SOURCE_COLUMNS)
    source = pc.coalesce(text.cast(pa.string()), file.cast(pa.string()))
    return kernels.append_column(
        "source", pc.if_else(pc.is_null(module), source, pa.scalar(None, pa.string()))
    )


class Named(Protocol):
    """What is shown by its name, and what says which of that name it is."""

    @property
    def name(self) -> str:
        """Its name, which others may have too."""

    @property
    def module(self) -> str | None:
        """The module of a kernel, where it is known."""

    @property
    def file(self) -> str | None:
        """The file that it comes from."""


def names_apart(rows: Sequence[Named]) -> list[str]:
    """Return what each is called: those of one name with their module, or their file's name."""
    number = Counter(row.name for row in rows)
    found = []
    for row in rows:
        which = row.module or _short(row.file)
        apart = number[row.name] > 1 and which is not None
        name = row.name or NO_NAME
        found.append(f"{name} ({which})" if apart else name)
    return found


def _short(file: str | None) -> str | None:
    if file is None:
        return None
    stem = PurePath(file).stem
    return stem[:HASH_SHOWN] if re.fullmatch(GENERATED, stem) else stem


def kernel_rows(trace: "Trace", runs: Sequence["Run"], columns: Sequence[str]) -> pa.Table:
    """Return columns of `kernels`, of which `source` is one where it is asked for.

    Errors as `Trace.table`.
    """
    if "source" not in columns:
        return trace.table("kernels", runs, columns)
    read = dict.fromkeys([*(name for name in columns if name != "source"), *SOURCE_COLUMNS])
    return with_source(trace.table("kernels", runs, list(read))).select([*columns, "run"])
