"""Commands of kvtrace, run in this process."""

from pathlib import Path

from kvtrace.cli import main


def run(out: Path, capsys, *command: str) -> tuple[int, str]:
    """Run a command on a trace: its exit code, and its output with single spaces."""
    capsys.readouterr()
    code = main([*command, str(out)])
    return code, " ".join(capsys.readouterr().out.split())
