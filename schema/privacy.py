"""What each column of the format tells of the program and the people who ran it.

A column says it where it is defined (`private=`); `LEAVES` has all of them, and every field of a
column that has fields: what private thing it may hold, and what takes its place when a trace is
redacted.
"""

from collections.abc import Mapping
from typing import Any, Final

from kvtrace.schema.layout import OBSERVED
from kvtrace.schema.private import ATTRIBUTES, OPEN, Leaf, Private
from kvtrace.schema.tables import TABLES

LEAVES: Final[dict[str, dict[str, Leaf]]] = {
    table.name: {
        path: private or OPEN for column in table.columns for path, _, private in column.leaves()
    }
    for table in TABLES.values()
}

#: Tables whose rows mean nothing without what they hold; they go where that is left out.
ROWS: Final[dict[str, frozenset[Private]]] = {
    **dict.fromkeys(
        ("contents", "checked_launches", "checked_memory", "digests", "non_finite"),
        frozenset[Private](("tensors",)),
    ),
    "graph_ops": ATTRIBUTES.holds,
}

#: Kinds of artifacts that are the IR's text: they are written again, without what is left out.
IR_KINDS: Final = frozenset({"ttir", "ttir_generic", "glir", "ttgir"})

_COMPILED: Final[frozenset[Private]] = frozenset(("source", "paths", "names"))

#: What other kinds of artifacts tell; one that is not here may tell all that any of these does.
ARTIFACTS: Final[dict[str, frozenset[Private]]] = {
    "source": frozenset(("source", "names")),
    "file": frozenset(("source", "names")),
    "tensor": frozenset(("tensors",)),
    **dict.fromkeys(("llir", "ptx", "amdgcn", "cubin", "hsaco", "hlo"), _COMPILED),
}
UNKNOWN_ARTIFACT: Final[frozenset[Private]] = _COMPILED | {"tensors"}

#: The setting of a pass whose results a run alone can make; those of others can be made again.
MADE_BY_THE_RUN: Final = {"while": "running"}


def made_by_the_run(name: str | None, settings: Mapping[str, Any]) -> bool:
    """Tell whether a pass noted what cannot be made again, while the program ran."""
    return name == OBSERVED or MADE_BY_THE_RUN.items() <= settings.items()
