"""Execution of tasks on several threads, with results in order and few of them in memory."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

Result = TypeVar("Result")

#: Most threads. They help only while NumPy releases the interpreter lock; more gain nothing.
_MOST_THREADS: Final = 4


def in_order(tasks: Iterable[Callable[[], Result]]) -> Iterator[Result]:
    """Run tasks on threads, and yield their results in the order of the tasks.

    At most two tasks per thread are submitted before the oldest result is yielded.
    """
    threads = min(os.cpu_count() or 1, _MOST_THREADS)
    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[Result]] = deque()
        try:
            for task in tasks:
                pending.append(pool.submit(task))
                if len(pending) > 2 * threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
