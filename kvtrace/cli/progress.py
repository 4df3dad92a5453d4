"""Progress bars on standard error, of passes and of queries; silent where nobody looks."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def calls_progress(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """Return a function to call with (done, total); None where standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield advance


@contextmanager
def query_progress(percent: Callable[[], float]) -> Iterator[None]:
    """Show how far a query is that runs inside, in percent; below 0 it is not known."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress

    done = threading.Event()
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("query", total=100)

        def follow() -> None:
            while not done.wait(0.2):
                bar.update(task, completed=max(0.0, percent()))

        follower = threading.Thread(target=follow, daemon=True)
        follower.start()
        try:
            yield
        finally:
            done.set()
            follower.join()
