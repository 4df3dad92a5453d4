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


OPEN: Final = Leaf()
