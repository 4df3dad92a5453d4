"""Recompiles: one definition for `info`, `top` and the report."""


def compiled_here(cache_hit: bool | None, compile_ns: int | None) -> bool:
    """Return whether the process compiled a variant itself instead of loading it from a cache.

    `cache_hit` decides unless it is None; then a recorded `compile_ns` means that it compiled. A
    compiled variant is a recompile unless it is its kernel's first in the process. Inductor's
    kernels that a worker process compiled have no compile time, and so count as loaded.
    """
    return compile_ns is not None if cache_hit is None else not cache_hit
