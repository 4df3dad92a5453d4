"""Types of an attack: its cases, and the answers of a verdict."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Answer(StrEnum):
    """Answer of a rule to a case: yes, no or unknown."""

    YES = "yes"
    """Proven, invariant, the same, right."""
    NO = "no"
    """A violation, a difference, wrong."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Case:
    """A case of an attack: name, label `right` with its reason, and functions that check it."""

    name: str
    right: bool
    why: str
    """Why it is right or wrong, in a sentence."""
    ask: Callable[[], Answer | tuple[Answer, str]]
    """Ask kvtrace; may also return what it found."""
    truth: Callable[[], bool] | None = None
    """Evaluate it exhaustively, without kvtrace's verdicts; None where reading decides."""
    evidence: str = "evaluated"
    """Where the truth comes from: evaluated, read, or the GPU that it was run on."""
