"""`kvtrace.trace(kernel, client=…)`: one of Triton's kernels, watched by a client."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from kvtrace.capture.session import Session
    from kvtrace.clients.client import Client
    from kvtrace.clients.running import Member


class TracedKernel:
    """A kernel watched by a client. Other attributes (`warmup`, `fn` …) are the kernel's own."""

    def __init__(self, kernel: Any, client: Client, session_of: Callable[[str], Session]) -> None:
        """Wrap a kernel; `session_of` returns the recording by the kernel's name at each launch."""
        self._kernel = kernel
        self._client = client
        self._session_of = session_of
        self._member: Member | None = None
        self._session: Session | None = None
        self.__doc__ = getattr(kernel, "__doc__", None)

    @property
    def client(self) -> Client:
        """The client that watches the kernel."""
        return self._client

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Return the launch function for a grid."""
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        """Launch the kernel while the client watches, and return the launch's result."""
        member = self._watching()
        if member is None:
            return self._kernel.run(*args, grid=grid, warmup=warmup, **kwargs)
        from kvtrace.backends.triton.watching import watched_by

        with watched_by([member]):
            return self._kernel.run(*args, grid=grid, warmup=warmup, **kwargs)

    def tables(self) -> dict[str, pa.Table]:
        """Return the client's results on the recording's launches, by table.

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
        """Return the client as a member of the current recording; None after an error."""
        session = self._session_of(_name(self._kernel))
        if session is self._session:
            return self._member
        try:
            from kvtrace.backends.triton.device_free_state import state
            from kvtrace.backends.triton.watching import watch_of

            state.watched = True
            (self._member,) = watch_of(session).observation.add([self._client])
            self._session = session
        except Exception as error:  # noqa: BLE001 - counted; the launch continues unwatched
            session.problem(error)
            return None
        return self._member


def _name(kernel: Any) -> str:
    """Return the name of the function inside a kernel and its wrappers."""
    while not hasattr(kernel, "__name__") and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return str(getattr(kernel, "__name__", type(kernel).__name__))
