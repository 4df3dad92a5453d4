"""What recording keeps of launches for KVTRACE_CHECK, on the launch's stream.

`checking.py` chooses launches, `memory_needed.py` says which bytes of them are kept, `checks.py`
copies them, into graphs by `graph_copies.py`. `looking.py` and `outputs.py` have every launch
checked for NaNs, infinities and digests: `device_code.py` is the PTX of kvtrace's kernels,
`device_kernels.py` launches them, `device_answers.py` reads what they answer, and `host_kernels.py`
is what they compute, in NumPy.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvtrace.addons.check.settings import checks_of

if TYPE_CHECKING:
    from kvtrace.backends.compiled_kernels.around import AroundLaunches
    from kvtrace.capture.session import Session


def around_launches(session: "Session") -> "Iterator[AroundLaunches]":
    """Return what wraps one backend's launches: what the setting `check` asks for."""
    asked = checks_of(session.settings)
    if asked.memory:
        from kvtrace.addons.check.recording.checking import Checking
        from kvtrace.addons.check.recording.checks import Checks

        yield Checking(session, session.copier(Checks))
    if asked.finite or asked.digest:
        from kvtrace.addons.check.recording.looking import Looking
        from kvtrace.addons.check.recording.outputs import Outputs

        yield Looking(session, session.copier(Outputs))
