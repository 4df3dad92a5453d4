"""Stages of the compiler at fault for wrong results, written to and read from findings' messages.

A message ends with the fault, from which readers of the table `findings` get it back.
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
    """The stage at fault: from TTIR to TTGIR, a later stage, or an unknown one.

    No stage is at fault for stores past a descriptor's extent, which the hardware allows.
    """

    stage: Stage
    reason: str

    @property
    def text(self) -> str:
        """The fault in one clause."""
        return f"{_WORDS[self.stage]}: {self.reason}"


def message_with_fault(message: str, fault: Fault | None) -> str:
    """Return a finding's message, ending with the fault if there is one."""
    return message if fault is None else f"{message}; {fault.text}"


def fault_in(message: str | None) -> Fault | None:
    """Return the fault at the end of a finding's message, or None."""
    for stage, words in _WORDS.items():
        _, separator, reason = (message or "").partition(f"; {words}: ")
        if separator:
            return Fault(stage, reason)
    return None
