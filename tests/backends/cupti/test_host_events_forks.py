"""Forks of a program whose threads are in CUPTI's callbacks."""

import os
import signal
import threading

import pytest

from kvtrace.backends.cupti import _requests
from tests.backends.cupti.driver_requests import STREAM_SYNCHRONIZE, ask
from tests.support.thorough import usually

FORKS = usually(60, thorough=600)


@pytest.fixture
def busy_threads():
    """Threads in which the driver is called, and one that takes its requests."""
    _requests.forget()
    _requests.expect(*STREAM_SYNCHRONIZE, 2)
    stopping = threading.Event()

    def work(function, *arguments):
        while not stopping.is_set():
            function(*arguments)

    calls = [(ask, STREAM_SYNCHRONIZE)] * 3 + [(_requests.take,)]
    threads = [threading.Thread(target=work, args=call) for call in calls]
    for thread in threads:
        thread.start()
    yield
    stopping.set()
    for thread in threads:
        thread.join()
    _requests.forget()


@pytest.mark.process
@pytest.mark.usefixtures("busy_threads")
def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent():
    for _ in range(FORKS):
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(20)
            _requests.take()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.process
def test_a_request_of_a_forked_child_names_the_childs_thread():
    _requests.forget()
    _requests.expect(*STREAM_SYNCHRONIZE, 2)
    ask(STREAM_SYNCHRONIZE)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _requests.take()
        ask(STREAM_SYNCHRONIZE)
        os.write(writing, _requests.take()[0])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    request = os.read(reading, 1000)
    os.close(reading)
    os.close(writing)
    assert int.from_bytes(request[24:32], "little") == child
    _requests.forget()
