"""How long `kvtrace judge` takes, and whether it is right, on 40 labelled kernels.

Method: each file of `tests/judge/kernels` is judged by a process of its own, as an agent would ask,
with its imports; then all of them by one process that has imported torch and Triton already. A
kernel that is judged otherwise than its folder says ends the script with 1. Printed: medians and
the longest, in seconds of wall time.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kvtrace.candidates.judging import judge_file
from tests.judge.labelled import labelled, request_of


def main() -> int:
    """Judge all of them twice, and print."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "triton", "numpy"))
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()},")
    print(f"{packages}; load average {load:.1f}")
    alone, together, wrong = [], [], []
    kernels = [(kind, path) for kind in ("right", "wrong") for path in labelled(kind).values()]
    for kind, path in kernels:
        request = request_of(path)
        reference = request.reference
        assert reference is not None
        begun = time.monotonic()
        done = subprocess.run(
            [
                sys.executable, "-m", "kvtrace", "judge", path,
                "--reference", f"{reference.file}:{reference.name}",
            ],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        alone.append(time.monotonic() - begun)
        verdict = json.loads(done.stdout)["verdict"] if done.stdout else "unjudged"
        wrong += [path.stem] if verdict != kind else []
    for kind, path in kernels:
        begun = time.monotonic()
        wrong += [path.stem] if judge_file(request_of(path)).verdict != kind else []
        together.append(time.monotonic() - begun)
    for name, times in (("a process each", alone), ("one process", together)):
        print(
            f"{name}: median {statistics.median(times):.2f} s, longest {max(times):.2f} s, "
            f"{sum(times):.0f} s in all"
        )
    print(f"{len(kernels) - len(set(wrong))} of {len(kernels)} judged as labelled {wrong or ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
