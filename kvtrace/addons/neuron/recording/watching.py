"""`kvtrace.trace(kernel, backend="nki")`: an NKI kernel whose launches are recorded as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.neuron import newer, older
from kvtrace.addons.neuron.launching import Kernel
from kvtrace.addons.neuron.recording import BACKEND
from kvtrace.addons.neuron.recording.call_tables import joined_tables
from kvtrace.addons.neuron.recording.definitions import (
    BUFFERS,
    CALLS,
    EXECUTIONS,
    ITERATIONS,
    LOOPS,
    OPS,
    VALUES,
)
from kvtrace.schema.errors import BadSetting

if TYPE_CHECKING:
    import pyarrow as pa

    from kvtrace.capture.session import Session

#: Client → its tables. Other clients need IR, which NKI kernels do not have.
CLIENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "tracer": ("accesses", BUFFERS.name, EXECUTIONS.name, ITERATIONS.name, VALUES.name),
    "profiler": ("ops", "loops", OPS.name, CALLS.name, LOOPS.name),
    "sanitizer": ("findings",),
}


class WatchedKernel:
    """A kernel whose launches are recorded, by a new session if none is in progress."""

    def __init__(
        self, kernel: Any, client: Any, session: Callable[[str], Session], grid: Any = None
    ) -> None:
        """`kernel` is a kernel or a plain function; `session` starts the recording for a name.

        Raises:
            BadSetting: the client does not support NKI kernels.
        """
        if client is not None and client not in CLIENTS:
            raise BadSetting(
                f"clients of NKI kernels are {', '.join(CLIENTS)}; there is no {client!r}"
            )
        self._kernel = kernel if isinstance(kernel, Kernel) else _kernel_of(kernel)
        self._client = client
        self._session = session
        self._grid = grid
        self.__doc__ = self._kernel.__doc__

    def __getitem__(self, grid: Any) -> WatchedKernel:
        return WatchedKernel(self._kernel, self._client, self._session, grid)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launch the kernel, start a recording if none is in progress, and return the results."""
        self._session(self._kernel.__name__)
        kernel = self._kernel if self._grid is None else self._kernel[self._grid]
        return kernel(*args, **kwargs)

    def tables(self) -> dict[str, pa.Table]:
        """Return the tables (of the client, if any) of the calls so far, and their `stacks`."""
        launches = BACKEND.launches
        calls = [] if launches is None else launches.observed(self._kernel.function)
        tables = joined_tables(calls)
        if self._client is None:
            return tables
        return {name: tables[name] for name in (*CLIENTS[self._client], "stacks")}


def _kernel_of(function: Callable[..., Any]) -> Kernel:
    """Return a plain function as a kernel of the interface whose modules the function imports."""
    names = (getattr(value, "__name__", "") for value in function.__globals__.values())
    is_newer = any(name.startswith((newer.__name__, "nki.")) or name == "nki" for name in names)
    kernel: Kernel = (newer if is_newer else older).jit(function)
    return kernel
