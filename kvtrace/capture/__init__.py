"""Recording of a running program: session, launch hot path, arguments, stacks, run context, marks.

`api.py` defines `kvtrace.start/stop/capture/mark`; `session.py` is one recording;
`journal.py` is its background thread; `hot.py` and `_hot.c` are the launch hot path, twice;
backends call the session. Nothing here imports NumPy or pyarrow before the first launch.
May import `kvtrace.schema` and `kvtrace.settings` only.
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
