"""Made-up names: each name gets one, the same wherever it occurs, and nobody can tell it back."""

from collections.abc import Iterable
from typing import Final

#: What tells nothing of a program.
_TELLING_NOTHING: Final = frozenset(
    ("", "__main__", "<module>", "<lambda>", "<string>", "<stdin>", "<unknown>")
)


class Pseudonyms:
    """Returns names numbers in the order in which they come."""

    def __init__(self, prefix: str, suffixes: bool = False) -> None:
        """`suffixes` says that names are those of files, of which Python's keep their suffix."""
        self._prefix = prefix
        self._suffixes = suffixes
        self._given: dict[str, str] = {}
        self._learned: set[str] = set()
        self._count: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        """Return the made-up name."""
        return name if name in _TELLING_NOTHING else self._of(name, self._prefix)

    def learn(self, prefix: str, names: Iterable[str | None]) -> None:
        """See names before the others; their made-up ones begin with a separate prefix."""
        for name in names:
            if name and name not in _TELLING_NOTHING:
                self._learned.add(name)
                self._of(name, prefix)

    def knows(self, name: str) -> bool:
        """Whether the name was learned, or tells nothing."""
        return name in self._learned or name in _TELLING_NOTHING

    def _of(self, name: str, prefix: str) -> str:
        if name not in self._given:
            suffix = ".py" if self._suffixes and name.endswith(".py") else ""
            while True:
                number = self._count[prefix] = self._count.get(prefix, 0) + 1
                fresh = f"{prefix}{number}{suffix}"
                if fresh not in self._learned:  # one that stays where names are not left out
                    break
            self._given[name] = fresh
        return self._given[name]
