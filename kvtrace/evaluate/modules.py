"""Modules by their text, each parsed once."""

from functools import lru_cache

from kvtrace.ir.model import Module


@lru_cache(maxsize=256)
def parsed(text: str, target: str = "") -> Module:
    """Parse generic IR for a target; the same text gives the same module, compiled once."""
    from kvtrace.ir.parser import parse  # a process that evaluates nothing does without

    return parse(text, target)
