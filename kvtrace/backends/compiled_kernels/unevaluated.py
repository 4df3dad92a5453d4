"""Launches without a GPU that the evaluator cannot run: those of kernels written in Gluon.

Such a launch is recorded and returns, and its tensors keep what they held. What the program
computes from them is not what a GPU would have computed, so nothing that is observed afterwards is
kept.
"""

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from kvtrace.schema.layout import NOT_EVALUATED

if TYPE_CHECKING:
    from kvtrace.capture.session import Session

#: Called with a sentence before a launch is left out, by who needs its results; may refuse it.
before_left_out: list[Callable[[str], None]] = []

#: The first kernel of a session whose launches were left out.
_first: "weakref.WeakKeyDictionary[Session, str]" = weakref.WeakKeyDictionary()


def leave_out(session: "Session | None", kernel: str) -> None:
    """Say that a launch of a kernel does not run; on standard error once in a recording."""
    sentence = (
        f"kernel {kernel} is written in Gluon, which is not evaluated: without a GPU its launches "
        "are recorded and do not run"
    )
    for call in before_left_out:
        call(sentence)
    if session is None:
        return  # the recording has ended
    level = "warning" if _first.setdefault(session, kernel) == kernel else "info"
    session.message(
        level,
        NOT_EVALUATED,
        f"{sentence}; tensors keep what they held, and nothing is claimed of what the program "
        "computes from them",
    )


def why_unclaimed(session: "Session") -> str | None:
    """Return why nothing is claimed of what tensors of a session hold; None: all launches ran."""
    kernel = _first.get(session)
    if kernel is None:
        return None
    return (
        f"a launch of kernel {kernel}, which is written in Gluon and not evaluated, came before; "
        "kvtrace replay and kvtrace sanitize evaluate the call without contents"
    )
