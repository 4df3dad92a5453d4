"""Check that a timed recording is the one that a benchmark claims."""

from pathlib import Path
from typing import Final

#: Of the launches, so many are joined to an execution; at the ends of a recording some are not.
_JOINED: Final = 0.95


class NotMeasuredError(SystemExit):
    """The recording is not the one that the figure's name claims; ends the program with 1."""


def check(folder: Path, mode: str, launches: int | None = None) -> None:
    """Raise an error if a recording was made in another mode, or is not complete.

    Args:
        folder: the trace.
        mode: launch or timeline.
        launches: number of launches that were made; None accepts any number.

    Raises:
        NotMeasuredError: with the claim and the actual recording.

    """
    from kvtrace.schema.trace import open_trace

    trace = open_trace(folder)
    messages = trace.table("messages", columns=["level", "code", "text"]).to_pylist()
    recorded = sum(piece.num_rows for piece in trace.pieces("launches", trace.runs, ["seq"]))
    if launches is not None and recorded != launches:
        raise NotMeasuredError(
            f"not measured: {launches:,} launches were made, {recorded:,} recorded"
        )
    warnings = [row["text"] for row in messages if row["level"] != "info"]
    if warnings:
        raise NotMeasuredError(f"not measured: {warnings[0]}")
    if mode == "timeline":
        # Of equal launches on a stream that is never idle the call is certain, not which it was.
        ran = trace.table("gpu_kernels", columns=["call_id"])
        joined = ran.num_rows - ran["call_id"].null_count
        if joined < _JOINED * recorded:
            raise NotMeasuredError(
                f"not measured: of {recorded:,} launches {joined:,} are in the device timeline"
            )
