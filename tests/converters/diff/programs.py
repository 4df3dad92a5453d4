"""Two programs with one launch, and what `diff` answers of their results."""

from kvtrace.converters.diff import compare
from tests.converters.written_trace import Kernel, write_trace

HEAD = """import torch
import triton

@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK):
    pass

BLOCK = 128
def halved(x):
    return x / 2

x = torch.ones(9)
y = torch.zeros(9)
"""
LAUNCH = "scale[(8,)](x, y, 9, BLOCK=BLOCK)\n"


def evidence(tmp_path, before, after, **options):
    """Return the answer to "same results?" of two programs, or of frames, and its evidence."""
    before, after = (
        [("run.py", "<module>", text.count("\n"), text)] if isinstance(text, str) else text
        for text in (before, after)
    )
    sides = (
        write_trace(tmp_path / run, [Kernel()], run_id=f"20260102T030405-{run}", program=text,
                    **options.get(run, {}))
        for run, text in (("0001", before), ("0002", after))
    )  # fmt: skip
    answer = compare(*sides).answers[1]
    return answer.word, answer.evidence
