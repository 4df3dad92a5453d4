"""Array functions of ops, a file per dialect (`tt` by subject); registry.py has the tables.

To add an op: find its dialect's file, write a small pure function, register it, and name the file
in the op's row of `kvtrace.ir.ops`. A file is imported when a module with one of its ops is
evaluated.
"""

from collections.abc import Iterable
from importlib import import_module

from kvtrace.ir.ops import KINDS


def files_of(ops: Iterable[str]) -> list[str]:
    """Return the sorted names of the files in which these ops are defined."""
    return sorted({KINDS[name].group for name in set(ops) if name in KINDS} - {""})


def load_dialects(ops: Iterable[str]) -> None:
    """Import the files in which these ops are defined; the files register them."""
    for file in files_of(ops):
        import_module(f"kvtrace.evaluate.dialects.{file}")
