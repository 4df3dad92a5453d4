"""Columns of executions by the requests that asked for them."""

import gc
import threading

import numpy as np
import pytest

from kvtrace.backends.cupti import _requests
from kvtrace.backends.cupti.host_events import HostEvents
from kvtrace.capture.rounds import HostEventRows
from kvtrace.capture.threads import RecordingThread
from tests.backends.cupti.driver_requests import LAUNCH, ask

torch = pytest.importorskip("torch")


class Stacks:
    """A journal that keeps stacks, which are numbered from 100."""

    def __init__(self):
        self.rows, self.kinds, self.host_events = [], [], HostEventRows()

    def append(self, _table, columns):
        self.kinds += columns["kind"].to_pylist()

    def add_stack(self, frames):
        if frames not in self.rows:
            self.rows.append(frames)
        return 100 + self.rows.index(frames)


class Doubled(torch.nn.Module):
    def forward(self, x):
        result = x * 2
        ask(LAUNCH, 1)
        return result


@pytest.fixture
def events():
    made = HostEvents(_requests, pytest.fail, None)
    yield made
    made.end()
    _requests.forget()


def test_execution_of_a_backward_has_the_stack_of_its_forward_and_others_have_none(events):
    events.take()  # finds autograd
    x = torch.ones(2, requires_grad=True)
    result = Doubled()(x)
    result.register_hook(lambda _gradient: ask(LAUNCH, 2))  # runs in the node of `x * 2`
    ask(LAUNCH, 3)
    thread = threading.Thread(target=result.sum().backward)
    thread.start()
    thread.join()
    events.take()
    journal = Stacks()
    wanted = np.asarray([True, False, True, True])
    columns = events.asked(np.asarray([1, 2, 3, 4]), wanted, journal)
    forward = columns["forward_stack_id"].to_pylist()
    # also where the launch is known, which then has the stack of the request itself
    assert [number is not None for number in forward] == [False, True, False, False]
    assert columns["stack_id"].to_pylist()[1] is None
    functions = [frame.function for frame in journal.rows[forward[1] - 100]]
    assert functions[:3] == ["ask", "Doubled.forward", "Module._call_impl"]
    assert events.nodeless is None


def test_collections_in_threads_of_the_recording_have_a_kind_of_their_own(events):
    # given as many objects as take more than 0.1 ms
    gc.disable()
    try:
        kept, journal = [[number] for number in range(200_000)], Stacks()
        events.write(Stacks())
        thread = RecordingThread(gc.collect)
        thread.start()
        thread.join(30)
        gc.collect()
    finally:
        gc.enable()
    events.write(journal)
    assert journal.kinds == ["collect_recording", "collect"]
    assert len(kept) == 200_000
