"""Forks processes that fork."""

import os
import time

until = time.monotonic() + 30
while time.monotonic() < until:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
