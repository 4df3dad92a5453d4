"""Private contents of the format's columns, and their replacements when a trace is redacted.

The definition of a column in `tables.txt` says this; `LEAVES` lists all columns and fields of
columns, with the kinds of private contents and the replacement.
"""

from collections.abc import Mapping
from typing import Any, Final

from kvtrace.schema.layout import OBSERVED
from kvtrace.schema.private import OPEN, PRIVATE, Leaf, Private
from kvtrace.schema.tables import TABLES

LEAVES: Final[dict[str, dict[str, Leaf]]] = {
    table.name: {
        path: private or OPEN for column in table.columns for path, _, private in column.leaves()
    }
    for table in TABLES.values()
}

#: Tables whose rows are useless without these private contents, and are then left out.
ROWS: Final[dict[str, frozenset[Private]]] = {
    **dict.fromkeys(
        (
            "contents",
            "checked_launches",
            "checked_memory",
            "digests",
            "non_finite",
            "tensor_statistics",
        ),
        frozenset[Private](("tensors",)),
    ),
    "graph_ops": frozenset(("source", "names", "scalars", "tensors")),
}

#: Kinds of artifacts that are IR text, which is rewritten without private contents.
IR_KINDS: Final = frozenset(
    {"source_generic", "ttir", "ttir_generic", "glir", "ttgir", "ttgir_generic"}
)

_COMPILED: Final[frozenset[Private]] = frozenset(("source", "paths", "names"))

#: Private contents of other kinds of artifacts; an unknown kind may have all of them.
ARTIFACTS: Final[dict[str, frozenset[Private]]] = {
    "source": frozenset(("source", "names")),
    "file": frozenset(("source", "names")),
    "program": frozenset(PRIVATE),  # it may write down anything
    "tensor": frozenset(("tensors",)),
    **dict.fromkeys(("llir", "ptx", "amdgcn", "cubin", "hsaco", "hlo"), _COMPILED),
}
UNKNOWN_ARTIFACT: Final[frozenset[Private]] = _COMPILED | {"tensors"}

#: The setting of a pass whose results only the run can make; other passes can be run again.
MADE_BY_THE_RUN: Final = {"while": "running"}


def made_by_the_run(name: str | None, settings: Mapping[str, Any]) -> bool:
    """Return whether a pass ran while the program ran, so that it cannot be repeated."""
    return name == OBSERVED or MADE_BY_THE_RUN.items() <= settings.items()
