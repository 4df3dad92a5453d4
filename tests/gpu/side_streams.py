"""Launches of three threads, each on a stream of its own, for programs that a GPU runs by hand."""

import threading
from collections.abc import Callable

import torch


def launch_on_streams(launch: Callable[[int], None]) -> None:
    """Launch 0 to 8, a third of them in each thread, each behind a millisecond of other work."""
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()

    def work(number: int) -> None:
        with torch.cuda.stream(streams[number]):
            for each in range(number, 9, 3):
                torch.cuda._sleep(1_000_000)
                launch(each)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
