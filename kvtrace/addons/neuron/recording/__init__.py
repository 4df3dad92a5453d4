"""The `nki` backend, which records launches of kernels that run on NumPy.

`launches.py` observes launches, those of kvtrace.trace too, records kernels and calls, and keeps
the first launch of each unique call, `rows.py` makes table rows from a launch, `definitions.py` has
the added tables. May import capture and `kvtrace.addons.neuron`.
"""

from typing import TYPE_CHECKING, Any, Final

from kvtrace.capture.listeners import ListeningBackend

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtrace.addons.neuron.recording.launches import Launches, WatchedKernel
    from kvtrace.capture.session import Session

__all__ = ["BACKEND"]


class NkiBackend(ListeningBackend):
    """The backend that observes launches of this add-on's kernels."""

    def watcher(
        self, client: Any, session_of: "Callable[[str], Session]"
    ) -> "Callable[[Any], WatchedKernel]":
        """Return a function that wraps a kernel as a `WatchedKernel` of the client."""
        from kvtrace.addons.neuron.recording.launches import WatchedKernel

        return lambda kernel: WatchedKernel(kernel, client, session_of)


def _launches(session: "Session") -> "Launches":
    from kvtrace.addons.neuron.recording.launches import Launches

    return Launches(session)


#: Not the package itself: looking up a stand-in imports the package under Python's import lock.
BACKEND: Final = NkiBackend("nki", "kvtrace.addons.neuron.launching", _launches)
