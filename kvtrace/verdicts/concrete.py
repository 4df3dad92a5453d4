"""What decides concretely: an observer of an evaluation of a call, with verdicts at its end."""

from __future__ import annotations

from typing import ClassVar

from kvtrace.evaluate.observe import Observer
from kvtrace.verdicts.verdict import Verdict


class Concrete(Observer):
    """Base of the observers that rules decide with where their formulas do not.

    `rules` are the ids of those that it decides: its verdicts take the place of the undecided ones.
    """

    rules: ClassVar[frozenset[str]] = frozenset()

    def verdicts(self, failure: str | None) -> list[Verdict]:
        """Return the verdicts in place of the undecided ones; `failure`: why it ended early."""
        raise NotImplementedError
