"""Pseudonyms: each name is replaced by a numbered one, the same everywhere and not reversible."""

from collections.abc import Iterable
from typing import Final

#: Names that tell nothing about a program.
_TELLING_NOTHING: Final = frozenset(
    ("", "__main__", "<module>", "<lambda>", "<string>", "<stdin>", "<unknown>")
)


class Pseudonyms:
    """Maps names to pseudonyms, numbered in the order of first use."""

    def __init__(self, prefix: str, suffixes: bool = False) -> None:
        """Make an empty map; with `suffixes`, names are files, and `.py` is kept."""
        self._prefix = prefix
        self._suffixes = suffixes
        self._pseudonyms: dict[str, str] = {}
        self._learned: set[str] = set()
        self._count: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        """Return the pseudonym of a name."""
        return name if name in _TELLING_NOTHING else self._of(name, self._prefix)

    def learn(self, prefix: str, names: Iterable[str | None]) -> None:
        """Add names before others, with pseudonyms that begin with `prefix`."""
        for name in names:
            if name and name not in _TELLING_NOTHING:
                self._learned.add(name)
                self._of(name, prefix)

    def knows(self, name: str) -> bool:
        """Return whether the name was learned, or tells nothing."""
        return name in self._learned or name in _TELLING_NOTHING

    def _of(self, name: str, prefix: str) -> str:
        if name not in self._pseudonyms:
            suffix = ".py" if self._suffixes and name.endswith(".py") else ""
            while True:
                number = self._count[prefix] = self._count.get(prefix, 0) + 1
                fresh = f"{prefix}{number}{suffix}"
                if fresh not in self._learned:  # learned names stay if names are not left out
                    break
            self._pseudonyms[name] = fresh
        return self._pseudonyms[name]
