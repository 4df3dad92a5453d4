"""The spool's thread beside threads that launch, drain and write, for ThreadSanitizer.

python -m tests.native.threads SECONDS
"""

import itertools
import os
import sys
import tempfile
import threading
import time
from typing import Any

from kvtrace.capture import _hot  # type: ignore[attr-defined]


class Kernel:
    """Stands for a compiled kernel."""


def launch_in_threads(memory: str, seconds: float) -> int:
    """Return how many launches were drained; `memory` is the file of the spool's memory."""
    numbers = itertools.count(1)
    recorder = _hot.Recorder(lambda value: (b"", None), print, (), 100)
    stopping = threading.Event()

    class Adapter:
        def new_kernel(self, _owner: Any, _kernel: Any) -> tuple[int, int, int]:
            return next(numbers), 0, 0

        def new_call(self, *_: Any) -> int:
            recorder.spool_add(b"[1]" * 100)
            recorder.spool_write()
            return next(numbers)

    class Function:
        kernel = Kernel()

        def plain(self, *args: Any, grid: Any, warmup: bool) -> Any:
            return self.kernel

        run = recorder.wrap(plain, Adapter())

    def work(thread: int) -> None:
        function = Function()
        for number in itertools.count():
            if stopping.is_set():
                return
            if number % 500 == 0:
                function.kernel = Kernel()
            function.run(number % 300, thread, 2.5, "text", (1, 2), grid=(1,), warmup=False)

    folder = tempfile.mkdtemp()
    assert recorder.spool_begin(f"{folder}/spool".encode(), memory.encode(), b"ns\n/x", b"[]")
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    drained, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.003)
        drained += len(recorder.drain())
        recorder.spool_switch()
        recorder.spool_empty()
    stopping.set()
    for thread in threads:
        thread.join()
    recorder.spool_end()
    return drained


def main(seconds: float) -> None:
    sys.setswitchinterval(1e-4)
    for memory in f"/dev/shm/kvtrace-threads-{os.getpid()}", "/no/such/memory":
        assert launch_in_threads(memory, seconds / 2)


if __name__ == "__main__":
    main(float(sys.argv[1]))
