"""Requests of a program to the simulated GPU, reported in one line at the program's end."""

from typing import Final


class _DeviceRequests:
    """Names of the functions that were answered, of operators run on the CPU, and of refusals."""

    def __init__(self) -> None:
        self.answered: set[str] = set()
        self.operators: set[str] = set()
        self.refused: dict[str, None] = {}  # in order

    def summary(self) -> str | None:
        """Return one sentence on all requests, and clear them; None if there were none."""
        if not (self.answered or self.operators or self.refused):
            return None
        refused = ", ".join(self.refused) or "nothing"
        text = (
            f"of the absent GPU, {len(self.answered)} functions of torch were answered "
            f"and {len(self.operators)} operators ran on the CPU; refused: {refused}"
        )
        for names in (self.answered, self.operators, self.refused):
            names.clear()
        return text


device_requests: Final = _DeviceRequests()
