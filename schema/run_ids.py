"""Ids of runs; without pyarrow, as a recording needs the id before the writer."""

import os
import time


def new_run_id() -> str:
    """Return a new run id, unique among processes and sorted by time: UTC in ms, 32 random bits."""
    return f"{first_run_id(time.time_ns())}-{os.urandom(4).hex()}"


def first_run_id(time_ns: int) -> str:
    """Return the beginning of the ids of runs that begin in a millisecond; no such id is smaller.

    `time_ns` is in ns since 1970.
    """
    seconds, nanoseconds = divmod(time_ns, 1_000_000_000)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(seconds))
    return f"{stamp}-{nanoseconds // 1_000_000:03d}"
