"""Work on several cores whose results are wanted in order, without holding many of them."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

Result = TypeVar("Result")

#: NumPy lets go of the interpreter while it works on large arrays; more threads than this wait.
_MOST_THREADS: Final = 4


def in_order(tasks: Iterable[Callable[[], Result]]) -> Iterator[Result]:
    """Run tasks on threads and give their results in the order of the tasks.

    At most two results per thread are begun ahead of the one that is waited for.
    """
    threads = min(os.cpu_count() or 1, _MOST_THREADS)
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[Result]] = deque()
        try:
            for task in tasks:
                ahead.append(pool.submit(task))
                if len(ahead) > 2 * threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()
