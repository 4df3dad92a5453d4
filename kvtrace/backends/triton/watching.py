"""Clients that watch launches on a machine without a GPU: for the mode ops, and kvtrace.trace.

The evaluating launcher reads the clients of a launch from `Watch.members`; `is_call` passes the
launch's call id to the clients afterwards. With a GPU nothing here is used: `kvtrace profile` does
the same from the files.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import triton

from kvtrace.clients.observation import Launch, Observation
from kvtrace.clients.registry import load_clients
from kvtrace.recorded_calls.compiled_code import CompiledFacts, compiled_code
from kvtrace.surroundings import Local

if TYPE_CHECKING:
    from kvtrace.capture.session import Session
    from kvtrace.clients.running import Member
    from kvtrace.evaluate import Argument, Observer
    from kvtrace.ir import Module

#: Clients that watch every launch in mode ops.
CLIENTS_OF_MODE: Final = ("tracer", "profiler", "sanitizer")


class Watch:
    """The observation of a session's launches, and the clients that watch all of them."""

    def __init__(self, session: Session) -> None:
        """Begin an observation, whose tables are written to the session's run at its end."""
        self.session = session
        self._everywhere: list[Member] | None = None
        self._compiled: weakref.WeakKeyDictionary[Module, CompiledFacts | None]
        self._compiled = weakref.WeakKeyDictionary()
        self.observation = Observation(session.message, session.problem)
        session.at_end.append(self._finish)

    def members(self, kernel: str) -> list[Member]:
        """Return the clients that watch launches of the kernel in the running thread.

        The clients of `watched_by`, and in mode ops `CLIENTS_OF_MODE`; [] for unrecorded kernels.
        """
        settings = self.session.settings
        if not self.session.records_launches or not settings.records_kernel(kernel):
            return []
        if self._everywhere is None:
            is_everywhere = settings.mode == "ops"
            clients = load_clients(CLIENTS_OF_MODE) if is_everywhere else []
            self._everywhere = self.observation.add(clients)
        thread_members: list[Member] = getattr(_chosen, "members", [])
        thread_names = {member.client.name for member in thread_members}
        return [
            *(m for m in self._everywhere if m.client.name not in thread_names),
            *thread_members,
        ]

    def execute(
        self,
        module: Module,
        arguments: Sequence[Argument],
        grid: tuple[int, int, int],
        observers: Sequence[Observer],
        members: Sequence[Member],
        *,
        kernel: str,
        identity: str,
        stage: Callable[[str], str | None],
        num_ctas: int,
    ) -> None:
        """Execute a launch in the evaluator, observed by clients that have not seen an equal one.

        `identity` is the compiler's hash; `stage` returns the text of a compiled stage by name.
        """

        def compiled() -> CompiledFacts | None:
            if module not in self._compiled:
                code = stage("ttgir"), stage("ptx"), num_ctas
                self._compiled[module] = compiled_code(module, *code, triton=triton.__version__)
            return self._compiled[module]

        launch = Launch(
            identity, kernel, grid, module, tuple(arguments), compiled, num_ctas, triton.__version__
        )
        self.observation.execute(launch, observers, members)

    def left_out(self, kernel: str, identity: str, reason: str) -> None:
        """Report to the clients that a kernel's launches are not watched, with the reason."""
        self.observation.left_out(kernel, identity, reason)

    def _finish(self) -> None:
        run_id = self.session.run_id
        if run_id is not None:
            self.observation.finish(self.session.out, run_id)


_chosen = Local()
_watches: weakref.WeakKeyDictionary[Session, Watch] = weakref.WeakKeyDictionary()


def watch_of(session: Session) -> Watch:
    """Return the watch of a session, made at the first call."""
    watch = _watches.get(session)
    if watch is None:
        watch = _watches[session] = Watch(session)
    return watch


def is_call(session: Session, call_id: int) -> None:
    """Set the call id of the running thread's last launch, if the session has a watch."""
    watch = _watches.get(session)
    if watch is not None:
        watch.observation.is_call(call_id)


def has_watched(session: Session) -> bool:
    """Return whether this process watched any launch of the session."""
    watch = _watches.get(session)
    return watch is not None and watch.observation.watched > 0


@contextmanager
def watched_by(members: list[Member]) -> Iterator[None]:
    """Add clients that watch the running thread's launches in the context."""
    outer: list[Member] = getattr(_chosen, "members", [])
    _chosen.members = [*outer, *members]
    try:
        yield
    finally:
        _chosen.members = outer
