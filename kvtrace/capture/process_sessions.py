"""The sessions of this process, whose records are written if it ends without exit functions."""

import time
import weakref
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session

sessions: Final["weakref.WeakSet[Session]"] = weakref.WeakSet()


def watch_ends(session: "Session") -> None:
    """Install hooks that write all records if a process ends without Python's exit functions."""
    from kvtrace.capture import ends

    ends.before_exit(_seal_all)
    ends.before_exec(_flush_all)
    ends.before_sigterm(flush_after_signal)
    for watch in ends.watchers:
        watch(session)


def _seal_all() -> None:
    for session in list(sessions):
        session.stop("exit", hurry=True)


def _flush_all() -> None:
    for session in list(sessions):
        session.flush()


def flush_after_signal() -> None:
    """Write all records, with the ending "signal", to the operating system as a signal ends it."""
    for session in list(sessions):
        journal = session._journal
        if journal is None:
            continue
        if not journal.ended:  # else another thread seals the journal
            journal.submit(_note_signal)
        journal.flush()


def _note_signal(journal: "Journal") -> None:
    journal.add("runs", {"ended": time.time_ns(), "ending": "signal"})
