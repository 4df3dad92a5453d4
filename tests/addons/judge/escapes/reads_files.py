"""Reads and changes files of the host."""

from pathlib import Path

for attempt in (
    lambda: Path("@HOST@/precious").read_text(),
    lambda: Path("@HOST@/precious").unlink(),
    lambda: Path("@HOST@/written").write_text("x"),
    lambda: Path("/etc/passwd").read_text(),
    lambda: Path("/usr/written").write_text("x"),
    lambda: Path("/proc/sysrq-trigger").write_text("x"),
    lambda: Path("/proc/sys/kernel/hostname").write_text("x"),
):
    try:
        print("ESCAPED:", attempt())
    except OSError as error:
        print(f"kept out: {error!r}")
