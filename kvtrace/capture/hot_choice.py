"""Which hot path a recording has: the native one where it is built and torch offers what it needs."""

import sys
from collections.abc import Callable
from typing import Any

from kvtrace.capture.hot import CUDA, Describe, Problem, Recorder


def make_recorder(describe: Describe, problem: Problem, max_calls: int) -> tuple[Recorder, str]:
    """Make the best recorder there can be; say in one sentence which it is, and why."""
    torch = sys.modules.get("torch")
    types: tuple[type, ...] = ()
    if torch is not None:
        types = (torch.Tensor, torch.nn.Parameter)
    recorder = Recorder(
        describe,
        problem,
        tensor_types=types,
        max_calls=max_calls,
        stream_of=_stream_of(torch),
        is_capturing=_is_capturing(torch),
    )
    return recorder, "launches are recorded by the Python hot path"


def _stream_of(torch: Any) -> Callable[[int, int], int] | None:
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    if raw is None:
        return None

    def stream(kind: int, device: int) -> int:
        return int(raw(device)) if kind >= CUDA else 0

    return stream


def _is_capturing(torch: Any) -> Callable[[int], bool] | None:
    asked = getattr(getattr(torch, "cuda", None), "is_current_stream_capturing", None)
    if asked is None:
        return None
    return lambda _stream: bool(asked())
