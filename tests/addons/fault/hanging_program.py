"""A recorded program that hangs without a GPU, in one of several ways.

    python -m tests.addons.fault.hanging_program wait|lock|fork|driver|silent|late

It prints its process's number when it hangs. `driver` reads the pipe that CUDA's driver would
read, and writes the dump in DUMP, as the driver does; `late` only at the second request, `silent`
none.
"""

import ctypes
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import kvtrace
from tests.capture.killed_program import launch_one_call

DRIVERS = ("driver", "late", "silent")
# A fork has no second thread, and with the interpreter's lock held none runs; elsewhere the second
# thread prints, once the first one waits.
SAID_BY_STEP = ("fork", "lock")


def load_batches(event, how):
    if how not in SAID_BY_STEP:
        while not step_waits():
            time.sleep(0.01)
        say_it_is_there()
    event.wait()


def step_waits():
    """Return whether the main thread is in the wait of `step`, not in one for a thread's start."""
    frame = sys._current_frames()[threading.main_thread().ident]
    names = []
    while frame is not None and len(names) < 3:
        names.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return names == ["Condition.wait", "Event.wait", "step"]


def say_it_is_there():
    print(os.getpid(), flush=True)


def step(how):
    if how in DRIVERS:
        threading.Thread(target=play_driver, args=(how, driver_pipe()), daemon=True).start()
    if how in SAID_BY_STEP:
        say_it_is_there()
    if how == "lock":
        ctypes.PyDLL(None).sleep(60)  # with the interpreter's lock
    threading.Event().wait()


def base():
    return Path(os.environ["KVTRACE"], "faults", f"{os.uname().nodename}.{os.getpid()}")


def driver_pipe():
    """Make the driver's pipe and open it for reading."""
    pipe = base().with_name(f"{base().name}.pipe")
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor


def play_driver(how, descriptor):
    """Answer requests at the driver's pipe."""
    requests = 0
    while True:
        if not os.read(descriptor, 1 << 20):
            time.sleep(0.01)  # nobody writes
            continue
        requests += 1
        if how == "driver" or (how == "late" and requests == 2):
            shutil.copy(os.environ["DUMP"], base().with_name(f"{base().name}.nvcudmp"))


def launch(session):
    session.add_launch(launch_one_call(session)(0), 1, 2)
    session.flush()


def main(how):
    """Record a launch, and hang."""
    session = kvtrace.start(os.environ["KVTRACE"])
    launch(session)
    threading.Thread(
        target=load_batches, args=(threading.Event(), how), name="loader", daemon=True
    ).start()
    if how == "fork":
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        launch(session)
    step(how)


if __name__ == "__main__":
    main(sys.argv[1])
