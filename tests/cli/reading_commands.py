"""How each command that reads traces is asked to."""

from kvtrace.cli import own_commands
from tests.support.tree import ROOT

COMMANDS = own_commands()
_TIMES = str(ROOT / "tests" / "fixtures" / "h200" / "decoding")
#: How each command is asked to read the trace at TRACE.
READING = {
    "info": ("info", "TRACE"),
    "replay": ("replay", "TRACE"),
    "sanitize": ("sanitize", "TRACE"),
    "sizes": ("sizes", "TRACE"),
    "check": ("check", "TRACE"),
    "fault": ("fault", "TRACE"),
    "invariance": ("invariance", "TRACE"),
    "profile": ("profile", "TRACE"),
    "top": ("top", "TRACE"),
    "convert": ("convert", "perfetto", "TRACE", "-o", "out.perfetto-trace"),
    "report": ("report", "TRACE", "-o", "out.html"),
    "diff": ("diff", "TRACE", "TRACE"),
    "fleet": ("fleet", "TRACE", "-o", "fleet.html"),
    "import": ("import", _TIMES, "--into", "TRACE"),
    "view": ("view", "TRACE"),
    "sql": ("sql", "TRACE", "SELECT count(*) FROM launched, marks, runs, artifacts, findings"),
    "trace recover": ("trace", "recover", "TRACE"),
    "trace validate": ("trace", "validate", "TRACE"),
    "repro": ("repro", "TRACE", "--call", "0", "-o", "repro.py"),
    "trace compact": ("trace", "compact", "TRACE"),
    "trace redact": ("trace", "redact", "TRACE", "-o", "copy", "--all"),
    "trace prune": ("trace", "prune", "TRACE", "--keep-last", "1"),
}
READING = {name: words for name, words in READING.items() if name in COMMANDS}  # an add-on may go


def asked(command, trace):
    return tuple(str(trace) if word == "TRACE" else word for word in READING[command])


def part_of(trace, table):
    return next((trace / table).rglob("*.parquet"))
