"""What a kernel is: the one definition that every output counts and sums kernels by.

A kernel is a name in a module, whatever its source is: a program that is edited keeps its kernels.
A generated kernel is in no module. It is a name with a source text, since Inductor gives one name
to kernels that have nothing else in common; the file of the text differs from rank to rank.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import without_dictionary

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Columns of `kernels` that the column `source` is made from.
SOURCE_COLUMNS: Final = ("module", "source_artifact", "file")
#: The same in SQL, of a row `k` of `kernels`.
SOURCE: Final = "CASE WHEN k.module IS NULL THEN coalesce(k.source_artifact, k.file) END"


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


def kernel_rows(trace: "Trace", runs: Sequence["Run"], columns: Sequence[str]) -> pa.Table:
    """Return columns of `kernels`, of which `source` is one where it is asked for.

    Errors as `Trace.table`.
    """
    if "source" not in columns:
        return trace.table("kernels", runs, columns)
    read = dict.fromkeys([*(name for name in columns if name != "source"), *SOURCE_COLUMNS])
    return with_source(trace.table("kernels", runs, list(read))).select([*columns, "run"])
