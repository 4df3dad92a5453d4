"""Attributes of other libraries that are replaced while a session records, and restored after."""

from collections.abc import Callable
from typing import Any, Final

_MISSING: Final = object()


class Replacements:
    """The replacements that one hook has made; they are restored in reverse order."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def put(self, owner: Any, name: str, ours: Any) -> None:
        """Set an attribute of `owner` to `ours`; `undo` restores or deletes it."""
        original = getattr(owner, name, _MISSING)
        setattr(owner, name, ours)
        stored = getattr(owner, name)

        def undo() -> None:
            if getattr(owner, name, _MISSING) is not stored:
                return
            if original is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, original)

        self._undo.append(undo)

    def put_at_first_call(
        self,
        owner: Any,
        name: str,
        make: Callable[[], Callable[..., Any]],
        problem: Callable[[Exception], None],
    ) -> None:
        """Replace a method, at its first call, by the function that `make` returns, and call that.

        `make` is called once, even if other code has wrapped the method meanwhile. If it fails,
        `problem` is called with the error, and the original method is called from then on.
        """
        original = getattr(owner, name)
        replacement: Callable[..., Any] | None = None

        def first(*args: Any, **kwargs: Any) -> Any:
            nonlocal replacement
            if replacement is None:
                try:
                    replacement = make()
                except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                    problem(error)
                    replacement = original
                if getattr(owner, name) is first:
                    self.put(owner, name, replacement)
            return replacement(*args, **kwargs)

        first.__wrapped__ = original  # type: ignore[attr-defined]
        self.put(owner, name, first)

    def undone_by(self, undo: Callable[[], None]) -> None:
        """Add a function that `undo` calls, too."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Restore the attributes that still have kvtrace's value, the last replaced first."""
        while self._undo:
            self._undo.pop()()
