"""The `nki` backend, which records launches of kernels that run on NumPy.

`launches.py` observes launches, those of kvtrace.trace too, records kernels and calls, and keeps
the first launch of each unique call, `rows.py` makes table rows from a launch, `definitions.py` has
the added tables. May import capture and `kvtrace.addons.neuron`.
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtrace.addons.neuron.recording.launches import Launches, WatchedKernel
    from kvtrace.capture.session import Session

__all__ = ["BACKEND", "NkiBackend"]


class NkiBackend:
    """The backend that observes launches of this add-on's kernels."""

    name: Final = "nki"
    #: Not the package itself: looking up a stand-in imports the package under Python's import lock.
    libraries: Final = ("kvtrace.addons.neuron.launching",)

    def __init__(self) -> None:
        self._launches: Launches | None = None

    @property
    def launches(self) -> "Launches | None":
        """The records of launches of the session in progress, or None."""
        return self._launches

    def install(self, session: "Session") -> None:
        """Add an observer of launches for the session."""
        from kvtrace.addons.neuron import launching
        from kvtrace.addons.neuron.recording.launches import Launches

        self._launches = Launches(session)
        launching.listeners.append(self._launches)

    def uninstall(self) -> None:
        """Remove the observer of launches, if there is one."""
        from kvtrace.addons.neuron import launching

        if self._launches in launching.listeners:
            launching.listeners.remove(self._launches)
        self._launches = None

    def watcher(
        self, client: Any, session_of: "Callable[[str], Session]"
    ) -> "Callable[[Any], WatchedKernel]":
        """Return a function that wraps a kernel as a `WatchedKernel` of the client."""
        from kvtrace.addons.neuron.recording.launches import WatchedKernel

        return lambda kernel: WatchedKernel(kernel, client, session_of)


BACKEND: Final = NkiBackend()
