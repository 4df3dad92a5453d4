"""Recompiles: one definition for `info`, `top` and the report."""


def compiled_here(cache_hit: bool | None, compile_ns: int | None) -> bool:
    """Return whether a process compiled a variant itself instead of loading it from a cache.

    If so, the variant is a recompile unless it is its kernel's first in the process. Inductor's
    kernels that a worker compiled count as loaded: the process has no compile time.
    """
    return compile_ns is not None if cache_hit is None else not cache_hit
