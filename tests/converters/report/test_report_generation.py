"""How long a page of a million launches takes to write, and how much memory."""

import json
import subprocess
import sys

import pytest

from tests.support.report_trace import build_report_trace

LAUNCHES = 1_000_000
BYTES = 1_000_000_000

#: Says at its end what it took; the system's own count of a child's memory includes its parent's.
PROGRAM = """
import json, resource, sys
from kvtrace.cli import main
code = main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
(most,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(json.dumps({"seconds": used.ru_utime + used.ru_stime, "bytes": int(most) * 1024}))
sys.exit(code)
"""


@pytest.mark.process
def test_a_million_launches_become_a_page_in_little_memory(tmp_path, say):
    """How long it takes is said; `benchmarks/scale.py` compares it."""
    built = build_report_trace(tmp_path, launches=LAUNCHES, stages=("ttir",))
    page = tmp_path / "report.html"
    command = [sys.executable, "-c", PROGRAM, "report", str(built.path), "-o", str(page)]

    done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    used = json.loads(done.stdout.splitlines()[-1])
    say(
        "report",
        f"a page of {LAUNCHES:,} launches: {used['seconds']:.1f} s of processor time, "
        f"{used['bytes'] / 1e6:,.0f} MB at most, {page.stat().st_size / 1e6:.1f} MB written",
    )
    assert used["bytes"] < BYTES
