"""Time and correctness of `kvtrace judge` on labeled kernels and deceptions.

Method: each file of `tests/addons/judge/kernels` is judged by a separate process, as an agent
would ask, with its imports; then all of them by one process, beside which another keeps torch and
Triton. A kernel that is judged otherwise than its folder says ends the script with 1. Printed:
medians and the longest, in seconds of wall time, and of processor time, which other work on the
machine changes less. The candidates of `tests/addons/judge/deceptions` follow: those of `right.py`
have to be right, no other may be.
"""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kvtrace.addons.judge.judge_file import judge_file
from tests.addons.judge.labeled import deceptions, labeled, request_of


def main() -> int:
    """Judge all kernels in both ways and print times; return 1 if a label is contradicted."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "triton", "numpy"))
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()},")
    print(f"{packages}; load average {load:.1f}")
    alone, together, wrong = [], [], []
    processor: list[float] = []
    kernels = [(kind, path) for kind in ("right", "wrong") for path in labeled(kind).values()]
    for kind, path in kernels:
        request = request_of(path)
        reference = request.reference
        assert reference is not None
        start, processor_start = time.monotonic(), _processor_seconds()
        done = subprocess.run(
            [
                sys.executable, "-m", "kvtrace", "judge", path,
                "--reference", f"{reference.file}:{reference.name}",
            ],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        alone.append(time.monotonic() - start)
        processor.append(_processor_seconds() - processor_start)
        verdict = json.loads(done.stdout)["verdict"] if done.stdout else "unjudged"
        wrong += [path.stem] if verdict != kind else []
    for kind, path in kernels:
        start = time.monotonic()
        wrong += [path.stem] if judge_file(request_of(path)).verdict != kind else []
        together.append(time.monotonic() - start)
    deceived = []
    for name, request in deceptions().items():
        right = judge_file(request).verdict == "right"
        deceived += [name] if right != name.startswith("right.") else []
    for name, times in (
        ("a process each", alone),
        ("  of processor time", processor),
        ("one process", together),
    ):
        print(
            f"{name}: median {statistics.median(times):.2f} s, longest {max(times):.2f} s, "
            f"{sum(times):.0f} s in all"
        )
    print(f"{len(kernels) - len(set(wrong))} of {len(kernels)} judged as labeled {wrong or ''}")
    print(f"{len(deceptions()) - len(deceived)} of {len(deceptions())} others {deceived or ''}")
    return 1 if wrong or deceived else 0


def _processor_seconds() -> float:
    """Return the processor seconds of all ended child processes and their children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
