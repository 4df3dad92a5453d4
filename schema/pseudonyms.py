"""Pseudonyms: each name is replaced by a numbered one, the same everywhere and not reversible."""

from collections.abc import Iterable
from typing import Final

#: Names that tell nothing about a program.
_TELLING_NOTHING: Final = frozenset(
    ("", "__main__", "<module>", "<lambda>", "<string>", "<stdin>", "<unknown>")
)


class Pseudonyms:
    """Function from names to pseudonyms, which are numbered in the order of first use."""

    def __init__(self, prefix: str, suffixes: bool = False) -> None:
        """Create an empty map; pseudonyms begin with `prefix`. `suffixes` keeps a name's `.py`."""
        self._prefix = prefix
        self._suffixes = suffixes
        self._pseudonyms: dict[str, str] = {}
        self._learned: set[str] = set()
        self._count: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        """Return a name's pseudonym, always the same one; generic names are returned unchanged."""
        return name if name in _TELLING_NOTHING else self._pseudonym(name, self._prefix)

    def learn(self, prefix: str, names: Iterable[str | None]) -> None:
        """Give pseudonyms with another prefix to these names, before their first use."""
        for name in names:
            if name and name not in _TELLING_NOTHING:
                self._learned.add(name)
                self._pseudonym(name, prefix)

    def knows(self, name: str) -> bool:
        """Return whether `learn` was called with the name, or the name is generic."""
        return name in self._learned or name in _TELLING_NOTHING

    def _pseudonym(self, name: str, prefix: str) -> str:
        if name not in self._pseudonyms:
            suffix = ".py" if self._suffixes and name.endswith(".py") else ""
            while True:
                number = self._count[prefix] = self._count.get(prefix, 0) + 1
                pseudonym = f"{prefix}{number}{suffix}"
                if pseudonym not in self._learned:  # learned names stay if names are not left out
                    break
            self._pseudonyms[name] = pseudonym
        return self._pseudonyms[name]
