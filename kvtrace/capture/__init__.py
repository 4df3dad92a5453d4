"""Recording of a running program: session, launch hot path, arguments, stacks, run context, marks.

`api.py` defines `kvtrace.start/stop/capture/mark`; `session.py` is one recording;
`journal.py` is its background thread; `_hot.c` is the launch hot path, whose interface is in
`hot.py`; backends call the session. Nothing here imports NumPy or pyarrow before the first launch.
May import `kvtrace.schema` and `kvtrace.settings` only.

    session = start(out, **settings)
    session.add_kernel(record_or_callable); session.add_call(kernel_id, grid, args)
    session.message(level, code, text)           # counted when repeated; warnings printed once
    session.recorder.wrap(function, adapter)     # the hot path around a launching function

A known call enters no Python function of kvtrace with the settings' defaults: C decides whether its
turn to be looked at has come, copies, and leaves the copy to the journal's thread.
`tests/backends/test_backends_known_calls.py` counts. C ignores torch's version counters of tensors,
as kernels write without changing them. A backend's adapter is asked for what the hot path has not
seen (`new_kernel`, `new_call`); capture and the boot line know no backend. Whatever fails in a hook
becomes a row of `messages`, and never reaches the user's program.

`copied_contents.py` copies what a launch's tensors hold, on a GPU only by enqueueing
(`device_copies.py`); the copy's number is in the launch's row. `windows.py` decides when launches
are recorded, `run_limits.py` which of them are written (`schema/sampled_rows.py`), after all
listeners of the journal's thread received them. `ends.py` handles ends that bypass Python's exit
functions.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from contextlib import AbstractContextManager

    from kvtrace.capture.session import Session


class _CallableFolder(ModuleType):
    """This package, callable: importing any module in it rebinds `kvtrace.capture` to it."""

    def __call__(
        self, out: "str | os.PathLike[str]", **settings: Any
    ) -> "AbstractContextManager[Session]":
        from kvtrace.capture.api import capture

        return capture(out, **settings)


sys.modules[__name__].__class__ = _CallableFolder
