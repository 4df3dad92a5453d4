"""State of execution without a GPU: the changes made to Triton, and the session to report to."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kvtrace.surroundings import Local

if TYPE_CHECKING:
    from kvtrace.backends.replacements import Replacements
    from kvtrace.backends.triton.free_driver import DeviceFreeDriver
    from kvtrace.backends.triton.launches import LaunchAdapter
    from kvtrace.capture.session import Session

#: The code of the message that kernels of the run were compiled to TTIR alone.
STOPPED: Final = "stopped-at-ttir"

#: The result of every measurement: a time in ms that programs can divide by.
EQUAL_TIME: Final = 1.0


class _State:
    """The changes of `device_free.install` to Triton, and the session that launches report to.

    Kernels outlive sessions, so a launch reads the session from here when it has a report.
    """

    create: Callable[[], Any] | None = None
    driver: "DeviceFreeDriver | None" = None
    session: "Session | None" = None
    adapter: "LaunchAdapter | None" = None  # records the calls of launches with defects
    launchers: "Replacements | None" = None
    compiler: "list[Replacements]"
    watched: bool = False  # kvtrace.trace has put a client around a kernel
    has_reported_equal_times: bool = False  # the session has the message on benchmark times

    def __init__(self) -> None:
        self.compiler = []


state: Final = _State()


class _Preparing(Local):
    """A flag of the running thread: whether it compiles for a launch that follows."""

    active = False


preparing: Final = _Preparing()
