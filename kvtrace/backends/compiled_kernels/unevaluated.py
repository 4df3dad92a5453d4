"""Launches without a GPU that the evaluator does not run: those of some kernels in Gluon.

Such a launch is recorded and returns, and its tensors stay unchanged. Values that the program
computes from them differ from those with a GPU, so contents and defects observed afterwards are not
recorded.
"""

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from kvtrace.schema.layout import NOT_EVALUATED

if TYPE_CHECKING:
    from kvtrace.capture.session import Session

#: Functions called with a sentence before a launch is skipped; they may raise to refuse that.
before_left_out: list[Callable[[str], None]] = []

#: The first kernel of a session whose launches were skipped.
_first_unevaluated: "weakref.WeakKeyDictionary[Session, str]" = weakref.WeakKeyDictionary()


def report_skipped_launch(session: "Session | None", kernel: str, reason: str) -> None:
    """Record a message on a launch that was not executed; print the first one of a recording."""
    sentence = f"{reason}, so without a GPU its launches are recorded and do not run"
    for call in before_left_out:
        call(sentence)
    if session is None:
        return  # the recording has ended
    level = "warning" if _first_unevaluated.setdefault(session, kernel) == kernel else "info"
    session.message(
        level,
        NOT_EVALUATED,
        f"{sentence}; their tensors stay unchanged, and no contents that the program "
        "computes from them are recorded or judged",
    )


def reason_not_recorded(session: "Session") -> str | None:
    """Return why a session's contents and defects are not recorded; None if all launches ran."""
    kernel = _first_unevaluated.get(session)
    if kernel is None:
        return None
    return (
        f"a launch of kernel {kernel}, which is written in Gluon and not evaluated, came before; "
        "kvtrace profile and kvtrace sanitize evaluate the call without contents"
    )
