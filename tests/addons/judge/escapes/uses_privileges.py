"""Has capabilities, or gets them by namespaces; calls what reaches other processes."""

import ctypes
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
for line in Path("/proc/self/status").read_text().splitlines():
    name, _, value = line.partition(":")
    if name.startswith("Cap") and int(value, 16):
        print("ESCAPED:", line)
for name, arguments in (
    ("unshare", (0x10000000,)),
    ("mount", (b"none", b"/tmp", b"tmpfs", 0, None)),
    ("umount2", (b"/proc", 2)),
    ("ptrace", (0, 0, 0, 0)),
    ("prctl", (1, 0, 0, 0, 0)),
    ("chroot", (b"/",)),
    ("memfd_create", (b"hidden", 0)),
):
    if getattr(libc, name)(*arguments) >= 0:
        print("ESCAPED:", name)
