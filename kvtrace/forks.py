"""Locks that a forked child can use. Every lock of kvtrace is of this class.

A fork copies the memory of all threads but runs only the thread that forked: a lock that another
thread held stays locked forever. So a child replaces every lock that another thread held. The data
guarded by such a lock may be half changed; so a fork first waits for the locks with `taken`, and
the child finds their data consistent.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Final

from kvtrace.surroundings import RLock

#: Seconds that a fork waits for all `taken` locks together. A disk that does not answer must not
#: hold up the program; the child then starts with new data.
PATIENCE: Final = 10.0


class Lock:
    """A re-entrant lock that is free in a forked child unless the forking thread held it.

    Args:
        taken: whether a fork waits until the lock is free, up to `PATIENCE` seconds.
        renewed: called in the child before other code, to repair the guarded data.
        wanted: called before a fork waits for the lock, so that its holder may hurry.

    """

    __slots__ = ("__weakref__", "_held", "_lock", "_renewed", "_taken", "_wanted")

    def __init__(
        self,
        *,
        taken: bool = False,
        renewed: Callable[[], None] | None = None,
        wanted: Callable[[], None] | None = None,
    ) -> None:
        self._lock = RLock()
        self._taken = taken
        self._renewed = renewed
        self._wanted = wanted
        self._held = False
        _locks.append(weakref.ref(self, _locks.remove))

    def acquire(self, timeout: float = -1) -> bool:
        """Return whether the lock was acquired within `timeout` seconds; -1 waits forever."""
        return self._lock.acquire(timeout=timeout)

    def release(self) -> None:
        """Release the lock, as `threading.RLock.release`."""
        self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()


_locks: list[weakref.ref[Lock]] = []


def locks() -> list[Lock]:
    """Return all locks of this class in the process."""
    return [lock for lock in (reference() for reference in list(_locks)) if lock is not None]


def _before() -> None:
    until = time.monotonic() + PATIENCE
    for lock in locks():
        if lock._taken:
            if lock._wanted is not None:
                lock._wanted()
            lock._held = lock.acquire(max(until - time.monotonic(), 0))


def _after_in_parent() -> None:
    for lock in locks():
        if lock._held:
            lock._held = False
            lock.release()


def _after_in_child() -> None:
    all_locks = locks()
    for lock in all_locks:
        if lock._held:
            lock._held = False
            lock.release()
        if lock._lock.acquire(blocking=False):  # free, or held by the thread that forked
            lock._lock.release()
        else:
            lock._lock = RLock()
    for lock in all_locks:
        if lock._renewed is not None:
            lock._renewed()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
