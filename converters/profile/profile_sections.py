"""Sections of a profile from add-ons and other packages: the group `kvtrace.profile_sections`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvtrace import registry

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class ProfileSection:
    """A reader of rows of plain data (dataclasses), and a writer of their table for a terminal.

    In the profile's JSON the rows are a list under the name of the section's entry.
    """

    read: "Callable[[Trace, Sequence[Run]], tuple[Any, ...]]"
    text: Callable[[Sequence[Any], int], list[str]]


def profile_sections() -> dict[str, ProfileSection]:
    """Return every section, by its name."""
    return dict(registry.loaded("profile_sections"))
