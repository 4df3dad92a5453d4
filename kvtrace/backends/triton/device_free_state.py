"""What is installed where there is no GPU, and to which session its launches report."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kvtrace.backends.replacements import Replacements
    from kvtrace.backends.triton.free_driver import DeviceFreeDriver
    from kvtrace.backends.triton.launches import LaunchAdapter
    from kvtrace.capture.session import Session

#: The message of a run some kernels of which were compiled to TTIR alone.
STOPPED: Final = "stopped-at-ttir"

#: What every measurement gives: a time in ms that programs can divide by.
EQUAL_TIME: Final = 1.0


class _State:
    """What `device_free.install` changed in Triton, and the session that launches report to.

    Kernels outlive sessions, so a launch asks for the session when it has something to report.
    """

    create: Callable[[], Any] | None = None
    driver: "DeviceFreeDriver | None" = None
    session: "Session | None" = None
    adapter: "LaunchAdapter | None" = None  # records the calls of what launches were seen to do
    launchers: "Replacements | None" = None
    compiler: "list[Replacements]"
    watched: bool = False  # by clients that kvtrace.trace put around single kernels
    said_not_measured: bool = False  # that times of benchmarks mean nothing, to this session

    def __init__(self) -> None:
        self.compiler = []


state: Final = _State()


class _Preparing(threading.local):
    """Whether the running thread prepares a launch that is to follow, not a warm-up."""

    active = False


preparing: Final = _Preparing()
