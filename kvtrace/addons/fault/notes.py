"""The note on GPU dumps in a trace, for `kvtrace info` and the report."""

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kvtrace.addons.fault.starting import FOLDER, SUFFIX
from kvtrace.text import plural

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


def dump_notes(trace: "Trace", runs: "Sequence[Run]") -> "Iterator[str]":
    """Yield a sentence if the trace has dumps; `runs` are those that are shown."""
    del runs  # which run a dump is of is known once it is read, which a note is not to wait for
    count = sum(1 for _ in (trace.path / FOLDER).glob(f"*{SUFFIX}"))
    if count:
        yield (
            f"{plural(count, 'dump')} of a GPU that failed or was stopped: "
            f"kvtrace fault {shlex.quote(str(trace.path))} names the kernel, line and argument"
        )
