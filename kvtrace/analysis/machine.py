"""A part of kvtrace on this machine, as `kvtrace doctor` shows it; add-ons have parts, too."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "missing", "broken"]


@dataclass(frozen=True, slots=True)
class Part:
    """A row of `kvtrace doctor`: a part of kvtrace, whether it works, and advice if it does not."""

    name: str
    state: State
    text: str
    advice: str = ""
