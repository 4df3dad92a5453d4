"""The device timeline: CUPTI's records of kernel executions, joined to launches (mode timeline).

`library` finds and calls CUPTI, `_buffers` (C) receives CUPTI's buffers without Python's lock,
`records` reads the buffers, `joining` finds the launch of each execution, and `timeline` connects
these parts for a session. May import capture and schema. A failure ends the timeline with one
message; launches are still recorded, and the program is not affected.

CUPTI knows nothing of Triton's launches, so order decides: a stream runs kernels in the order of
their launches. Between two moments at which a stream is idle with nothing pending, the launches
that returned and the executions with a launch's name and grid are two lists; if they agree entry by
entry, and no execution begins before its launch, they are joined. On a stream that is never idle, a
prefix of thousands of agreeing pairs is. Kernels of a graph's replay, in the order of their nodes,
are joined to the launches that were captured into the graph just before, or else into the only one
that fits. What does not fit stays without a launch. CUPTI is left to torch.profiler while that
runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtrace.backends.cupti.timeline import Timeline
    from kvtrace.capture.session import Session


def device_timeline(session: Session) -> Timeline:
    """Start and return the device timeline of a session.

    Raises:
        KvtraceError: the timeline is not possible here; the message gives the reason.

    """
    from kvtrace.backends.cupti.timeline import Timeline

    return Timeline(session)
