"""The last line of a recorded program that launched no kernel, or that ended for want of a GPU.

Only the process that began the recording reports that no kernel was launched, and not where a
process that it started recorded one, or a warning gave the reason.
"""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kvtrace.capture.groups import VARIABLE, number
from kvtrace.capture.host_devices import has_accelerator
from kvtrace.capture.messages import chain_of
from kvtrace.schema.layout import first_run_id
from kvtrace.surroundings import print_error

if TYPE_CHECKING:
    from kvtrace.capture.session import Session

#: Words of errors for want of a GPU; a "CUDA error" is of one that exists.
_GPU: Final = re.compile(r"cuda(?! error)|nvidia|\bgpus?\b|accelerator", re.IGNORECASE)
#: Values of `KVTRACE_DEVICE` with which the user has decided already.
_CHOSEN: Final = ("cpu", "none")
_HELP: Final = frozenset({"-h", "--help", "--version"})


def print_closing_line(
    session: "Session | None", out: str, began_ns: int, error: BaseException | None
) -> None:
    """Print at most one line on standard error, as the process ends.

    Args:
        session: the recording; None if no library was imported whose kernels are recorded.
        out: the folder of the trace.
        began_ns: when the process began, in ns since 1970: runs in the folder that are newer are
            those of processes that it started.
        error: the exception that ended the program; None if none did.

    """
    if number(os.environ, "RANK"):
        return
    if error is not None and _needs_gpu(error) and _lacks_gpu(session):
        print_error(f"this machine has no GPU; {_REMEDY}")
    elif _should_have_launched(session, out, began_ns):
        print_error(_nothing_launched(session, out, error))


_REMEDY: Final = (
    "a program that needs one runs with KVTRACE_DEVICE=cpu, by which torch reports a GPU whose "
    "tensors lie in the host's memory"
)


def _nothing_launched(session: "Session | None", out: str, error: BaseException | None) -> str:
    kernels = "*" if session is None else session.settings.kernels
    which = "" if kernels == "*" else f" that KVTRACE_KERNELS={kernels} selects"
    has_run = session is not None and session.run_id is not None
    text = f"no kernel{which} was launched" + ("" if has_run else f", so nothing is in {out}")
    if error is not None:
        return f"{text}: {type(error).__name__} ended the program"
    if which:
        return text
    if "triton" not in sys.modules:
        text += "; the program did not import Triton, whose kernels are what is recorded"
        if "torch" in sys.modules:
            text += " (those of torch.compile, too, but no other operator of torch)"
    elif "torch._inductor.codegen.cpp" in sys.modules:
        text += "; torch.compile's code for tensors on the CPU is C++, which is not recorded"
    elif session is not None and session.settings.device == "cpu":
        text += "; without a GPU, kernels of Triton alone are recorded, not torch's operators"
    return f"{text}; this machine has no GPU: {_REMEDY}" if _lacks_gpu(session) else text


def _should_have_launched(session: "Session | None", out: str, began_ns: int) -> bool:
    """Return whether the lack of launches is not what the user asked for, and was not reported."""
    return (
        (session is None or session.has_launched_nothing)
        and _began_recording()
        and not _HELP.intersection(sys.argv[1:])
        and "kvtrace.cli" not in sys.modules
        and not any(_new_run_ids(out, began_ns))
    )


def _began_recording() -> bool:
    """Return whether no other process passed the group on; a process keeps its number in exec."""
    group = os.environ.get(VARIABLE)
    return group is None or group.partition("-")[0] == f"{os.getpid():x}"


def _new_run_ids(out: str, began_ns: int) -> Iterator[str]:
    """Yield the runs in a trace, finished or not, that began after this process did."""
    oldest = first_run_id(began_ns)
    for folder in ("runs", ".journal"):
        try:
            entries = list(Path(out, folder).iterdir())
        except OSError:
            continue
        run_ids = (entry.name.partition("=")[2] for entry in entries)
        yield from (run_id for run_id in run_ids if run_id >= oldest)


def _lacks_gpu(session: "Session | None") -> bool:
    """Return whether torch is imported, and `KVTRACE_DEVICE=cpu` would make it report a GPU."""
    torch: Any = sys.modules.get("torch")
    device = os.environ.get("KVTRACE_DEVICE") if session is None else session.settings.device
    return torch is not None and device not in _CHOSEN and not has_accelerator(torch)


def _needs_gpu(error: BaseException) -> bool:
    """Return whether an exception, or one that it came from, is about a GPU."""
    causes = (link for link in chain_of(error) if isinstance(link, Exception))
    return any(_GPU.search(str(link)) for link in causes)
