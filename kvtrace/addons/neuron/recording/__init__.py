"""The backend of NKI: launches of kernels that run on NumPy, recorded like any other.

`launches.py` observes launches and records kernels and calls, `call_tables.py` keeps what each
unique call did while it ran, `rows.py` makes the rows of it, `definitions.py` has the added tables,
`watching.py` is kvtrace.trace. May import capture and `kvtrace.addons.neuron`.
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtrace.addons.neuron.recording.launches import Launches
    from kvtrace.addons.neuron.recording.watching import WatchedKernel
    from kvtrace.capture.session import Session

__all__ = ["BACKEND", "NkiBackend"]


class NkiBackend:
    """Listens to this add-on's kernels, under whichever name they were imported."""

    name: Final = "nki"
    #: Not the package: finding a replacement imports that, while Python holds its import lock.
    libraries: Final = ("kvtrace.addons.neuron.launching",)

    def __init__(self) -> None:
        self._launches: Launches | None = None

    @property
    def launches(self) -> "Launches | None":
        """What the recording in progress has of NKI kernels."""
        return self._launches

    def install(self, session: "Session") -> None:
        """Observe launches from now on."""
        from kvtrace.addons.neuron import launching
        from kvtrace.addons.neuron.recording.launches import Launches

        self._launches = Launches(session)
        launching.listeners.append(self._launches)

    def uninstall(self) -> None:
        """Observe no more."""
        from kvtrace.addons.neuron import launching

        if self._launches in launching.listeners:
            launching.listeners.remove(self._launches)
        self._launches = None

    def watcher(
        self, client: Any, session_of: "Callable[[str], Session]"
    ) -> "Callable[[Any], WatchedKernel]":
        """Return what makes a watched kernel of a kernel; see `WatchingBackend`."""
        from kvtrace.addons.neuron.recording.watching import WatchedKernel

        return lambda kernel: WatchedKernel(kernel, client, session_of)


BACKEND: Final = NkiBackend()
