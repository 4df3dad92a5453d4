"""Which part of the runs a user wants figures of; `window.py` finds it."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Asked:
    """What part of the runs a user wants.

    `since` and `until` are offsets from when the runs began (`2s`, `1.5`, `300ms`), shares of them
    (`50%`), or points in time (ISO 8601); `mark` is the name of a mark; `steps` are places in the
    steps that are found, as `10:20`: from the one to before the other, counted from 0.
    """

    since: str | None = None
    until: str | None = None
    mark: str | None = None
    steps: str | None = None
    whole: bool = False


STEADY: Final = Asked()
WHOLE: Final = Asked(whole=True)
