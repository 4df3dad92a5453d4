"""Observers of a recording, as the device timeline."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal


class Listener(Protocol):
    """An observer of a recording, called in the journal's thread, which may add rows."""

    def row(self, table: str, row: Mapping[str, Any]) -> None:
        """Observe a row before it is written."""

    def launches(self, columns: Mapping[str, Any], copied: Sequence[tuple[int, int, int]]) -> None:
        """Observe new launches: their columns of `launches`, and (copy number, seq, call id)."""

    def round(self, journal: "Journal") -> None:
        """Add rows that are ready; called at the end of each round."""

    def finish(self, journal: "Journal") -> None:
        """Add the last rows; called when the recording ends."""
