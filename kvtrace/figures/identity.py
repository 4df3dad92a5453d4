"""Identity of kernels: the one definition by which every output counts and sums kernels.

A kernel is a name in a module, whatever the source is: an edited program keeps its kernels.
A generated kernel is in no module, and is a name with a source text, since Inductor gives the same
name to unrelated kernels; the text's file differs from rank to rank.
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

#: Columns of `kernels` from which `with_source` makes the column `source`.
SOURCE_COLUMNS: Final = ("module", "source_artifact", "file")
#: The column `source` in SQL, for a row `k` of `kernels`.
SOURCE: Final = "CASE WHEN k.module IS NULL THEN coalesce(k.source_artifact, k.file) END"
#: Shown for a kernel without a name.
NO_NAME: Final = "(no name)"


class KernelKey(NamedTuple):
    """The identity of a kernel; fields that are not known are empty texts.

    Attributes:
        module: The module that defines the kernel; empty for a generated kernel.
        name: The function's name.
        source: The hash of a generated kernel's source, or the file if the source is not recorded.

    """

    module: str
    name: str
    source: str = ""


def key_of(row: Mapping[str, Any]) -> KernelKey:
    """Return the key of the kernel in a row of `kernels` with `name` and `SOURCE_COLUMNS`."""
    source = row["source_artifact"] or row["file"] if row["module"] is None else None
    return KernelKey(row["module"] or "", row["name"] or "", source or "")


def with_source(kernels: pa.Table) -> pa.Table:
    """Return `kernels` with a column `source`: generated kernels' hash or file, else null."""
    module, text, file = (without_dictionary(kernels[name]) for name in SOURCE_COLUMNS)
    source = pc.coalesce(text.cast(pa.string()), file.cast(pa.string()))
    return kernels.append_column(
        "source", pc.if_else(pc.is_null(module), source, pa.scalar(None, pa.string()))
    )


class Named(Protocol):
    """A row with a name, and a module and file by which equal names are distinguished."""

    @property
    def name(self) -> str:
        """The name, which may not be unique."""

    @property
    def module(self) -> str | None:
        """The module of a kernel, if known."""

    @property
    def file(self) -> str | None:
        """The source file, if known."""


def names_apart(rows: Sequence[Named]) -> list[str]:
    """Return the shown name of each row; to names that occur twice, "(module or file)" is added."""
    name_counts = Counter(row.name for row in rows)
    names = []
    for row in rows:
        origin = row.module or _short(row.file)
        is_ambiguous = name_counts[row.name] > 1 and origin is not None
        name = row.name or NO_NAME
        names.append(f"{name} ({origin})" if is_ambiguous else name)
    return names


def _short(file: str | None) -> str | None:
    if file is None:
        return None
    stem = PurePath(file).stem
    return stem[:HASH_SHOWN] if re.fullmatch(GENERATED, stem) else stem


def kernel_rows(trace: "Trace", runs: Sequence["Run"], columns: Sequence[str]) -> pa.Table:
    """Return columns of `kernels` and `run`; the derived column `source` may be among `columns`.

    Errors as `Trace.table`.
    """
    if "source" not in columns:
        return trace.table("kernels", runs, columns)
    stored = dict.fromkeys([*(name for name in columns if name != "source"), *SOURCE_COLUMNS])
    return with_source(trace.table("kernels", runs, list(stored))).select([*columns, "run"])
