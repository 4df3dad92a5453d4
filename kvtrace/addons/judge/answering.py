"""The candidate's side of calls: receives inputs as bytes, and sends results as bytes.

Results are read by compiled functions of torch and Python. These functions are looked up before the
candidate's file is imported, and the file receives no object that refers to them.
"""

from __future__ import annotations

import ctypes
import gc
import os
import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import Any, Final

import numpy as np
import torch

from kvtrace.addons.judge import tensors
from kvtrace.addons.judge.confining import ANSWERS, CALLS
from kvtrace.addons.judge.messages import SIZES, receive
from kvtrace.capture import threads as recording_threads
from kvtrace.inputs.cases import Input, ScalarInput, TensorInput, tensor_of

_MOST_BYTES: Final = 1 << 31
_TIMERS: Final = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
#: References to a result that the candidate does not keep: of a list, a loop and a call.
_UNSHARED_REFERENCES: Final = 3
_PLAIN: Final = (torch.Tensor, torch.nn.Parameter)


@dataclass
class Call:
    """One call of the candidate.

    `inputs` describe the inputs, `arguments` are their values; `weights` describe a model's
    weights, `values` are their values. `gradients`: PyTorch records gradients during the call.
    `tracked` and `cotangents` are those of the case.
    """

    number: int
    inputs: list[Input]
    arguments: list[Any]
    weights: list[TensorInput] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    gradients: bool = False
    tracked: bool = False
    cotangents: int = 0


class CallAnswerer:
    """Reads calls from a pipe, runs them, and writes the answers into another pipe."""

    def __init__(self) -> None:
        self._read = _result_reader()
        self._initial_threads = _python_threads()
        self._results: dict[int, list[Any]] = {}
        #: The last tensor of each position and description, whose contents may be overwritten.
        self._last_tensors: dict[tuple[Any, ...], Any] = {}

    def answer_all(
        self, first: tuple[dict[str, Any], bytes] | None, run: Callable[[Call], list[Any] | None]
    ) -> None:
        """Answer messages until the pipe is closed.

        Args:
            first: The first message, which was already read; None if there was none.
            run: Runs the candidate for a call, and returns its results; None if it raised an error.
        """
        read_results, write, pack, write_answer = self._read, os.write, SIZES.pack, _write_answer
        collect = gc.collect
        message = first
        while message is not None:
            header, content = message
            if "call" in header:
                call = self._decode_call(header, content)
                before = _generator_states()
                results = run(call)
                used_generators = [
                    name for name, state in _generator_states().items() if state != before[name]
                ]
                if results is not None and not results:
                    results = [value for value in call.arguments if tensors.is_tensor(value)]
                descriptions, odd, parts = read_results(results or [])
                if header["keep"] and parts:
                    self._results[call.number] = [*(results or [])]
                write_answer(write, pack, descriptions, odd, used_generators, parts)
            elif "again" in header:
                descriptions, odd, parts = read_results(self._results[header["again"]])
                write_answer(write, pack, descriptions, odd, [], parts)
            else:
                collect()  # a callback that waits for a collection changes results now
                is_active = (
                    _python_threads() > self._initial_threads
                    or any(signal.getitimer(timer)[0] for timer in _TIMERS)
                    or self._keeps_results()
                )
                write_answer(write, pack, "", [], [], [], is_active)
            message = receive(CALLS, _MOST_BYTES)

    def _keeps_results(self) -> bool:
        """Return whether the candidate still refers to a result of a call before its last one."""
        reused_inputs = {id(tensor) for tensor in self._last_tensors.values()}
        counts = Counter(id(value) for results in self._results.values() for value in results)
        return any(
            isinstance(value, torch.Tensor)
            and id(value) not in reused_inputs
            and counts[id(value)] == 1  # otherwise an input that was passed again at its address
            and sys.getrefcount(value) > _UNSHARED_REFERENCES
            for call in sorted(self._results)[:-1]
            for value in self._results[call]
        )

    def _decode_call(self, header: dict[str, Any], content: bytes) -> Call:
        inputs: list[Input] = []
        values: list[Any] = []
        byte_offset = 0
        result_addresses = {
            value.untyped_storage().data_ptr()
            for results in self._results.values()
            for value in results
            if isinstance(value, torch.Tensor)
        }
        input_count = len(header["inputs"])
        for position, entry in enumerate((*header["inputs"], *header["weights"])):
            if "dtype" not in entry:
                inputs.append(ScalarInput(entry["name"], entry["value"]))
                values.append(entry["value"])
                continue
            description = tensor_of({**entry, "file": ""})
            size = description.storage * getattr(torch, description.dtype).itemsize
            bytes_, byte_offset = content[byte_offset : byte_offset + size], byte_offset + size
            if entry.get("same") is not None:
                inputs.append(description)
                values.append(values[entry["same"]])
                continue
            key = (position, description)
            last_tensor = self._last_tensors.get(key)
            is_reusable = (
                last_tensor is not None
                and last_tensor.untyped_storage().data_ptr() not in result_addresses
            )
            if header["overwrite"] and size and is_reusable:
                _overwrite(last_tensor, bytes_)
                inputs.append(description)
                values.append(last_tensor)
                continue
            tensor = tensors.tensor_of(description, bytes_, "cuda")
            if position < input_count:
                self._last_tensors[key] = tensor
            inputs.append(description)
            values.append(tensor)
        weights = [entry for entry in inputs[input_count:] if isinstance(entry, TensorInput)]
        return Call(
            header["call"], inputs[:input_count], values[:input_count], weights,
            values[input_count:],
            header["gradients"], header["tracked"], header["cotangents"],
        )  # fmt: skip


