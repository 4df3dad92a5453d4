"""Locks that a forked child can use. Every lock of kvtrace is one of these.

A fork copies the memory of all threads and runs only the one that forked: a lock that another held
is then held forever. So a child makes every lock again that it finds held by nobody who is there.
What such a lock guards may be half changed; a lock that is `taken` is therefore waited for before
the fork, so that the child finds it whole.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Final

#: Seconds that a fork waits for all `taken` locks together. A write to a disk that does not answer
#: must not hold up the program; the child then begins again with what it guards.
PATIENCE: Final = 10.0


class Lock:
    """A re-entrant lock, free in a forked child unless the thread that forked holds it itself.

    Args:
        taken: whether a fork waits until it is free, at most `PATIENCE`.
        renewed: called in the child, before anything else can be: puts right what it guards.

    """

    __slots__ = ("__weakref__", "_held", "_lock", "_renewed", "_taken")

    def __init__(self, *, taken: bool = False, renewed: Callable[[], None] | None = None) -> None:
        self._lock = threading.RLock()
        self._taken = taken
        self._renewed = renewed
        self._held = False
        _locks.append(weakref.ref(self, _locks.remove))

    def acquire(self, timeout: float = -1) -> bool:
        """Take the lock, as `threading.RLock.acquire`; seconds, -1 waits forever."""
        return self._lock.acquire(timeout=timeout)

    def release(self) -> None:
        """Release it, as `threading.RLock.release`."""
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
    """Return every lock of the process."""
    return [lock for lock in (known() for known in list(_locks)) if lock is not None]


def _before() -> None:
    until = time.monotonic() + PATIENCE
    for lock in locks():
        if lock._taken:
            lock._held = lock.acquire(max(until - time.monotonic(), 0))


def _after_in_parent() -> None:
    for lock in locks():
        if lock._held:
            lock._held = False
            lock.release()


def _after_in_child() -> None:
    found = locks()
    for lock in found:
        if lock._held:
            lock._held = False
            lock.release()
        if lock._lock.acquire(blocking=False):  # it is free, or held by the thread that forked
            lock._lock.release()
        else:
            lock._lock = threading.RLock()
    for lock in found:
        if lock._renewed is not None:
            lock._renewed()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
