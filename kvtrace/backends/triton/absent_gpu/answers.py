"""Results of `torch.cuda` and `torch.accelerator` in place of errors on a machine without a GPU.

With the setting `answers`, torch's own function is called first, each time, and kvtrace's result is
returned only if that fails; the first time is reported in one line. With the setting `cpu`, torch
reports one GPU.
"""

import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.absent_gpu.facts import (
    architecture_of,
    capability_of,
    device_requests,
    properties_of,
)
from kvtrace.backends.triton.absent_gpu.streams import DeviceContext, Event, Stream
from kvtrace.surroundings import print_error

if TYPE_CHECKING:
    from kvtrace.capture.session import Session

Answer = Callable[..., Any]

#: Errors that torch raises without a GPU, or when built without CUDA.
_FAILURES = (AssertionError, RuntimeError, AttributeError)


def _do_nothing(*_arguments: Any, **_named: Any) -> None:
    """Do nothing."""


def _return_zero(*_arguments: Any, **_named: Any) -> int:
    return 0


def _return_false(*_arguments: Any, **_named: Any) -> bool:
    return False


def _stream(*_arguments: Any, **_named: Any) -> Stream:
    return Stream()


#: Functions that are always replaced once torch reports a GPU: they concern streams or the name.
_ALWAYS_REPLACED: Final = (
    "current_stream", "default_stream", "set_stream", "synchronize", "get_device_name",
    "get_device_capability", "is_current_stream_capturing",
)  # fmt: skip


def _answers_without_gpu(torch: Any, target: str) -> dict[str, dict[str, Answer]]:
    """Return functions for queries that fail without a GPU, by module of torch and name."""
    properties, capability = properties_of(target), capability_of(target)
    total = properties.total_memory
    from kvtrace.backends.triton.absent_gpu.generators import DEVICE_GENERATOR

    return {
        "cuda": {
            "current_device": _return_zero,
            "set_device": _do_nothing,
            "synchronize": _do_nothing,
            "init": _do_nothing,
            "ipc_collect": _do_nothing,
            "get_device_name": lambda *_, **__: properties.name,
            "get_device_capability": lambda *_, **__: capability,
            "get_device_properties": lambda *_, **__: properties,
            "can_device_access_peer": _return_false,
            "current_stream": _stream,
            "default_stream": _stream,
            "set_stream": _do_nothing,
            "is_current_stream_capturing": _return_false,
            "mem_get_info": lambda *_, **__: (total, total),
            "reset_peak_memory_stats": _do_nothing,
            "reset_max_memory_allocated": _do_nothing,
            "reset_max_memory_cached": _do_nothing,
            "reset_accumulated_memory_stats": _do_nothing,
            "get_rng_state": lambda *_, **__: DEVICE_GENERATOR.get_state(),
            "set_rng_state": lambda state, *_, **__: _do_nothing(DEVICE_GENERATOR.set_state(state)),
            "initial_seed": lambda: torch.default_generator.initial_seed(),
        },
        "accelerator": {
            "current_device_index": _return_zero,
            "set_device_index": _do_nothing,
            "synchronize": _do_nothing,
            "current_stream": _stream,
            "set_stream": _do_nothing,
            "get_memory_info": lambda *_, **__: (total, total),
            **dict.fromkeys(("memory_allocated", "max_memory_allocated"), _return_zero),
            **dict.fromkeys(("memory_reserved", "max_memory_reserved"), _return_zero),
            **dict.fromkeys(("empty_cache", "empty_host_cache"), _do_nothing),
            **dict.fromkeys(
                ("reset_peak_memory_stats", "reset_accumulated_memory_stats"), _do_nothing
            ),
        },
    }


