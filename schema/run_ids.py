"""Ids of runs, without pyarrow: a recorded program gets its run's id before it needs the writer."""

import secrets
import time


def new_run_id() -> str:
    """Return a run's id, unique among processes, that sorts by time: UTC in ms, 32 random bits."""
    now = time.time_ns()
    seconds, rest = divmod(now, 1_000_000_000)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(seconds))
    return f"{stamp}-{rest // 1_000_000:03d}-{secrets.token_hex(4)}"
