"""To be run by hand on a machine with two NVIDIA GPUs: the fixture `tests/fixtures/h200/ranks`.

    python tests/gpu/capture_ranks.py TRACE && python tests/gpu/trim_trace.py TRACE FIXTURE

A few steps of tests/gpu/rank_training.py by torchrun, mode timeline, one rank on each GPU.
"""

import subprocess
import sys
from pathlib import Path

from check_ranks import command, environment

STEPS = 8


def main() -> int:
    out = Path(sys.argv[1]).resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        command(str(STEPS), torchrun=True), env=environment(out, "cuda"), check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
