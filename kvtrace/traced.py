"""`kvtrace.trace`: one kernel, watched by a client while the program runs."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from kvtrace import _boot
from kvtrace.capture import api

if TYPE_CHECKING:
    from kvtrace.backends.triton.traced_kernels import TracedKernel
    from kvtrace.capture.session import Session
    from kvtrace.clients.client import Client

#: Recordings of traced kernels alone.
_own_sessions: Final[weakref.WeakSet[Session]] = weakref.WeakSet()


@overload
def trace(
    kernel: None = None,
    *,
    client: str | Client | type[Client],
    out: str | os.PathLike[str] = "out",
    backend: Literal["triton"] = "triton",
) -> Callable[[Any], TracedKernel]: ...


@overload
def trace(
    kernel: Any = None,
    *,
    client: Any = None,
    out: str | os.PathLike[str] = "out",
    backend: str,
) -> Any: ...


def trace(
    kernel: Any = None,
    *,
    client: Any = None,
    out: str | os.PathLike[str] = "out",
    backend: str = "triton",
) -> Any:
    """Watch the launches of one kernel with a client, on a machine without a GPU.

        @kvtrace.trace(client="sanitizer")
        @triton.jit
        def scale(x, n, BLOCK: tl.constexpr): ...

    Each unique call is watched once. What the client finds is in `scale.tables()`, and is added
    to the run when it ends. A recording in progress is used; otherwise one of only the traced
    kernels begins in `out`. With a GPU, launches are recorded and `kvtrace replay --client` does
    the rest.

    With another `backend` it is a kernel of that one's, which says what `client` may be:

        scale = kvtrace.trace(kernel, backend="…")

    Args:
        kernel: The kernel; None: the result is a decorator.
        client: A client's name, class or object.
        out: Directory of the trace that is recorded where no recording is in progress.
        backend: What launches the kernel.

    Raises:
        BadSetting: there is no such client, or no such backend.

    """
    from kvtrace.capture.backends import watching_backend

    around = watching_backend(backend).watcher(client, lambda name: _session(out, name))
    return around if kernel is None else around(kernel)


def _session(out: str | os.PathLike[str], name: str) -> Session:
    """The recording in progress, or one of only the traced kernels."""
    going_on = api.current()
    if going_on is None:
        by_variable = _boot.out is not None
        going_on = api.start(out)
        if by_variable:
            return going_on
        going_on.settings = replace(going_on.settings, kernels=name)
        _own_sessions.add(going_on)
    elif going_on in _own_sessions and not going_on.settings.records_kernel(name):
        kernels = f"{going_on.settings.kernels},{name}"
        going_on.settings = replace(going_on.settings, kernels=kernels)
    return going_on
