"""What a program asked of the GPU that is not there: one line at its end."""

from typing import Final


class _Asked:
    """Names, each once: what was answered, what ran on the CPU, what was refused."""

    def __init__(self) -> None:
        self.answered: set[str] = set()
        self.operators: set[str] = set()
        self.refused: dict[str, None] = {}  # in order

    def summary(self) -> str | None:
        """Say it in one sentence, and begin again; None where nothing was asked."""
        if not (self.answered or self.operators or self.refused):
            return None
        refused = ", ".join(self.refused) or "nothing"
        text = (
            f"of the GPU that is not there, {len(self.answered)} functions of torch were answered "
            f"and {len(self.operators)} operators ran on the CPU; refused: {refused}"
        )
        for names in (self.answered, self.operators, self.refused):
            names.clear()
        return text


asked: Final = _Asked()
