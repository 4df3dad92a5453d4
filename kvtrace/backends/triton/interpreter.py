"""Recording of Triton's interpreter, where `TRITON_INTERPRET=1` asks for it.

Triton's interpreter is a module that it imports only when it is needed, and so do we: see
`interpreted_launches.py`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtrace.backends.triton.interpreted_launches import InterpreterHooks
    from kvtrace.capture.session import Session


class _State:
    """The hooks that are in place."""

    hooks: "InterpreterHooks | None" = None


_state = _State()


def install(session: "Session") -> None:
    """Record the launches of interpreted functions, if functions are interpreted at all."""
    from triton import knobs

    uninstall()
    if not knobs.runtime.interpret:
        return
    from kvtrace.backends.triton.interpreted_launches import InterpreterHooks

    _state.hooks = InterpreterHooks(session)
    _state.hooks.install()


def uninstall() -> None:
    """Take the hooks out again."""
    if _state.hooks is not None:
        _state.hooks.uninstall()
        _state.hooks = None
