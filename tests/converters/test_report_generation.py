"""How long a page of a million launches takes to write, and how much memory."""

import os
import sys

from tests.support.report_trace import build_report_trace

LAUNCHES = 1_000_000
SECONDS = 5.0
BYTES = 1_000_000_000


def test_a_million_launches_become_a_page_in_seconds_and_little_memory(tmp_path, say):
    """Processor time, since other tests may run beside this one."""
    built = build_report_trace(tmp_path, launches=LAUNCHES, stages=("ttir",))
    page = tmp_path / "report.html"
    command = [sys.executable, "-m", "kvtrace", "report", str(built.path), "-o", str(page)]
    quiet = os.open(os.devnull, os.O_WRONLY)
    child = os.posix_spawn(
        sys.executable, command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, quiet, 1)]
    )
    os.close(quiet)

    _, status, used = os.wait4(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    seconds, most = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
    say(
        "report",
        f"a page of {LAUNCHES:,} launches: {seconds:.1f} s of processor time, "
        f"{most / 1e6:,.0f} MB at most, {page.stat().st_size / 1e6:.1f} MB written",
    )
    assert seconds < SECONDS
    assert most < BYTES
