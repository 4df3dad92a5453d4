"""Makes devices of the host's disks and memory, and opens those that there may be."""

import os
import stat
from pathlib import Path

folder = Path(os.environ["HOME"]).parent
for kind, major, minor in (
    (stat.S_IFBLK, 254, 0),
    (stat.S_IFBLK, 8, 0),
    (stat.S_IFBLK, 259, 0),
    (stat.S_IFCHR, 1, 1),
    (stat.S_IFCHR, 1, 5),
    (stat.S_IFCHR, 1, 11),
    (stat.S_IFCHR, 10, 229),
):
    try:
        os.mknod(folder / "device", 0o600 | kind, os.makedev(major, minor))
        with open(folder / "device", "rb") as file:
            print("ESCAPED:", major, minor, file.read(16))
    except OSError as error:
        print(f"kept out: {error!r}")
for name in (
    "zero",
    "mem",
    "kmsg",
    "tty",
    "fuse",
    "kvm",
    "vda",
    "sda",
    "ptmx",
    "net/tun",
    "console",
):
    try:
        print("ESCAPED:", name, os.open(f"/dev/{name}", os.O_RDWR | os.O_NONBLOCK))
    except OSError as error:
        print(f"kept out: {error!r}")