def _overwrite(tensor: Any, content: bytes) -> None:
    """Overwrite the whole storage of a tensor with `content`."""
    storage = tensor.untyped_storage()
    ctypes.memmove(storage.data_ptr(), content, min(len(content), storage.nbytes()))


def _write_answer(
    write: Callable[[int, Any], int], pack: Callable[[int, int], bytes], descriptions: str,
    odd: Sequence[str], used_generators: Sequence[str], parts: Sequence[bytes],
    is_active: bool = False,
) -> None:  # fmt: skip
    """Write an answer into the pipe, in the format of `messages.py`, with the processor time.

    `descriptions` is JSON text on the results, `parts` are their bytes, `odd` are sentences on
    results that are no plain tensors. `is_active`: threads, timers or kept results were found.
    """
    texts = (",".join(f'"{name}"' for name in names) for names in (odd, used_generators))
    name_lists = ",".join(
        f'"{name}":[{text}]' for name, text in zip(("odd", "drew"), texts, strict=True)
    )
    active = "true" if is_active else "false"
    seconds = process_time()
    text = (
        f'{{"results":[{descriptions}],{name_lists},"running":{active},"seconds":{seconds!r}}}'
    ).encode()
    for part in (pack(len(text), sum(map(len, parts))) + text, *parts):
        remaining = memoryview(part)
        while remaining:
            remaining = remaining[write(ANSWERS, remaining[: 1 << 20]) :]


def _result_reader() -> Callable[[Sequence[Any]], tuple[str, list[str], list[bytes]]]:
    """Return a function that reads results: their JSON descriptions, oddities, and bytes."""
    base, strided, byte = torch._C.TensorBase, torch.strided, torch.uint8
    contiguous, strided_as, view, numpy = base.contiguous, base.as_strided, base.view, base.numpy
    detach, cpu, conjugated, negated = base.detach, base.cpu, base.resolve_conj, base.resolve_neg
    shape_of, dtype_of, count_of = base.shape.__get__, base.dtype.__get__, base.numel
    layout_of, attributes = base.layout.__get__, torch.Tensor.__dict__["__dict__"].__get__
    no_function, no_dispatch = torch._C.DisableTorchFunction, torch._C._DisableTorchDispatch
    to_bytes, cast = np.ndarray.tobytes, torch.Tensor.as_subclass

    def read(results: Sequence[Any]) -> tuple[str, list[str], list[bytes]]:
        descriptions: list[str] = []
        oddities: list[str] = []
        parts: list[bytes] = []
        for index, value in enumerate(results):
            if not isinstance(value, torch.Tensor):
                number = float(value) if type(value) in (bool, int, float) else None
                descriptions.append(
                    f'{{"value":{"null" if number is None else _json_number(number)}}}'
                )
                parts.append(b"")
                continue
            if type(value) not in _PLAIN:
                oddities.append(
                    f"result {index} is a {type(value).__name__[:40]!a}, no plain tensor"
                )
            elif attributes(value):
                oddities.append(f"result {index} is a tensor with separate attributes")
            with no_function(), no_dispatch():
                if type(value) not in _PLAIN:
                    value = cast(value, torch.Tensor)
                if layout_of(value) is not strided:
                    oddities.append(f"result {index} is a sparse tensor")
                    descriptions.append('{"value":null}')
                    parts.append(b"")
                    continue
                dense = contiguous(negated(conjugated(detach(value))))
                # A single element may have any strides, which no view of bytes takes.
                flat = cpu(strided_as(dense, (count_of(dense),), (1,)))
                part = to_bytes(numpy(view(flat, byte))) if len(flat) else b""
                dtype = str(dtype_of(value)).removeprefix("torch.")
                sizes = ",".join(str(int(size)) for size in shape_of(value))
            descriptions.append(f'{{"dtype":"{dtype}","shape":[{sizes}]}}')
            parts.append(part)
        return (
            ",".join(descriptions),
            [oddity.replace('"', "'").replace("\\", "/") for oddity in oddities],
            parts,
        )

    return read


def _json_number(value: float) -> str:
    if value != value:
        return "NaN"
    return (
        "Infinity"
        if value == float("inf")
        else "-Infinity"
        if value == float("-inf")
        else repr(value)
    )


def _python_threads() -> int:
    """Return the number of threads that run Python code, other than kvtrace's threads."""
    targets = (getattr(thread, "_target", None) for thread in threading.enumerate())
    threads_of_kvtrace = sum(
        str(getattr(target, "__module__", "")).startswith("kvtrace.") for target in targets
    )
    frames = sys._current_frames()
    return len(frames.keys() - recording_threads.running) - threads_of_kvtrace


def _generator_states() -> dict[str, Any]:
    state: tuple[Any, ...] = tuple(np.random.get_state(legacy=True))
    algorithm, keys, *position = state
    return {
        "random": random.getstate(),
        "numpy.random": (algorithm, bytes(keys), *position),
        "torch": bytes(torch.get_rng_state().numpy()),
    }