def _answers_with_gpu(torch: Any, target: str) -> dict[str, dict[str, Answer]]:
    """Return functions, by module of torch and name, with which torch reports one GPU."""
    from kvtrace.backends.triton.absent_gpu.device_memory import use
    from kvtrace.backends.triton.absent_gpu.operators import check_index

    properties, (major, _) = properties_of(target), capability_of(target)

    def of_device(device: Any = None) -> Any:
        check_index(device if isinstance(device, int) else torch.device(device or "cuda").index)
        return properties

    def memory(_device: Any = None) -> tuple[int, int]:
        return max(properties.total_memory - use.now, 0), properties.total_memory

    answers: dict[str, dict[str, Answer]] = {
        "cuda": {
            "is_available": lambda: True,
            "device_count": lambda: 1,
            "get_arch_list": lambda: [architecture_of(target)],
            "is_bf16_supported": lambda *_, **__: major >= 8,
            "is_tf32_supported": lambda: major >= 8 and target.startswith("cuda:"),
            "get_device_properties": of_device,
            "mem_get_info": memory,
        },
        "accelerator": {
            "is_available": lambda: True,
            "device_count": lambda: 1,
            "current_accelerator": lambda *_, **__: torch.device("cuda"),
            "get_memory_info": memory,
            "memory_stats": lambda *_: torch.cuda.memory_stats(),
            "memory_allocated": lambda *_: use.now,
            "max_memory_allocated": lambda *_: use.peak,
            "memory_reserved": lambda *_: use.now,
            "max_memory_reserved": lambda *_: use.peak,
            "reset_peak_memory_stats": lambda *_: torch.cuda.reset_peak_memory_stats(),
        },
    }
    without = _answers_without_gpu(torch, target)
    # torch's C++ would answer these for its device guard, which knows no index and no stream
    return {
        "cuda": {name: without["cuda"][name] for name in _ALWAYS_REPLACED} | answers["cuda"],
        "accelerator": without["accelerator"] | answers["accelerator"],
    }


def install_answers(session: "Session", target: str, reports_gpu: bool = False) -> Replacements:
    """Replace functions of torch for a target; with `reports_gpu`, torch also reports a GPU.

    Return the replacements, which can be undone.
    """
    import torch

    replaced = Replacements()
    name = properties_of(target).name
    if reports_gpu:
        text = (
            f"no GPU here: torch reports one {name} ({target}), and tensors for cuda "
            "are made on the CPU (KVTRACE_DEVICE=cpu)"
        )
        _report(session, text)
        _put(replaced, torch, _answers_with_gpu(torch, target), _always)
    else:
        report_once = functools.cache(_first_answer_reporter(session, name, target))
        _put(replaced, torch, _answers_without_gpu(torch, target), _on_failure, report_once)
        replaced.put(torch.cuda, "device", DeviceContext)
        replaced.put(torch.cuda, "device_of", DeviceContext)
    for owner, attribute, replacement in (
        (torch.cuda, "Stream", Stream),
        (torch.cuda, "ExternalStream", Stream),
        (torch.cuda, "Event", Event),
        (torch.cuda, "stream", DeviceContext),
    ):
        replaced.put(owner, attribute, replacement)
    return replaced


def _put(
    replaced: Replacements,
    torch: Any,
    answers: Mapping[str, Mapping[str, Answer]],
    wrap: Callable[[Answer, Answer, Answer], Answer],
    report: Answer = _do_nothing,
) -> None:
    for module, functions in answers.items():
        owner = getattr(torch, module, None)
        for name, answer in functions.items():
            original = getattr(owner, name, None)
            if original is not None:  # older torch has no accelerator, or less of it
                replaced.put(owner, name, functools.wraps(original)(wrap(original, answer, report)))


def _always(original: Answer, ours: Answer, _report: Answer) -> Answer:
    """Return a new function that calls `ours`; a new one, since Dynamo compares identities."""
    name = f"{original.__module__}.{original.__name__}"

    def answered(*arguments: Any, **named: Any) -> Any:
        device_requests.answered.add(name)
        return ours(*arguments, **named)

    return answered


def _on_failure(original: Answer, ours: Answer, report: Answer) -> Answer:
    """Return a function that calls torch's, and if that fails, `report` and `ours`."""

    def answered(*arguments: Any, **named: Any) -> Any:
        try:
            return original(*arguments, **named)
        except _FAILURES:
            report()
            return ours(*arguments, **named)

    return answered


def _first_answer_reporter(session: "Session", name: str, target: str) -> Callable[[], None]:
    def report() -> None:
        text = (
            f"no GPU here: calls of torch.cuda that would fail are answered for {name} ({target}); "
            f"first at {_calling_line()}; KVTRACE_DEVICE=cpu also puts tensors for cuda on the CPU"
        )
        _report(session, text)

    return report


def _report(session: "Session", text: str) -> None:
    session.message("info", "device-answers", text)
    print_error(text)


def _calling_line() -> str:
    """Return file and line of the innermost caller outside of torch, Triton and kvtrace."""
    torch: Any = sys.modules["torch"]
    own_folder = str(Path(__file__).parents[3])
    inner = (own_folder, str(Path(torch.__file__).parent))
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inner):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
