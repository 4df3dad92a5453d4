"""Kinds of private contents of columns, and actions that redact them."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

Private = Literal[
    "source", "paths", "names", "scalars", "tensors", "command", "host", "git", "marks"
]

#: All kinds that can be left out, in the order of listings.
PRIVATE: Final[tuple[Private, ...]] = get_args(Private)

Action = Literal["nothing", "text", "file", "name", "kernel", "parameter", "mark", "job", "digest",
                 "artifact", "stack", "literal", "settings", "facts"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Leaf:
    """Private contents of a column or field, and the action that redacts them.

    Actions: nothing (replaced by null), text (by "redacted"), file, name, kernel, parameter, mark
    and job (by a pseudonym, the same everywhere), digest (by another digest), artifact and stack
    (by the new id of the referenced row), literal, settings and facts (see `redaction.py`).
    """

    holds: frozenset[Private] = frozenset()
    action: Action = "nothing"


def leaf(holds: str, action: Action = "nothing") -> Leaf:
    """Return a `Leaf` with the kinds of private contents in `holds`, separated by spaces."""
    kinds = frozenset(kind for kind in PRIVATE if kind in holds.split())
    assert len(kinds) == len(holds.split())
    return Leaf(kinds, action)


OPEN: Final = Leaf()
ANYTHING: Final = leaf(" ".join(PRIVATE), "text")
FREE_TEXT: Final = leaf("source paths names scalars tensors", "text")
#: Addresses of memory: values of arguments that are pointers.
ADDRESSES: Final = leaf("scalars")
STACK: Final = leaf("paths names", "stack")
NAMED: Final = leaf("names", "name")
PARAMETER_NAMED: Final = leaf("names", "parameter")
FILE: Final = leaf("paths", "file")
ARTIFACT: Final = leaf("source paths names tensors", "artifact")
ATTRIBUTES: Final = leaf("source names scalars tensors")
