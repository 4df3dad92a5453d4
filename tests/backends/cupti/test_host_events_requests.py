"""Stacks that are read without Python's lock, as CUPTI's callback reads them; called by ctypes."""

import ctypes
import sys
import threading

import numpy as np
import pytest

from kvtrace.backends.cupti import _requests
from kvtrace.backends.cupti.host_events import Requests
from tests.backends.cupti import driver_requests
from tests.backends.cupti.driver_requests import (
    ALLOCATE,
    CALLBACK,
    LAUNCH,
    STREAM_SYNCHRONIZE,
    Allocation,
    Asked,
    ask,
)


@pytest.fixture
def requests():
    made = Requests(_requests)
    assert made.stackless is None
    return made


def stacks_of(requests, *correlations):
    _, numbers, _ = requests.of(np.asarray(correlations))
    return [requests.frames(number) for number in numbers.tolist()]


def expected_frames(ask_line, depth):
    """What Python itself tells of the stack of `ask_line` of the caller's file."""
    frame = sys._getframe(1)
    found = []
    while frame is not None and len(found) < depth:
        found.append((frame.f_code.co_filename, frame.f_code.co_qualname))
        frame = frame.f_back
    return [(driver_requests.__file__, "ask"), *found][:depth]


def test_execution_has_the_stack_of_its_request(requests):
    def inner():
        ask(LAUNCH, 7)
        line = sys._getframe().f_lineno - 1
        return line, expected_frames(line, 64)

    line, told = inner()
    requests.take()
    (frames,) = stacks_of(requests, 7)
    assert [(frame.file, frame.function) for frame in frames] == told[: len(frames)]
    assert len(frames) > 5
    assert (frames[1].line, frames[1].column) == (line, 9)


def test_equal_stacks_are_stored_once_and_two_lines_are_two_stacks(requests):
    for correlation in (1, 2):
        ask(LAUNCH, correlation)
    ask(LAUNCH, 3)
    requests.take()
    _, numbers, _ = requests.of(np.asarray([1, 2, 3, 4]))
    assert numbers[0] == numbers[1] != numbers[2]
    assert numbers[3] == 0


def test_thread_without_python_frames_has_no_stack(requests):
    thread = threading.Thread(target=ask, args=(LAUNCH, 11))
    thread.start()
    thread.join()
    requests.take()
    (frames,) = stacks_of(requests, 11)
    assert frames[0].function == "ask"
    assert "test_a_thread" not in " ".join(frame.function for frame in frames)


def test_frames_of_freed_code_objects_are_still_named(requests):
    text = "\n" * 40 + "def gone(): ask(LAUNCH, 5)"
    names = {"ask": ask, "LAUNCH": LAUNCH}
    exec(compile(text, "gone.py", "exec"), names)
    names["gone"]()
    del names["gone"]
    requests.take()
    (frames,) = stacks_of(requests, 5)
    assert ("gone.py", 41, "gone") in [(f.file, f.line, f.function) for f in frames]


def test_names_that_are_not_ascii_are_left_out(requests):
    names = {"ask": ask, "LAUNCH": LAUNCH}
    exec(compile("def größe(): ask(LAUNCH, 6)", "maß.py", "exec"), names)
    names["größe"]()
    requests.take()
    (frames,) = stacks_of(requests, 6)
    assert (frames[1].file, frames[1].function) == ("(not ASCII)", "(not ASCII)")


def test_synchronizations_and_allocations_are_recorded_as_events(requests):
    ask(STREAM_SYNCHRONIZE)
    ask(ALLOCATE, parameters=Allocation(bytes=4096))
    events = requests.take()
    assert events["kind"].tolist() == [2, 3]
    assert events["bytes"].tolist() == [0, 4096]
    assert (events["end"] >= events["begin"]).all()
    assert set(events["thread"].tolist()) == {threading.get_native_id()}


def test_requests_beyond_the_buffer_are_lost_and_counted(requests):
    own = ctypes.c_uint64()
    asked = Asked(own=ctypes.pointer(own))
    for _ in range((1 << 18) + 3):
        CALLBACK(None, *LAUNCH, ctypes.byref(asked))
    requests.take()
    assert requests.lost == 3


def test_different_layout_of_frames_is_detected_before_reading(monkeypatch):
    from kvtrace.backends.cupti import frames

    monkeypatch.setattr(frames, "_C_FRAMES", {})
    monkeypatch.setattr(frames, "_STATE_BYTES", 4 * frames._WORD)
    made = Requests(_requests)
    assert made.stackless == "the field of a thread's frame was not found"
    ask(LAUNCH, 9)
    made.take()
    assert stacks_of(made, 9) == [()]
    Requests(_requests)


def test_captures_of_graphs_are_counted_until_they_end_or_fail_to_begin():
    requests = Requests(_requests)
    begin, end = (1, 540), (1, 498)
    ask(begin, result=0)
    ask(begin, result=900)  # CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    assert requests.captures == 1
    ask(end, result=901)  # the capture was broken off, and has ended
    ask(end, result=0)
    assert requests.captures == 0
