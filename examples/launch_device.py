"""Where an example's kernels run: a GPU, or the CPU when something takes its place."""

import sys
from pathlib import Path

import torch
import triton


def can_launch():
    """Whether Triton has anything to launch on: a GPU, its interpreter, or kvtrace in its place."""
    if triton.knobs.runtime.interpret:
        return True
    try:
        triton.runtime.driver.active.get_current_target()
    except RuntimeError:  # "0 active drivers"
        return False
    return True


def choose_device(requested="auto"):
    """The torch device to use; ends the program with one sentence when nothing can launch."""
    if requested == "auto":
        requested = "cuda" if torch.cuda.is_available() else "cpu"
    if can_launch():
        return requested
    script = Path(sys.argv[0]).name
    print(
        f"{script}: no GPU here; run it as `KVTRACE=out python {sys.argv[0]}`, and kvtrace "
        "executes its kernels on the CPU.",
        file=sys.stderr,
    )
    sys.exit(2)
