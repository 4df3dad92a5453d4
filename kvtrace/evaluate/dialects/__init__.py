"""Meanings of ops, one file per dialect (`tt` is split by subject). See registry.py for the tables.

To add an op: find its dialect's file, write a small pure function, register it. Nothing outside
kvtrace/evaluate imports these modules.
"""

from importlib import import_module

_FILES = (
    "arith",
    "arith_casts",
    "arith_extended",
    "math",
    "scf",
    "cf",
    "tt_program",
    "tt_shape",
    "tt_memory",
    "tt_addresses",
    "tt_atomic",
    "tt_reduce",
    "tt_dot",
    "tt_descriptor",
    "tt_elementwise",
    "libdevice",
    "tt_inline",
)
_loaded = False


def load_dialects() -> None:
    """Import every dialect, which fills the tables."""
    global _loaded
    if _loaded:
        return
    for name in _FILES:
        import_module(f"kvtrace.evaluate.dialects.{name}")
    _loaded = True
