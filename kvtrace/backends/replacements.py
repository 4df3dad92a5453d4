"""Attributes of other libraries that are replaced while a session records, and put back after."""

from collections.abc import Callable
from typing import Any, Final

_MISSING: Final = object()


class Replacements:
    """What one hook has replaced, the last first in line to be put back."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def put(self, owner: Any, name: str, ours: Any) -> None:
        """Put `ours` in place of an attribute, or where none is."""
        before = getattr(owner, name, _MISSING)
        setattr(owner, name, ours)
        placed = getattr(owner, name)

        def undo() -> None:
            if getattr(owner, name, _MISSING) is not placed:
                return
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

        self._undo.append(undo)

    def put_at_first_call(
        self,
        owner: Any,
        name: str,
        make: Callable[[], Callable[..., Any]],
        problem: Callable[[Exception], None],
    ) -> None:
        """Put what `make` gives in place of a method when that is first called, and call it.

        It is made once, also where something else lies on top of what replaces it until then.
        While `make` fails, which `problem` receives, the method itself is called.
        """
        original = getattr(owner, name)
        made: Callable[..., Any] | None = None

        def first(*args: Any, **kwargs: Any) -> Any:
            nonlocal made
            if made is None:
                try:
                    made = make()
                except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                    problem(error)
                    return original(*args, **kwargs)
                if getattr(owner, name) is first:
                    self.put(owner, name, made)
            return made(*args, **kwargs)

        first.__wrapped__ = original  # type: ignore[attr-defined]
        self.put(owner, name, first)

    def undone_by(self, undo: Callable[[], None]) -> None:
        """Have something else put back, too."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Put back what was there, where nothing else lies on top of kvtrace's."""
        while self._undo:
            self._undo.pop()()
