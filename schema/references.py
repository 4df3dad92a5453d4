"""References: columns that name rows of another table of the same run."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.tables import TABLES

if TYPE_CHECKING:
    from kvtrace.schema.trace import Trace


@dataclass(frozen=True, slots=True)
class Reference:
    """A column whose values must be found in another table of the same run.

    Of a column of lists of entries, `field` is the field of an entry with the value.
    """

    table: str
    column: str
    target: str
    key: str
    field: str | None = None

    def referenced_values(self, trace: "Trace", run_id: str) -> Iterator[pa.Array]:
        """Yield the distinct values of each piece of the column; errors as `Trace.table`."""
        for piece in trace.pieces(self.table, [run_id], [self.column]):
            column = piece.column(self.column)
            if self.field is not None:
                column = pc.struct_field(pc.list_flatten(column.combine_chunks()), self.field)
            values = pc.unique(column).drop_null()
            # Dictionaries differ from piece to piece.
            yield values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


#: Tables with rows about single launches.
_LAUNCH_TABLES: Final = (
    "contents", "checked_launches", "checked_memory", "digests", "non_finite", "checks",
    "tensor_statistics",
)  # fmt: skip
#: Tables with rows about unique calls.
_CALL_TABLES: Final = (
    "launches", "gpu_kernels", "ops", "accesses", "loops", "findings", *_LAUNCH_TABLES,
)  # fmt: skip

REFERENCES: Final = (
    Reference("calls", "kernel_id", "kernels", "kernel_id"),
    *(Reference(table, "call_id", "calls", "call_id") for table in _CALL_TABLES),
    *(Reference(table, "seq", "launches", "seq") for table in _LAUNCH_TABLES),
    Reference("checked_memory", "seq", "checked_launches", "seq"),
    Reference("gpu_kernels", "launch_seq", "launches", "seq"),
    Reference("contents", "artifact", "artifacts", "sha256"),
    Reference("checked_memory", "artifact", "artifacts", "sha256"),
    *(
        Reference(table.name, "stack_id", "stacks", "stack_id")
        for table in TABLES.values()
        if table.name != "stacks" and "stack_id" in table.schema.names
    ),
    Reference("gpu_kernels", "forward_stack_id", "stacks", "stack_id"),
    Reference("operations", "operator_id", "operators", "operator_id"),
    Reference("kernels", "source_artifact", "artifacts", "sha256"),
    Reference("kernels", "files", "artifacts", "sha256", "artifact"),
    Reference("stacks", "files", "artifacts", "sha256", "artifact"),
    Reference("kernels", "stages", "artifacts", "sha256", "artifact"),
    Reference("calls", "args", "artifacts", "sha256", "value_artifact"),
)


def artifacts_named(trace: "Trace", run_id: str) -> set[str]:
    """Return the hashes of all artifacts that a run's rows refer to; errors as `Trace.table`."""
    return {
        digest
        for reference in REFERENCES
        if reference.target == "artifacts"
        for piece in reference.referenced_values(trace, run_id)
        for digest in piece.to_pylist()
    }
