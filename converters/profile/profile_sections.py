"""Sections of a profile that add-ons and packages add: the group `kvtrace.profile_sections`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvtrace import registry

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class ProfileSection:
    """Rows of plain data (dataclasses), and tables of them for a terminal of a width.

    In the profile's JSON the rows are a list under the name of the section's entry.
    """

    read: "Callable[[Trace, Sequence[Run]], tuple[Any, ...]]"
    text: Callable[[Sequence[Any], int], list[str]]


def profile_sections() -> dict[str, ProfileSection]:
    """Return every section, by its name."""
    return dict(registry.loaded("profile_sections"))
