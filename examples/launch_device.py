"""Choice of the device for an example's kernels: a GPU, or the CPU if that can launch kernels."""

import sys
from pathlib import Path

import torch
import triton


def can_launch():
    """Return whether Triton can launch: on a GPU, in its interpreter, or through kvtrace."""
    if triton.knobs.runtime.interpret:
        return True
    try:
        triton.runtime.driver.active.get_current_target()
    except RuntimeError:  # "0 active drivers"
        return False
    return True


def choose_device(requested="auto"):
    """Return the torch device's name; exit with a message if Triton cannot launch kernels."""
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
