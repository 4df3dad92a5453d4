"""`kvtrace.trace`: one kernel, watched by a client while the program runs."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from kvtrace import _boot
from kvtrace.capture import api
from kvtrace.clients.client import Client
from kvtrace.clients.registry import as_client
from kvtrace.schema.errors import BadSetting

if TYPE_CHECKING:
    import pyarrow as pa

    from kvtrace.capture.session import Session
    from kvtrace.clients.running import Member

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

    Each distinct call is watched once. What the client finds is in `scale.tables()`, and is added
    to the run when it ends. While a recording goes on it is used; else one of the traced kernels
    alone is begun in `out`. With a GPU, launches are recorded and `kvtrace replay --client` does
    the rest.

    With `backend="nki"` it is a kernel of NKI, and `client` is tracer, profiler, sanitizer, or left
    out for the tables of all of them:

        scale = kvtrace.trace(kernel, backend="nki")

    Raises:
        BadSetting: there is no such client, or no such backend.

    """
    around = _around(backend, client, out)
    return around if kernel is None else around(kernel)


def _around(backend: str, client: Any, out: str | os.PathLike[str]) -> Callable[[Any], Any]:
    """Return what makes a watched kernel of a backend of a kernel."""
    if backend == "nki":
        from kvtrace.nki.recording.watching import WatchedKernel

        return lambda kernel: WatchedKernel(kernel, client, lambda name: _session(out, name))
    if backend != "triton":
        raise BadSetting(f"kernels of the backends triton and nki are traced, not of {backend!r}")
    if client is None:
        raise BadSetting('a Triton kernel is traced by a client: client="sanitizer"')
    made = as_client(client)
    return lambda kernel: TracedKernel(kernel, made, out)


class TracedKernel:
    """A kernel with a client around it. All else (`warmup`, `fn` …) is the kernel's own."""

    def __init__(self, kernel: Any, client: Client, out: str | os.PathLike[str]) -> None:
        """Wrap what `@triton.jit` or `@triton.autotune` made."""
        self._kernel = kernel
        self._client = client
        self._out = out
        self._member: Member | None = None
        self._session: Session | None = None
        self.__doc__ = getattr(kernel, "__doc__", None)

    @property
    def client(self) -> Client:
        """The client that watches."""
        return self._client

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Return the launch function for a grid."""
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        """Launch the kernel, watched."""
        member = self._watching()
        if member is None:
            return self._kernel.run(*args, grid=grid, warmup=warmup, **kwargs)
        from kvtrace.backends.triton.watching import watched_by

        with watched_by([member]):
            return self._kernel.run(*args, grid=grid, warmup=warmup, **kwargs)

    def tables(self) -> dict[str, pa.Table]:
        """Return what the client has found of the recording's launches, by table.

        Raises:
            ClientFailed: the client's own code failed.

        """
        if self._member is None or self._session is None:
            return {}
        from kvtrace.backends.triton.watching import watch_of

        tables = watch_of(self._session).observation.tables(self._member)
        if self._member.error is not None:
            raise self._member.error
        return tables

    def _watching(self) -> Member | None:
        """Return the client as the recording knows it; our failure is none of the program's."""
        session = _session(self._out, _name(self._kernel))
        if session is self._session:
            return self._member
        try:
            from kvtrace.backends.triton import device_free
            from kvtrace.backends.triton.watching import watch_of

            device_free.state.watched = True
            (self._member,) = watch_of(session).observation.add([self._client])
            self._session = session
        except Exception as error:  # noqa: BLE001 - counted; the launch goes on unwatched
            session.problem(error)
            return None
        return self._member


def _session(out: str | os.PathLike[str], name: str) -> Session:
    """The recording that goes on, or one of the traced kernels alone."""
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


def _name(kernel: Any) -> str:
    """The name of the function at the bottom of a kernel and what is around it."""
    while not hasattr(kernel, "__name__") and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return str(getattr(kernel, "__name__", type(kernel).__name__))
