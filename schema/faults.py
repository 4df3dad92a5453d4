"""Which stage of the compiler is at fault in a wrong result, as its finding's message ends with it.

Whoever checks says it, and readers of the table `findings` find it there again.
"""

from dataclasses import dataclass
from typing import Final, Literal

Stage = Literal["ttgir", "behind ttgir", "descriptor stores", "unknown"]

_WORDS: Final[dict[Stage, str]] = {
    "ttgir": "at fault are Triton's passes from TTIR to TTGIR",
    "behind ttgir": "at fault is what comes after TTGIR",
    "descriptor stores": "the cause is descriptor-contract",
    "unknown": "which stage is at fault is unknown",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """The stage at fault: the one that makes TTGIR of TTIR, one behind it, or not known which.

    Of stores that go past a descriptor's extent it is none: the hardware's do.
    """

    stage: Stage
    reason: str

    @property
    def text(self) -> str:
        """Say it in one clause."""
        return f"{_WORDS[self.stage]}: {self.reason}"


def message_with_fault(message: str, fault: Fault | None) -> str:
    """Return a finding's message that ends with the stage at fault, where that is asked."""
    return message if fault is None else f"{message}; {fault.text}"


def fault_in(message: str | None) -> Fault | None:
    """Return the stage at fault that a finding's message ends with; None: it says none."""
    for stage, words in _WORDS.items():
        _, found, reason = (message or "").partition(f"; {words}: ")
        if found:
            return Fault(stage, reason)
    return None
