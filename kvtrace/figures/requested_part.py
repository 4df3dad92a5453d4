"""The options by which a user selects the part of the runs that figures cover; see `window.py`."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RequestedPart:
    """The part of the runs that a user asked for; by default the steady part.

    `since` and `until` are offsets from the runs' begin (`2s`, `1.5`, `300ms`), shares of the runs'
    duration (`50%`), or points in time (ISO 8601); `mark` is the name of a mark; `steps` is a range
    of steps, as `10:20`: from step 10 to 19, counted from 0. `whole` asks for all of the runs.
    """

    since: str | None = None
    until: str | None = None
    mark: str | None = None
    steps: str | None = None
    whole: bool = False


STEADY: Final = RequestedPart()
WHOLE: Final = RequestedPart(whole=True)
