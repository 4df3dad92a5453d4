"""Streams, events and device contexts where no kernel is ever in flight when a call returns."""

import contextlib
import time
from typing import Any


class Event:
    """A point in time; the host waits for every kernel, so it is reached when recorded."""

    def __init__(self, *_settings: Any, **_more: Any) -> None:
        """Make one that is not recorded."""
        self._time_ns = 0

    def record(self, *_stream: Any) -> None:
        """Note the time."""
        self._time_ns = time.perf_counter_ns()

    def synchronize(self) -> None:
        """Return at once."""

    def wait(self, *_stream: Any) -> None:
        """Return at once."""

    def query(self) -> bool:
        """Whether it is reached: always."""
        return True

    def elapsed_time(self, end: "Event") -> float:
        """Milliseconds from this event to the other."""
        return (end._time_ns - self._time_ns) / 1e6


class Stream:
    """A stream that never has work; all are the same one."""

    cuda_stream = 0
    stream_id = 0
    device_index = 0
    device_type = 1
    priority = 0

    def __init__(self, *_settings: Any, **_more: Any) -> None:
        """Make one; nothing tells it from another."""

    def __eq__(self, other: object) -> bool:
        """All are the same."""
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        """All are the same."""
        return 0

    def __enter__(self) -> "Stream":
        """Be the current stream, as it is already."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Leave it."""

    @property
    def device(self) -> Any:
        """The device that it reports."""
        import torch

        return torch.device("cuda", 0)

    def synchronize(self) -> None:
        """Return at once."""

    def query(self) -> bool:
        """Whether all work is done: always."""
        return True

    def is_capturing(self) -> bool:
        """Whether a graph is made of what is launched: never."""
        return False

    def wait_event(self, _event: Any) -> None:
        """Return at once."""

    def wait_stream(self, _stream: Any) -> None:
        """Return at once."""

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, a new one where none is given."""
        event = Event() if event is None else event
        event.record()
        return event


class Chosen(contextlib.ContextDecorator):
    """A context that chooses among one device or one stream."""

    idx = 0
    prev_idx = 0

    def __init__(self, _chosen: Any = None) -> None:
        """Take what is chosen, which changes nothing."""

    def __enter__(self) -> None:
        """Choose it."""

    def __exit__(self, *_exception: object) -> None:
        """Choose what was chosen before."""
