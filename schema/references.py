"""References: columns that name rows of another table of the same run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.tables import TABLES

if TYPE_CHECKING:
    from kvtrace.schema.trace import Trace


@dataclass(frozen=True, slots=True)
class Reference:
    """A column whose values must be found in another table of the same run."""

    table: str
    column: str
    target: str
    key: str
    values: Callable[[pa.ChunkedArray], pa.Array | pa.ChunkedArray]

    def named(self, trace: "Trace", run_id: str) -> Iterator[pa.Array]:
        """Yield the distinct values of the column in a run, by piece; errors as `Trace.table`."""
        for piece in trace.pieces(self.table, [run_id], [self.column]):
            values = pc.unique(self.values(piece.column(self.column))).drop_null()
            # Dictionaries differ from piece to piece.
            yield values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def itself(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column unchanged: the values themselves are references."""
    return column


def _field_of_entries(name: str) -> Callable[[pa.ChunkedArray], pa.Array]:
    return lambda column: pc.struct_field(pc.list_flatten(column.combine_chunks()), name)


#: Tables with rows about single launches.
_OF_LAUNCHES: Final = (
    "contents", "checked_launches", "checked_memory", "digests", "non_finite", "checks",
)  # fmt: skip

REFERENCES: Final = (
    Reference("calls", "kernel_id", "kernels", "kernel_id", itself),
    *(
        Reference(table, "call_id", "calls", "call_id", itself)
        for table in (
            "launches",
            "gpu_kernels",
            "ops",
            "accesses",
            "loops",
            "findings",
            *_OF_LAUNCHES,
        )
    ),
    *(Reference(table, "seq", "launches", "seq", itself) for table in _OF_LAUNCHES),
    Reference("checked_memory", "seq", "checked_launches", "seq", itself),
    Reference("gpu_kernels", "launch_seq", "launches", "seq", itself),
    *(
        Reference(table, "artifact", "artifacts", "sha256", itself)
        for table in ("contents", "checked_memory")
    ),
    *(
        Reference(table.name, "stack_id", "stacks", "stack_id", itself)
        for table in TABLES.values()
        if table.name != "stacks" and "stack_id" in table.schema.names
    ),
    Reference("kernels", "source_artifact", "artifacts", "sha256", itself),
    Reference("kernels", "files", "artifacts", "sha256", _field_of_entries("artifact")),
    Reference("kernels", "stages", "artifacts", "sha256", _field_of_entries("artifact")),
    Reference("calls", "args", "artifacts", "sha256", _field_of_entries("value_artifact")),
)


def artifacts_named(trace: "Trace", run_id: str) -> set[str]:
    """Return the hashes of all artifacts that a run's rows refer to; errors as `Trace.table`."""
    return {
        digest
        for reference in REFERENCES
        if reference.target == "artifacts"
        for piece in reference.named(trace, run_id)
        for digest in piece.to_pylist()
    }
