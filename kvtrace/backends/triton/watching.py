"""Clients that watch launches on a machine without a GPU: for the mode ops, and kvtrace.trace.

The evaluating launcher asks `watchers` who wants to watch; `is_call` tells them afterwards which
call it was. With a GPU nothing here is used: `kvtrace replay` does the same from the files.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import triton

from kvtrace.clients.observation import Launch, Observation
from kvtrace.clients.registry import load_clients
from kvtrace.recorded_calls.compiled_code import Compiled, compiled_code

if TYPE_CHECKING:
    from kvtrace.capture.session import Session
    from kvtrace.clients.running import Member
    from kvtrace.evaluate import Argument, Observer
    from kvtrace.ir import Module

#: What the mode ops fills in.
CLIENTS_OF_MODE: Final = ("tracer", "profiler", "sanitizer")


class Watch:
    """The observation of a session, and who watches every launch of it."""

    def __init__(self, session: Session) -> None:
        """Have what is found added to the session's run when it ends."""
        self.session = session
        self._everywhere: list[Member] | None = None
        self._compiled: weakref.WeakKeyDictionary[Module, Compiled | None]
        self._compiled = weakref.WeakKeyDictionary()
        self.observation = Observation(session.message, session.problem)
        session.at_end.append(self._finish)

    def members(self, kernel: str) -> list[Member]:
        """Return those who watch the launch of a kernel that the thread makes now."""
        settings = self.session.settings
        if not self.session.recording or not settings.records_kernel(kernel):
            return []
        if self._everywhere is None:
            everywhere = settings.mode == "ops"
            clients = load_clients(CLIENTS_OF_MODE) if everywhere else []
            self._everywhere = self.observation.add(clients)
        chosen: list[Member] = getattr(_chosen, "members", [])
        named = {member.client.name for member in chosen}
        return [*(m for m in self._everywhere if m.client.name not in named), *chosen]

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
        """Execute a launch; `identity` is the compiler's hash, `stage` reads what it compiled."""

        def compiled() -> Compiled | None:
            if module not in self._compiled:
                code = stage("ttgir"), stage("ptx"), num_ctas
                self._compiled[module] = compiled_code(module, *code, triton=triton.__version__)
            return self._compiled[module]

        launch = Launch(
            identity, kernel, grid, module, tuple(arguments), compiled, num_ctas, triton.__version__
        )
        self.observation.execute(launch, observers, members)

    def left_out(self, kernel: str, identity: str, reason: str) -> None:
        """Note a launch of a kernel that is not watched; `identity` is the compiler's hash."""
        self.observation.left_out(kernel, identity, reason)

    def _finish(self) -> None:
        run_id = self.session.run_id
        if run_id is not None:
            self.observation.finish(self.session.out, run_id)


_chosen = threading.local()
_watches: weakref.WeakKeyDictionary[Session, Watch] = weakref.WeakKeyDictionary()


def watch_of(session: Session) -> Watch:
    """Return the watch of a session, made when it is first asked for."""
    found = _watches.get(session)
    if found is None:
        found = _watches[session] = Watch(session)
    return found


def is_call(session: Session, call_id: int) -> None:
    """Note which call the thread's last launch was, when it is recorded for the first time."""
    found = _watches.get(session)
    if found is not None:
        found.observation.is_call(call_id)


def has_watched(session: Session) -> bool:
    """Whether any launch of the session was watched in this process."""
    found = _watches.get(session)
    return found is not None and found.observation.watched > 0


@contextmanager
def watched_by(members: list[Member]) -> Iterator[None]:
    """Have the launches that the thread makes inside watched by some clients, too."""
    before: list[Member] = getattr(_chosen, "members", [])
    _chosen.members = [*before, *members]
    try:
        yield
    finally:
        _chosen.members = before
