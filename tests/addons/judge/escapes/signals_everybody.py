"""Signals every process that there may be, by its number and its group's."""

import os

for process in range(2, 70_000):
    for named in (process, -process):
        try:
            os.kill(named, 0)
        except OSError:
            continue
        if os.getpgid(0) != process:
            print("ESCAPED: signals", named)
