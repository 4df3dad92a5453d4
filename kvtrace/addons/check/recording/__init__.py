"""Recording of launches' memory and outputs for KVTRACE_CHECK, on the launch's stream.

`checking.py` selects launches, `memory_needed.py` determines the bytes to copy, `checks.py` copies
them, `graph_copies.py` copies for launches that are captured into graphs. `looking.py` and
`outputs.py` search the outputs of launches for NaNs and infinities, and compute digests:
`device_code.py` is the PTX of kvtrace's kernels,
`device_kernels.py` launches them, `device_answers.py` reads their answers, and `host_kernels.py`
computes the same in NumPy.

A storage is kept once, under the first argument that has it. If all storages of a launch take more
than 64 MiB, the parts that its tensors view are kept; if these do, the memory of up to eight
programs, the same ones each time, by evaluating their accesses. Equal contents are stored once. On
a GPU copies are enqueued on the launch's stream into 256 MiB of pinned memory, in CUDA graphs as
nodes that copy at the first replay. A launch that has contents and memory has one number in its row
for both. `tests/addons/check/recording/ptx_machine.py` runs the PTX without a GPU.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvtrace.addons.check.settings import checks_of

if TYPE_CHECKING:
    from kvtrace.backends.compiled_kernels.around import AroundLaunches
    from kvtrace.capture.session import Session


def around_launches(session: "Session") -> "Iterator[AroundLaunches]":
    """Yield the wrappers around a backend's launches that the setting `check` requires, if any."""
    checks = checks_of(session.settings)
    if checks.memory:
        from kvtrace.addons.check.recording.checking import LaunchSelector
        from kvtrace.addons.check.recording.checks import Checks

        yield LaunchSelector(session, session.copier(Checks))
    if checks.finite or checks.digest:
        from kvtrace.addons.check.recording.looking import OutputExaminer
        from kvtrace.addons.check.recording.outputs import Outputs

        yield OutputExaminer(session, session.copier(Outputs))
