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

import os
import sys
import weakref
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kvtrace.backends.cupti.timeline import Timeline
    from kvtrace.capture.session import Session

#: Variable by which the driver is asked to write dumps on demand (KVTRACE_FAULTS).
_DUMPS: Final = "CUDA_ENABLE_USER_TRIGGERED_COREDUMP"


def device_timeline(session: Session) -> Timeline:
    """Start and return the device timeline of a session.

    Raises:
        KvtraceError: the timeline is not possible here; the message gives the reason.

    """
    # Where CUPTI was started, before or after the first context, kernels that failed or hung left
    # no dump within a minute; without it, within 2 s (H200, driver 580.159, CUPTI 13.0.1).
    if os.environ.get(_DUMPS):
        from kvtrace.schema.errors import KvtraceError

        raise KvtraceError(
            "launches are recorded without the device timeline, beside which CUDA's driver writes "
            "no dump of a fault or a hang; for times, record without KVTRACE_FAULTS"
        )
    from kvtrace.backends.cupti.timeline import Timeline

    return Timeline(session)


class DeviceBackend:
    """The backend that begins the device timeline when torch initializes CUDA.

    The timeline then has kernels that run before the first launch from Python, or without any.
    """

    name: Final = "device"
    libraries: Final = ("torch",)

    def install(self, session: Session) -> None:
        """Begin the timeline when torch initializes CUDA, or now if it has.

        Without torch, the first launch begins it.
        """
        torch = sys.modules.get("torch")
        call_when_begun = getattr(getattr(torch, "cuda", None), "_lazy_call", None)
        if call_when_begun is None or session.settings.mode != "timeline":
            return
        reference = weakref.ref(session)

        def begin() -> None:
            session = reference()
            if session is not None and session.recording:
                session.begin_timeline(device_timeline)

        call_when_begun(begin)  # at once if the device is in use already

    def uninstall(self) -> None:
        """Leave what torch was asked for: after the recording it does nothing."""


BACKEND = DeviceBackend()
