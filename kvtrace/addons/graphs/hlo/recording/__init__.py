"""The backend of traced NumPy functions: each graph is a kernel, each call of it a launch.

`calls.py` observes calls, records graphs and calls, and makes the rows of `graph_ops` and `ops`.
May import capture and `kvtrace.hlo`.
"""

from typing import TYPE_CHECKING, Final

from kvtrace.capture.listeners import ListeningBackend

if TYPE_CHECKING:
    from kvtrace.addons.graphs.hlo.recording.calls import GraphCalls
    from kvtrace.capture.session import Session

__all__ = ["BACKEND"]


def _graph_calls(session: "Session") -> "GraphCalls":
    from kvtrace.addons.graphs.hlo.recording.calls import GraphCalls

    return GraphCalls(session)


BACKEND: Final = ListeningBackend("numpy", "kvtrace.addons.graphs.hlo.traced", _graph_calls)
