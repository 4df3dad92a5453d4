"""A program that dies early is no sign of another profiler."""

import time

import pytest

from kvtrace.backends.cupti import library
from kvtrace.capture.journal import INTERVAL


def test_the_first_rounds_of_a_recording_are_no_silence() -> None:
    one = library.SilenceTimer()
    one.expect()
    for _ in range(100):  # rounds that follow each other at once
        assert not one.lasts()
    assert library.PATIENCE >= 4 * INTERVAL


def test_silence_is_reported_once_and_timed_again_from_the_next_launch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(library, "PATIENCE", 0.01)
    one = library.SilenceTimer()
    time.sleep(0.02)
    assert not one.lasts()  # nothing was launched
    one.expect()
    time.sleep(0.02)
    one.expect()
    assert one.lasts()
    assert not one.lasts()
    one.expect()
    assert not one.lasts()


def test_records_end_the_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "PATIENCE", 0.01)
    one = library.SilenceTimer()
    one.expect()
    one.end()
    time.sleep(0.02)
    assert not one.lasts()
