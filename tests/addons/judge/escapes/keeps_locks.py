"""Keeps locks, leases and watches, for which the kernel takes memory that counts for nobody."""

import ctypes
import fcntl
import os
import select

libc = ctypes.CDLL(None, use_errno=True)
with open(os.environ["HOME"] + "/file", "w+b") as file:
    file.truncate(1 << 20)
    for attempt in (
        lambda: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 2),
        lambda: fcntl.fcntl(file, 37, bytes(32)),
        lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK),
        lambda: fcntl.fcntl(os.open("/usr", os.O_RDONLY), fcntl.F_NOTIFY, 1),
        lambda: select.epoll(),
    ):
        try:
            print("ESCAPED:", attempt())
        except OSError as error:
            print(f"kept out: {error!r}")
for name, arguments in (("inotify_init", ()), ("inotify_init1", (0,)), ("fanotify_init", (0, 0))):
    if getattr(libc, name)(*arguments) >= 0:
        print("ESCAPED:", name)
timers = 0
while timers < 10_000 and libc.timer_create(0, None, ctypes.byref(ctypes.c_void_p())) == 0:
    timers += 1
if timers > 300:
    print("ESCAPED:", timers, "timers")
