"""Descriptors of files that a recording holds open in a process that may close any of them."""

import os


class Descriptor:
    """An open file of the recording, by its number and by what it is.

    A program may close any number, as daemons close all, and have another file with it.
    """

    __slots__ = ("_file", "number")

    def __init__(self, number: int) -> None:
        """Remember which file the number stands for, now that it was opened."""
        self.number = number
        self._file = _identity_of(number)

    @property
    def is_open(self) -> bool:
        """The number stands for this file still."""
        try:
            return _identity_of(self.number) == self._file
        except OSError:
            return False

    def close(self) -> None:
        """Close the file, unless the program has done so."""
        if self.is_open:
            os.close(self.number)


def _identity_of(number: int) -> tuple[int, int]:
    facts = os.fstat(number)
    return facts.st_dev, facts.st_ino
