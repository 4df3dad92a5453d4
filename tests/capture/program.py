"""A program that launches a kernel and ends in the way that its first argument names.

It never imports kvtrace, but for the ways that are about doing so.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, size, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = index < size
    total = tl.load(x + index, mask=kept) + tl.load(y + index, mask=kept)
    tl.store(out + index, total, mask=kept)


def launch(times: int, size: int = 100) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.arange(size, dtype=torch.float32, device=device)
    out = torch.empty_like(x)
    for _ in range(times):
        add[lambda meta: (triton.cdiv(size, meta["BLOCK"]),)](x, x, out, size, BLOCK=64)
    assert torch.equal(out, x + x)


def plain() -> None:
    launch(3)


def leave_with_7() -> None:
    launch(3)
    sys.exit(7)


def fail() -> None:
    launch(3)
    raise RuntimeError("the program's own")


def leave_at_once() -> None:
    launch(3)
    os._exit(3)


def wait() -> None:
    launch(3)
    print("launched", flush=True)
    # In short sleeps: Python looks for signals before it enters one, and one that comes in between
    # acts after it (3.11: SIGINT at once after the line, 2 of 1,343 processes slept on).
    for _ in range(6000):
        time.sleep(0.1)


def threads() -> None:
    launch(1)
    workers = [threading.Thread(target=launch, args=(50,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def fork() -> None:
    launch(1)
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            launch(2)
            sys.exit(0)
        children.append(child)
        launch(1)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert codes == [0, 0, 0], codes


def fork_while_a_thread_launches() -> None:
    """Another thread holds each lock that a launch takes at one of the forks, new sizes at all.

    Threads change every 10 µs, not every 5 ms, so that forks fall anywhere in a launch.
    """
    sys.setswitchinterval(1e-5)
    ended = threading.Event()

    def go_on() -> None:
        size = 100
        while not ended.is_set():
            size += 1
            launch(1, size)

    launch(1)
    thread = threading.Thread(target=go_on)
    thread.start()
    for _ in range(10):
        child = os.fork()
        if child == 0:
            launch(2, 50)
            os._exit(0)
        late = time.monotonic() + 300
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > late:
                ended.set()
                os.kill(child, signal.SIGKILL)
                thread.join()
                raise TimeoutError("a forked child hangs")
            time.sleep(0.001)
    ended.set()
    thread.join()


def fork_without_launching() -> None:
    launch(1)
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    launch(1)


def processes() -> None:
    for method in ("spawn", "forkserver", "fork"):
        worker = multiprocessing.get_context(method).Process(target=launch, args=(2,))
        worker.start()
        worker.join()
        assert worker.exitcode == 0, method


def ranks() -> None:
    """Start two ranks as a launcher does, each in a folder of its own."""
    started = []
    for rank in ("0", "1"):
        Path(f"rank{rank}").mkdir()
        environment = os.environ | {"RANK": rank, "WORLD_SIZE": "2", "LOCAL_RANK": rank}
        command = [sys.executable, __file__, "plain"]
        started.append(subprocess.Popen(command, env=environment, cwd=f"rank{rank}"))
    assert [process.wait() for process in started] == [0, 0]


def full_disk(is_handled: bool = False) -> None:
    """Limit the size of the files that this process may write, as a full disk would."""
    import resource

    from kvtrace.capture import api

    launch(1)
    api.current().flush()  # on the disk before that is full
    if is_handled:
        signal.signal(signal.SIGXFSZ, lambda *_: print("the program's handler"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    for size in range(1, 400):
        launch(1, size)
        time.sleep(0.005)
    print("went on to the end")


def full_disk_with_a_handler() -> None:
    full_disk(is_handled=True)


def ever_new_shapes() -> None:
    for size in range(1, 31):
        launch(1, size)


def main_thread_ends_first() -> None:
    def later() -> None:
        time.sleep(0.3)
        launch(2)

    launch(1)
    threading.Thread(target=later).start()


def twice() -> None:
    import kvtrace

    with kvtrace.capture("first"):
        launch(2)
    with kvtrace.capture("second") as session:
        assert kvtrace.start("third") is session
        launch(3)
    launch_outside_of_capture()
    kvtrace.mark("outside")


def stop_in_code() -> None:
    """Under the variable: captures in code are part of its recording, until a stop."""
    import kvtrace

    with kvtrace.capture("elsewhere"):
        launch(2)
    kvtrace.start("nowhere")
    launch(1)
    kvtrace.stop()
    launch_outside_of_capture()
    kvtrace.mark("after the end")


def launch_outside_of_capture() -> None:
    from triton.runtime.jit import JITFunction

    assert type(JITFunction.run).__name__ == "function"
    assert JITFunction.run.__code__.co_filename.endswith("jit.py")


def marks() -> None:
    import kvtrace

    class Unprintable:
        def __str__(self) -> str:
            raise ValueError("no text")

    with kvtrace.mark("step", loss=0.5, number=1):
        launch(1)
    kvtrace.mark("instant")
    kvtrace.mark("\x00\n\ud800 'quoted' \"and\" </script>", value=Unprintable())
    kvtrace.mark("long" * 1000)
    kvtrace.mark(42)  # type: ignore[arg-type]


if __name__ == "__main__":
    globals()[sys.argv[1]]()
