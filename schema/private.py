"""Kinds of private things that a column may hold, and what is done where one is left out."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

Private = Literal[
    "source", "paths", "names", "scalars", "tensors", "command", "host", "git", "marks"
]

#: Everything that can be left out, in the order in which it is listed.
PRIVATE: Final[tuple[Private, ...]] = get_args(Private)

Action = Literal["nothing", "text", "file", "name", "kernel", "parameter", "mark", "job", "digest",
                 "artifact", "stack", "literal", "settings", "facts"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a column or field may hold, and what is done to it where one of that is left out.

    Actions: nothing (null takes its place), text ("redacted"), file, name, kernel, parameter, mark
    and job (a name made up for it, the same wherever it occurs), digest (another one), artifact and
    stack (the new id of what is referred to), literal, settings and facts (see `redaction.py`).
    """

    holds: frozenset[Private] = frozenset()
    action: Action = "nothing"


def leaf(holds: str, action: Action = "nothing") -> Leaf:
    """Return what holds these private things, named with spaces between them."""
    found = frozenset(each for each in PRIVATE if each in holds.split())
    assert len(found) == len(holds.split())
    return Leaf(found, action)


OPEN: Final = Leaf()
ANYTHING: Final = leaf(" ".join(PRIVATE), "text")
FREE_TEXT: Final = leaf("source paths names scalars tensors", "text")
STACK: Final = leaf("paths names", "stack")
NAMED: Final = leaf("names", "name")
PARAMETER_NAMED: Final = leaf("names", "parameter")
FILE: Final = leaf("paths", "file")
ARTIFACT: Final = leaf("source paths names tensors", "artifact")
ATTRIBUTES: Final = leaf("source names scalars tensors")
