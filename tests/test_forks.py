"""Locks in a forked child: all of them can be taken, and what they guard is whole."""

import os
import re
import signal
import threading
from importlib import import_module

import pytest

from kvtrace import forks
from kvtrace.forks import Lock
from kvtrace.schema.cached_property import cached_property
from tests.support.tree import ROOT, package_files

#: What makes something that a thread can wait for, and that a fork can leave as it is.
WAITED_FOR = re.compile(r"threading\.(R?Lock|Condition|Semaphore|BoundedSemaphore|Barrier)\b")
#: Python 3.11's has a lock for all instances, held while another thread works out its value.
LOCKED_PROPERTY = re.compile(r"^ *from functools import .*\bcached_property\b", re.MULTILINE)
#: Seconds after which a child is taken to hang.
PATIENCE = 60


def in_child(check) -> int:
    """Fork, and return the exit code of a child that ends with 0 if `check` returns true.

    One that hangs is ended by a signal, and has its number below zero.
    """
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        code = 2
        try:
            code = 0 if check() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def held_elsewhere():
    """Hold locks in another thread until the test ends."""
    ended, threads = threading.Event(), []

    def hold(lock):
        begun = threading.Event()

        def work():
            with lock:
                begun.set()
                ended.wait()

        threads.append(threading.Thread(target=work))
        threads[-1].start()
        begun.wait()

    yield hold
    ended.set()
    for thread in threads:
        thread.join()


def free(lock):
    taken = lock.acquire(timeout=0)
    if taken:
        lock.release()
    return taken


def files_with(pattern):
    files = package_files(".py")
    return {p.relative_to(ROOT).as_posix() for p in files if pattern.search(p.read_text())}


def test_no_lock_is_made_elsewhere():
    assert files_with(WAITED_FOR) == {"kvtrace/forks.py"}
    # type checkers alone are shown the standard library's there
    assert files_with(LOCKED_PROPERTY) == {"kvtrace/schema/cached_property.py"}


@pytest.mark.process
def test_a_property_that_another_thread_works_out_can_be_asked_in_a_child():
    begun, ended = threading.Event(), threading.Event()

    class Sized:
        def __init__(self, wait):
            self.wait = wait

        @cached_property
        def size(self):
            if self.wait:
                begun.set()
                ended.wait()
            return 3

    thread = threading.Thread(target=lambda: Sized(wait=True).size)
    thread.start()
    begun.wait()
    assert in_child(lambda: Sized(wait=False).size == 3) == 0
    ended.set()
    thread.join()


@pytest.mark.smoke
@pytest.mark.process
def test_every_lock_of_ours_is_free_in_a_child(held_elsewhere, monkeypatch, tmp_path):
    # given every kind of lock that kvtrace makes, all held by another thread
    for name in ("symbolic.terms", "symbolic.prover.solver", "evaluate.threads", "capture.api"):
        import_module(f"kvtrace.{name}")
    from kvtrace.capture.session import Session
    from kvtrace.settings import Settings

    made = Session(str(tmp_path), Settings())
    monkeypatch.setattr(forks, "PATIENCE", 0.0)
    every = forks.locks()
    assert len(every) >= 6
    for lock in every:
        held_elsewhere(lock)
    # then none of them is held in a child, and all are in the parent
    assert in_child(lambda: all(map(free, every))) == 0
    assert not any(map(free, every))
    assert made


@pytest.mark.process
def test_a_lock_that_the_forking_thread_holds_is_still_its_own():
    lock = Lock()

    def check():
        with lock:
            found = []
            other = threading.Thread(target=lambda: found.append(free(lock)))
            other.start()
            other.join()
        return found == [False]

    with lock:
        assert in_child(check) == 0
    assert free(lock)


@pytest.mark.process
def test_a_fork_waits_for_what_must_be_whole():
    # given another thread in the middle of changing what a lock guards
    lock, begun, state = Lock(taken=True), threading.Event(), ["whole"]

    def change():
        with lock:
            state[:] = ["half"]
            begun.set()
            threading.Event().wait(0.05)
            state[:] = ["whole"]

    thread = threading.Thread(target=change)
    thread.start()
    begun.wait()
    # then a child does not see it
    assert in_child(lambda: state == ["whole"] and free(lock)) == 0
    thread.join()
    assert free(lock)


@pytest.mark.process
def test_what_a_lock_guards_is_put_right_in_the_child():
    called = []
    lock = Lock(renewed=lambda: called.append(os.getpid()))
    assert in_child(lambda: called == [os.getpid()]) == 0
    assert called == []
    assert lock


@pytest.mark.process
def test_products_use_all_threads_again_in_a_child(held_elsewhere):
    """Another thread that evaluates has NumPy's BLAS use one thread; it is not in the child."""
    from kvtrace.evaluate.threads import ONE_THREAD

    with ONE_THREAD:
        pass
    libraries = ONE_THREAD._libraries or ()
    before = [library.num_threads for library in libraries]
    held_elsewhere(ONE_THREAD)
    assert in_child(lambda: [library.num_threads for library in libraries] == before) == 0


def test_dead_locks_are_forgotten():
    before = len(forks.locks())
    for _ in range(10):
        Lock()
    assert len(forks.locks()) == before
