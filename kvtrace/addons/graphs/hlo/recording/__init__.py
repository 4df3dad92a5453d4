"""The backend of traced NumPy functions: each graph is a kernel, each call of it a launch.

`calls.py` observes calls, records graphs and calls, and makes the rows of `graph_ops` and `ops`.
May import capture and `kvtrace.hlo`.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kvtrace.addons.graphs.hlo.recording.calls import GraphCalls
    from kvtrace.capture.session import Session

__all__ = ["BACKEND", "NumpyBackend"]


class NumpyBackend:
    """The backend that observes functions traced by `kvtrace.hlo`."""

    name: Final = "numpy"
    libraries: Final = ("kvtrace.addons.graphs.hlo.traced",)

    def __init__(self) -> None:
        self._calls: GraphCalls | None = None

    def install(self, session: "Session") -> None:
        """Add an observer of calls for the session."""
        from kvtrace.addons.graphs.hlo.recording.calls import GraphCalls
        from kvtrace.addons.graphs.hlo.traced import listeners

        self._calls = GraphCalls(session)
        listeners.append(self._calls)

    def uninstall(self) -> None:
        """Remove the observer of calls, if there is one."""
        from kvtrace.addons.graphs.hlo.traced import listeners

        if self._calls in listeners:
            listeners.remove(self._calls)
        self._calls = None


BACKEND: Final = NumpyBackend()
