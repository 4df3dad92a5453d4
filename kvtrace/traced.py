"""The function `kvtrace.trace`: a client watches one kernel while the program runs."""

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

    Each unique call is watched once. The client's results are in `scale.tables()`, and are added
    to the run at its end. A recording in progress is used; otherwise a recording of only the traced
    kernels begins in `out`. With a GPU, only launches are recorded; `kvtrace replay --client` then
    runs the client.

    With another `backend` the kernel is that backend's, which also defines what `client` may be:

        scale = kvtrace.trace(kernel, backend="…")

    Args:
        kernel: The kernel; None: the result is a decorator.
        client: A client's name, class or object.
        out: Directory of the trace if no recording is in progress.
        backend: Name of the backend that launches the kernel.

    Raises:
        BadSetting: the client or the backend does not exist.

    """
    from kvtrace.capture.backends import watching_backend

    watch = watching_backend(backend).watcher(client, lambda name: _session(out, name))
    return watch if kernel is None else watch(kernel)


def _session(out: str | os.PathLike[str], name: str) -> Session:
    """Return the recording in progress, or start a recording of only the traced kernels."""
    session = api.current()
    if session is None:
        by_variable = _boot.out is not None
        session = api.start(out)
        if by_variable:
            return session
        session.settings = replace(session.settings, kernels=name)
        _own_sessions.add(session)
    elif session in _own_sessions and not session.settings.records_kernel(name):
        kernels = f"{session.settings.kernels},{name}"
        session.settings = replace(session.settings, kernels=kernels)
    return session
