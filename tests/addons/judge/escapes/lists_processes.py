"""Reads the command lines of other processes."""

import os
from pathlib import Path

own = {os.getpid(), os.getppid()}
for each in Path("/proc").iterdir():
    if each.name.isdigit() and int(each.name) not in own:
        print("ESCAPED:", each, (each / "cmdline").read_bytes())
print("there are", sum(each.name.isdigit() for each in Path("/proc").iterdir()))
