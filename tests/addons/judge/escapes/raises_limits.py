"""Raises its limits and its priority, sets the clock, and the limits of others."""

import os
import resource
import time

for attempt in (
    lambda: resource.setrlimit(resource.RLIMIT_AS, (-1, -1)),
    lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)),
    lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1)),
    lambda: resource.setrlimit(resource.RLIMIT_CPU, (-1, -1)),
    lambda: resource.prlimit(os.getppid() or 2, resource.RLIMIT_CPU, (0, 0)),
    lambda: os.nice(-5),
    lambda: os.setpriority(os.PRIO_PROCESS, 0, -20),
    lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    lambda: time.clock_settime(time.CLOCK_REALTIME, 0),
    lambda: os.setuid(12345),
    lambda: os.setgroups([0]),
    lambda: os.chown(os.environ["HOME"], 12345, 12345),
):
    try:
        print("ESCAPED:", attempt())
    except (OSError, ValueError) as error:
        print(f"kept out: {error!r}")
