"""To be run by hand on a machine with an NVIDIA GPU: configurations tried by `suite tune`.

    python tests/gpu/check_tune.py [FOLDER]

Needs flash-linear-attention (`fla`) and `liger_kernel`; results stay in FOLDER. A program, in a
process of its own, runs FLA's `chunk_fwd_h` at 128 tokens and then at 8,192: its autotuner's key
has no length, so the second call takes the choice made for the first. It also runs Liger's RMS
norm, whose number of warps comes from a formula. A suite of the run is tuned: every configuration
that counts stores what the recorded one stores, one with a wrong grid is refused, and gains are
printed, or that there are none.
Prints what it saw; ends with 1 if anything is not so.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

KERNEL, FORMULA = "chunk_fwd_kernel_h", "_rms_norm_forward_kernel"
problems: list[str] = []


def expect(holds: bool, what: str) -> None:
    print(f"    {'ok' if holds else 'WRONG'}: {what}")
    if not holds:
        problems.append(what)


def program() -> None:
    """Run the kernels; this is what the recorded process does."""
    import torch
    from fla.ops.common.chunk_h import chunk_fwd_h
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction

    torch.manual_seed(0)
    for batch, tokens in ((1, 128), (8, 8192)):
        k, v = (torch.randn(batch, tokens, 4, 128, device="cuda", dtype=torch.bfloat16) / 8
                for _ in range(2))  # fmt: skip
        for _ in range(20):
            chunk_fwd_h(k, v)
    x = torch.randn(8192, 2048, device="cuda", dtype=torch.bfloat16)
    weight = torch.ones(2048, device="cuda", dtype=torch.bfloat16)
    for _ in range(20):
        LigerRMSNormFunction.apply(x, weight, 1e-6)
    torch.cuda.synchronize()


def kvtrace(*words: str | Path, **variables: str) -> None:
    """Run kvtrace, and fail if it does."""
    command = [sys.executable, "-m", "kvtrace", *map(str, words)]
    print("  $", " ".join(command[1:]), flush=True)
    subprocess.run(command, check=True, cwd=ROOT, env=os.environ | variables)


def check_tuning(suite: Path, out: Path) -> None:
    """The suite's calls are tuned, with results checked."""
    result = suite.parent / "tuned.json"
    kvtrace("suite", "tune", suite, "--trials", out, "--json", "-o", result)
    outcomes = json.loads(result.read_text())["outcomes"]
    by_kernel: dict[str, Any] = {}
    for outcome in outcomes:
        by_kernel.setdefault(outcome["kernel"], outcome)
    for kernel in (KERNEL, FORMULA):
        outcome = by_kernel.get(kernel, {"outcome": "no entry"})
        expect(outcome["outcome"] in ("gain", "no gain"), f"{kernel}: {outcome['outcome']}")
    tried = max(outcome.get("tried", 0) for outcome in outcomes if outcome["kernel"] == KERNEL)
    expect(tried > 20, "trials of the run are tried")
    wrong = suite.parent / "wrong.json"
    wrong.write_text(
        json.dumps({KERNEL: {"configurations": [{"options": {"num_warps": 16}, "grid": [1]}]}})
    )
    kvtrace("suite", "tune", suite, "--calls", KERNEL, "--configs", wrong, "--json", "-o", result)
    outcomes = json.loads(result.read_text())["outcomes"]
    expect(
        all(
            outcome["outcome"] == "not tuned" and "other results" in str(outcome["refused"])
            for outcome in outcomes
        ),
        "a configuration that stores less is refused",
    )


def main() -> int:
    """Check all; return the exit code."""
    if sys.argv[1:] == ["program"]:
        program()
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        folder.mkdir(parents=True, exist_ok=True)
        out, suite = folder / "out", folder / "suite"
        kvtrace("run", "-o", out, Path(__file__), "program",
                KVTRACE_MODE="timeline", TRITON_CACHE_DIR=str(folder / "cache"))  # fmt: skip
        kvtrace("suite", out, "-o", suite, "--source", "--share", "1", "--whole")
        check_tuning(suite, out)
    print(f"{len(problems)} problems" if problems else "all as it should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
