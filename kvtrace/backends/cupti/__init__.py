"""The device timeline: CUPTI's records of kernel executions, joined to launches (mode timeline).

`library` finds and calls CUPTI, `_buffers` (C) receives CUPTI's buffers without Python's lock,
`records` reads the buffers, `joining` finds the launch of each execution, and `timeline` connects
these parts for a session. May import capture and schema. A failure ends the timeline with one
message; launches are still recorded, and the program is not affected.
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
