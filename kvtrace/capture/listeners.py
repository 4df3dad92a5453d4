"""Observers of a recording, as the device timeline; backends of libraries with such observers."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session


class ListeningBackend:
    """The backend of a library of kvtrace's, whose module has a list `listeners` of observers."""

    def __init__(self, name: str, library: str, make: "Callable[[Session], Any]") -> None:
        """`make` returns a session's observer; it is called when the library is imported."""
        self.name = name
        self.libraries = (library,)
        self._make = make
        #: The observer of the session in progress, or None.
        self.observer: Any = None

    def install(self, session: "Session") -> None:
        """Add an observer for the session."""
        self.observer = self._make(session)
        self._listeners.append(self.observer)

    def uninstall(self) -> None:
        """Remove the observer, if there is one."""
        if self.observer in self._listeners:
            self._listeners.remove(self.observer)
        self.observer = None

    @property
    def _listeners(self) -> list[Any]:
        listeners: list[Any] = sys.modules[self.libraries[0]].listeners
        return listeners


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
