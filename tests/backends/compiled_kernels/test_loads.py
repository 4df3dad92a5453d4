"""Loads are remembered by the compiler's hash, once, from whatever thread."""

import threading
import time

from kvtrace.backends.compiled_kernels.loads import Loads


def test_loads_of_concurrent_threads_are_timed_separately() -> None:
    loads = Loads()
    together = threading.Barrier(4)

    def load(number: int) -> None:
        together.wait()
        loads.begins(None, None, f"k{number}", None, str(number))
        time.sleep(0.01 * (number + 1))
        loads.ends(1, 2, f"k{number}", None, str(number))

    threads = [threading.Thread(target=load, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken_loads = [loads.take(str(number)) for number in range(4)]
    assert all(load and load.duration >= 0.01e9 * (n + 1) for n, load in enumerate(taken_loads))
    assert len({load.thread for load in taken_loads if load}) == 4
    assert loads.take("0") is None


def test_a_load_end_without_a_begin_is_ignored() -> None:
    loads = Loads()
    loads.ends(1, 2, "k", None, "key")
    assert loads.take("key") is None
