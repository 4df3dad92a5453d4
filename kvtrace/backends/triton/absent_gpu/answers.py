"""Puts answers into `torch.cuda` and `torch.accelerator`, in place of errors for want of a GPU.

Torch itself is asked first, each time: what it answers is never replaced. The first answer that
kvtrace gives is reported in one line.
"""

import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.absent_gpu.asked import asked
from kvtrace.backends.triton.absent_gpu.facts import (
    architecture_of,
    capability_of,
    properties_of,
)
from kvtrace.backends.triton.absent_gpu.streams import Chosen, Event, Stream

if TYPE_CHECKING:
    from kvtrace.capture.session import Session

Answer = Callable[..., Any]

#: What torch raises for want of a GPU, or of CUDA in its build.
_FAILURES = (AssertionError, RuntimeError, AttributeError)


def _nothing(*_arguments: Any, **_named: Any) -> None:
    """Do what there is nothing to do for."""


def _first(*_arguments: Any, **_named: Any) -> int:
    return 0


def _no(*_arguments: Any, **_named: Any) -> bool:
    return False


def _stream(*_arguments: Any, **_named: Any) -> Stream:
    return Stream()


#: Answers that are taken whatever torch says, once it says that there is a GPU.
_OF_STREAMS: Final = (
    "current_stream", "default_stream", "set_stream", "synchronize", "get_device_name",
    "get_device_capability", "is_current_stream_capturing",
)  # fmt: skip


def _failing(torch: Any, target: str) -> dict[str, dict[str, Answer]]:
    """Answers to questions that fail without a GPU, by module of torch and function."""
    properties, capability = properties_of(target), capability_of(target)
    total = properties.total_memory
    from kvtrace.backends.triton.absent_gpu.generators import DEVICE_GENERATOR

    return {
        "cuda": {
            "current_device": _first,
            "set_device": _nothing,
            "synchronize": _nothing,
            "init": _nothing,
            "ipc_collect": _nothing,
            "get_device_name": lambda *_, **__: properties.name,
            "get_device_capability": lambda *_, **__: capability,
            "get_device_properties": lambda *_, **__: properties,
            "can_device_access_peer": _no,
            "current_stream": _stream,
            "default_stream": _stream,
            "set_stream": _nothing,
            "is_current_stream_capturing": _no,
            "mem_get_info": lambda *_, **__: (total, total),
            "reset_peak_memory_stats": _nothing,
            "reset_max_memory_allocated": _nothing,
            "reset_max_memory_cached": _nothing,
            "reset_accumulated_memory_stats": _nothing,
            "get_rng_state": lambda *_, **__: DEVICE_GENERATOR.get_state(),
            "set_rng_state": lambda state, *_, **__: _nothing(DEVICE_GENERATOR.set_state(state)),
            "initial_seed": lambda: torch.default_generator.initial_seed(),
        },
        "accelerator": {
            "current_device_index": _first,
            "set_device_index": _nothing,
            "synchronize": _nothing,
            "current_stream": _stream,
            "set_stream": _nothing,
            "get_memory_info": lambda *_, **__: (total, total),
            **dict.fromkeys(("memory_allocated", "max_memory_allocated"), _first),
            **dict.fromkeys(("memory_reserved", "max_memory_reserved"), _first),
            **dict.fromkeys(("empty_cache", "reset_peak_memory_stats"), _nothing),
        },
    }


def _present(torch: Any, target: str) -> dict[str, dict[str, Answer]]:
    """Answers with which torch says that there is one GPU; what they lack, its own code has."""
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
            "memory_allocated": lambda *_: use.now,
            "max_memory_allocated": lambda *_: use.peak,
            "memory_reserved": lambda *_: use.now,
            "max_memory_reserved": lambda *_: use.peak,
            "reset_peak_memory_stats": lambda *_: torch.cuda.reset_peak_memory_stats(),
        },
    }
    without = _failing(torch, target)
    # torch's C++ would answer these for its device guard, which knows no index and no stream
    return {
        "cuda": {name: without["cuda"][name] for name in _OF_STREAMS} | answers["cuda"],
        "accelerator": without["accelerator"] | answers["accelerator"],
    }


def install_answers(
    session: "Session", target: str, says_there_is_one: bool = False
) -> Replacements:
    """Put the answers for a target into torch; if so wished, also that there is a GPU."""
    import torch

    replaced = Replacements()
    name = properties_of(target).name
    if says_there_is_one:
        text = (
            f"no GPU here: torch reports one {name} ({target}), and what is asked for on cuda "
            "is made on the CPU (KVTRACE_DEVICE=cpu)"
        )
        _say(session, text)
        _put(replaced, torch, _present(torch, target), _whatever)
    else:
        told = functools.cache(_say_once(session, name, target))
        _put(replaced, torch, _failing(torch, target), _where_it_fails, told)
        replaced.put(torch.cuda, "device", Chosen)
        replaced.put(torch.cuda, "device_of", Chosen)
    for owner, attribute, ours in (
        (torch.cuda, "Stream", Stream),
        (torch.cuda, "ExternalStream", Stream),
        (torch.cuda, "Event", Event),
        (torch.cuda, "stream", Chosen),
    ):
        replaced.put(owner, attribute, ours)
    return replaced


def _put(
    replaced: Replacements,
    torch: Any,
    answers: Mapping[str, Mapping[str, Answer]],
    around: Callable[[Answer, Answer, Answer], Answer],
    told: Answer = _nothing,
) -> None:
    for module, functions in answers.items():
        owner = getattr(torch, module, None)
        for name, ours in functions.items():
            original = getattr(owner, name, None)
            if original is not None:  # older torch has no accelerator, or less of it
                replaced.put(owner, name, functools.wraps(original)(around(original, ours, told)))


def _whatever(original: Answer, ours: Answer, _told: Answer) -> Answer:
    """Answer; by a function for each question, as Dynamo knows functions by their identity."""
    name = f"{original.__module__}.{original.__name__}"

    def answered(*arguments: Any, **named: Any) -> Any:
        asked.answered.add(name)
        return ours(*arguments, **named)

    return answered


def _where_it_fails(original: Answer, ours: Answer, told: Answer) -> Answer:
    """Ask torch, and answer where that fails."""

    def asked(*arguments: Any, **named: Any) -> Any:
        try:
            return original(*arguments, **named)
        except _FAILURES:
            told()
            return ours(*arguments, **named)

    return asked


def _say_once(session: "Session", name: str, target: str) -> Callable[[], None]:
    def say() -> None:
        text = (
            f"no GPU here: what would fail in torch.cuda is answered for {name} ({target}); first "
            f"asked at {_asker()}; KVTRACE_DEVICE=cpu also makes tensors for it on the CPU"
        )
        _say(session, text)

    return say


def _say(session: "Session", text: str) -> None:
    session.message("info", "device-answers", text)
    print(f"kvtrace: {text}", file=sys.stderr, flush=True)


def _asker() -> str:
    """File and line of the program that asks; not of torch, Triton or kvtrace."""
    torch: Any = sys.modules["torch"]
    ours = str(Path(__file__).parents[3])
    inner = (ours, str(Path(torch.__file__).parent))
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inner):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
