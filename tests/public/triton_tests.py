"""Triton's own tests, under kvtrace and without a GPU: what passes, fails and is skipped.

They are told that the device is the CPU, where tensors then are; what Triton compiles for stays
the target of the recording, and kernels run in the evaluator.
"""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_tests(place: Path, folder: Path) -> str:
    """Run pytest on a file or folder of tests, recorded; say in one line what came out."""
    report = folder / "triton-tests.xml"
    out = folder / "triton-tests"
    environment = os.environ | {
        "KVTRACE": str(out),
        "TRITON_CACHE_DIR": str(folder / "cache" / "triton"),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", "")))),
    }
    command = [sys.executable, "-m", "pytest", str(place), f"--junitxml={report}", "-q",
               "-p", "no:cacheprovider", *_device(place)]  # fmt: skip
    told = folder / "triton-tests.log"
    with told.open("w") as log:
        subprocess.run(command, env=environment, stdout=log, stderr=log, check=False)
    if not report.is_file():
        return f"Triton's tests did not run; {told} says why"
    counts = outcomes(report)
    total = sum(counts.values())
    parts = ", ".join(f"{counts[name]:,} {name}" for name in ("passed", "failed", "skipped"))
    return f"Triton's tests in {place}: {total:,}, of them {parts}; {told}"


def _device(place: Path) -> list[str]:
    """The option by which Triton's tests are told a device, if theirs has it."""
    folders = [place, *place.resolve().parents] if place.is_dir() else list(place.resolve().parents)
    for folder in folders:
        file = folder / "conftest.py"
        if file.is_file() and "--device" in file.read_text():
            return ["--device", "cpu"]
    return []


def outcomes(report: Path) -> Counter[str]:
    """Count the test cases of a JUnit file by outcome; an error is a failure."""
    found: Counter[str] = Counter()
    for case in ET.parse(report).getroot().iter("testcase"):
        tags = {child.tag for child in case}
        if tags & {"failure", "error"}:
            found["failed"] += 1
        else:
            found["skipped" if "skipped" in tags else "passed"] += 1
    return found
