"""Ids of runs; without pyarrow, as a recording needs the id before the writer."""

import secrets
import time


def new_run_id() -> str:
    """Return a new run id, unique among processes and sorted by time: UTC in ms, 32 random bits."""
    now_ns = time.time_ns()
    seconds, nanoseconds = divmod(now_ns, 1_000_000_000)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(seconds))
    return f"{stamp}-{nanoseconds // 1_000_000:03d}-{secrets.token_hex(4)}"
