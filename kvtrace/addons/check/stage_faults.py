"""Stages of the compiler at fault for wrong results, written to and read from findings' messages.

A message ends with the fault, from which readers of the table `findings` get it back.
"""

from typing import Final, Literal

from msgspec import Struct

Stage = Literal["ttgir", "behind ttgir", "descriptor stores", "unknown"]

_WORDS: Final[dict[Stage, str]] = {
    "ttgir": "at fault are Triton's passes from TTIR to TTGIR",
    "behind ttgir": "at fault is what comes after TTGIR",
    "descriptor stores": "the cause is descriptor-contract",
    "unknown": "which stage is at fault is unknown",
}


class Fault(Struct, frozen=True):
    """The compiler's stage at fault for a wrong result, and the reason to think so.

    No stage is at fault for stores past a descriptor's extent, which the hardware allows.
    """

    stage: Stage
    reason: str

    @property
    def text(self) -> str:
        """The stage and the reason in one clause, which ends a finding's message."""
        return f"{_WORDS[self.stage]}: {self.reason}"


def message_with_fault(message: str, fault: Fault | None) -> str:
    """Return a finding's message with the text of `fault` appended, or unchanged for None."""
    return message if fault is None else f"{message}; {fault.text}"


def fault_in(message: str | None) -> Fault | None:
    """Return the fault that `message_with_fault` appended to a message, or None."""
    for stage, stage_text in _WORDS.items():
        _, separator, reason = (message or "").partition(f"; {stage_text}: ")
        if separator:
            return Fault(stage, reason)
    return None
