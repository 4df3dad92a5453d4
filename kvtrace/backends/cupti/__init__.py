"""When kernels ran on the device: CUPTI's records, joined to the launches (mode timeline).

`library` finds CUPTI and calls it, `_buffers` (C) takes its buffers without Python's lock,
`records` reads them, `joining` finds the launch of each kernel, and `timeline` does all of it for a
session. May import capture and schema; nothing here may harm the program: what fails ends the
timeline with one message, and launches are still recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtrace.backends.cupti.timeline import Timeline
    from kvtrace.capture.session import Session


def device_timeline(session: Session) -> Timeline:
    """Start what records when kernels run on the device.

    Raises:
        KvtraceError: it cannot be recorded here; the sentence says why.

    """
    from kvtrace.backends.cupti.timeline import Timeline

    return Timeline(session)
