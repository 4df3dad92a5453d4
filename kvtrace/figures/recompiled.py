"""What a recompile is: one definition for `info`, `top` and the report."""


def compiled_here(cache_hit: bool | None, compile_ns: int | None) -> bool:
    """Return whether a process compiled a variant itself, rather than load it from a cache.

    A variant after its kernel's first in a process is a recompile where this is so. Inductor's
    kernels that a worker compiled are loaded like cached ones: their process has no compile time.
    """
    return compile_ns is not None if cache_hit is None else not cache_hit
