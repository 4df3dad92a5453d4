"""Base of the observers that decide rules by evaluating a call."""

from __future__ import annotations

from typing import ClassVar

from kvtrace.evaluate.observe import Observer
from kvtrace.verdicts.verdict import Verdict


class Concrete(Observer):
    """Base of the observers by which rules decide calls that formulas leave open.

    `rules` are the ids of the decided rules: the observer's verdicts replace the undecided ones.
    """

    rules: ClassVar[frozenset[str]] = frozenset()

    def verdicts(self, failure: str | None) -> list[Verdict]:
        """Return the observer's verdicts after the evaluation, which replace the undecided ones.

        Args:
            failure: why the evaluation ended early, or None if it was complete.

        """
        raise NotImplementedError
