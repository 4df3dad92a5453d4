"""Sections of a profile from add-ons and other packages: the group `kvtrace.profile_sections`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvtrace import registry

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class ProfileSection:
    """A section of the profile from an add-on: two functions, `read` and `text`.

    `read` returns the section's rows (dataclasses) of some runs; the profile's JSON lists them
    under the section's name. `text` returns a table of rows as lines of at most a width.
    """

    read: "Callable[[Trace, Sequence[Run]], tuple[Any, ...]]"
    text: Callable[[Sequence[Any], int], list[str]]


def profile_sections() -> dict[str, ProfileSection]:
    """Return every section, by its name."""
    return dict(registry.loaded("profile_sections"))
