"""Streams, events and device contexts of a device whose kernels end before each call returns."""

import contextlib
import time
from typing import Any


class Event:
    """A point in time; as the host waits for every kernel, a recorded event is reached at once."""

    def __init__(self, *_settings: Any, **_more: Any) -> None:
        """Make an event that is not recorded; settings are ignored."""
        self._time_ns = 0

    def record(self, *_stream: Any) -> None:
        """Set the event's time to now."""
        self._time_ns = time.perf_counter_ns()

    def synchronize(self) -> None:
        """Return at once."""

    def wait(self, *_stream: Any) -> None:
        """Return at once."""

    def query(self) -> bool:
        """Return True: the device has always reached the event."""
        return True

    def elapsed_time(self, end: "Event") -> float:
        """Return the milliseconds from this event to another."""
        return (end._time_ns - self._time_ns) / 1e6


class Stream:
    """A stream that never has work; all streams are equal."""

    cuda_stream = 0
    stream_id = 0
    device_index = 0
    device_type = 1
    priority = 0

    def __init__(self, *_settings: Any, **_more: Any) -> None:
        """Make a stream; settings are ignored."""

    def __eq__(self, other: object) -> bool:
        """Return whether the other object is a stream."""
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        """Return the hash that all streams share."""
        return 0

    def __enter__(self) -> "Stream":
        """Return the stream, which is always the current stream."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Do nothing."""

    @property
    def device(self) -> Any:
        """The device that the stream reports."""
        import torch

        return torch.device("cuda", 0)

    def synchronize(self) -> None:
        """Return at once."""

    def query(self) -> bool:
        """Return True: the stream's work is always done."""
        return True

    def is_capturing(self) -> bool:
        """Return False: launches are never captured into a graph."""
        return False

    def wait_event(self, _event: Any) -> None:
        """Return at once."""

    def wait_stream(self, _stream: Any) -> None:
        """Return at once."""

    def record_event(self, event: Event | None = None) -> Event:
        """Record the event, or a new event, and return it."""
        event = Event() if event is None else event
        event.record()
        return event


class DeviceContext(contextlib.ContextDecorator):
    """A context for the only device or the only stream; entering changes nothing."""

    idx = 0
    prev_idx = 0

    def __init__(self, _chosen: Any = None) -> None:
        """Take a device or a stream, which is ignored."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *_exception: object) -> None:
        """Do nothing."""
