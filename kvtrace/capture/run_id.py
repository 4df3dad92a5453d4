"""Run ids without the schema's imports: a run gets its id at its first launch, pyarrow later."""

import secrets
import time


def new_run_id() -> str:
    """An id that no other process gets, and that sorts by time: as `kvtrace.schema.writer`'s."""
    now = time.time_ns()
    seconds, rest = divmod(now, 1_000_000_000)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(seconds))
    return f"{stamp}-{rest // 1_000_000:03d}-{secrets.token_hex(4)}"
