"""The candidate's side of calls: inputs made of bytes, results answered as bytes.

What reads results are functions of torch's and Python's compiled code, which are looked up before
the candidate's file is imported, and kept in no object that the file is given.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import torch

from kvtrace.addons.judge import tensors
from kvtrace.addons.judge.confining import ANSWERS, CALLS
from kvtrace.addons.judge.inputs import Input, ScalarInput, TensorInput, tensor_of
from kvtrace.addons.judge.messages import SIZES, receive

_MOST_BYTES: Final = 1 << 31
_TIMERS: Final = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
#: References to a result that nobody else has: of its list, a loop and a call.
_ALONE: Final = 3
_PLAIN: Final = (torch.Tensor, torch.nn.Parameter)


@dataclass
class Call:
    """One call: its number, inputs, and weights of a model; `values` are those of the weights.

    `gradients`: whether PyTorch records for them, as it does by default. `tracked` and `cotangents`
    are those of the case.
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
    """Reads calls, and answers them."""

    def __init__(self) -> None:
        self._read = _reader()
        self._threads = _threads()
        self._held: dict[int, list[Any]] = {}
        #: The last tensors of each description, whose contents may be overwritten.
        self._last: dict[tuple[Any, ...], Any] = {}

    def answer_all(
        self, first: tuple[dict[str, Any], bytes] | None, run: Callable[[Call], list[Any] | None]
    ) -> None:
        """Answer calls until there are none.

        Args:
            first: The first message, which was read already.
            run: Runs the candidate; None: it raised an error.

        """
        read, write, pack, put = self._read, os.write, SIZES.pack, _put
        collect = gc.collect
        message = first
        while message is not None:
            header, content = message
            if "call" in header:
                call = self._call(header, content)
                before = _states()
                results = run(call)
                drew = [name for name, state in _states().items() if state != before[name]]
                if results is not None and not results:
                    results = [a for a in call.arguments if tensors.is_tensor(a)]
                told, odd, parts = read(results or [])
                if header["keep"] and parts:
                    self._held[call.number] = [*(results or [])]
                put(write, pack, told, odd, drew, parts)
            elif "again" in header:
                told, odd, parts = read(self._held[header["again"]])
                put(write, pack, told, odd, [], parts)
            else:
                collect()  # what waits for that to change results, does it now
                running = (
                    _threads() > self._threads
                    or any(signal.getitimer(each)[0] for each in _TIMERS)
                    or self._keeps_results()
                )
                put(write, pack, "", [], [], [], running)
            message = receive(CALLS, _MOST_BYTES)

    def _keeps_results(self) -> bool:
        """Whether the candidate still has a tensor that it returned, before its last call."""
        own = {id(each) for each in self._last.values()}
        places = Counter(id(each) for held in self._held.values() for each in held)
        return any(
            isinstance(each, torch.Tensor)
            and id(each) not in own
            and places[id(each)] == 1  # otherwise an input, handed over again at its address
            and sys.getrefcount(each) > _ALONE
            for call in sorted(self._held)[:-1]
            for each in self._held[call]
        )

    def _call(self, header: dict[str, Any], content: bytes) -> Call:
        inputs: list[Input] = []
        values: list[Any] = []
        at = 0
        used = {
            each.untyped_storage().data_ptr()
            for held in self._held.values()
            for each in held
            if isinstance(each, torch.Tensor)
        }
        count = len(header["inputs"])
        for place, told in enumerate((*header["inputs"], *header["weights"])):
            if "dtype" not in told:
                inputs.append(ScalarInput(told["name"], told["value"]))
                values.append(told["value"])
                continue
            given = tensor_of({**told, "file": ""})
            size = given.storage * getattr(torch, given.dtype).itemsize
            part, at = content[at : at + size], at + size
            if told.get("same") is not None:
                inputs.append(given)
                values.append(values[told["same"]])
                continue
            key = (place, given)
            last = self._last.get(key)
            free = last is not None and last.untyped_storage().data_ptr() not in used
            if header["overwrite"] and size and free:
                _overwrite(last, part)
                inputs.append(given)
                values.append(last)
                continue
            made = tensors.tensor_of(given, part, "cuda")
            if place < count:
                self._last[key] = made
            inputs.append(given)
            values.append(made)
        weights = [each for each in inputs[count:] if isinstance(each, TensorInput)]
        return Call(
            header["call"], inputs[:count], values[:count], weights, values[count:],
            header["gradients"], header["tracked"], header["cotangents"],
        )  # fmt: skip


def _overwrite(tensor: Any, content: bytes) -> None:
    """Give a tensor's storage other contents at the same address."""
    whole = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    whole.set_(tensor.untyped_storage())
    whole.copy_(torch.frombuffer(bytearray(content), dtype=torch.uint8))


def _put(
    write: Callable[[int, Any], int], pack: Callable[[int, int], bytes], told: str,
    odd: Sequence[str], drew: Sequence[str], parts: Sequence[bytes], running: bool = False,
) -> None:  # fmt: skip
    """Write an answer: see `messages.py`."""
    texts = (",".join(f'"{each}"' for each in names) for names in (odd, drew))
    listed = ",".join(
        f'"{name}":[{each}]' for name, each in zip(("odd", "drew"), texts, strict=True)
    )
    runs = "true" if running else "false"
    text = f'{{"results":[{told}],{listed},"running":{runs}}}'.encode()
    for part in (pack(len(text), sum(map(len, parts))) + text, *parts):
        left = memoryview(part)
        while left:
            left = left[write(ANSWERS, left[: 1 << 20]) :]


def _reader() -> Callable[[Sequence[Any]], tuple[str, list[str], list[bytes]]]:
    """Return what reads results: their description, what is odd about them, and their bytes."""
    base, strided, byte = torch._C.TensorBase, torch.strided, torch.uint8
    contiguous, reshape, view, numpy = base.contiguous, base.reshape, base.view, base.numpy
    detach, cpu, conjugated, negated = base.detach, base.cpu, base.resolve_conj, base.resolve_neg
    shape_of, dtype_of = base.shape.__get__, base.dtype.__get__
    layout_of, attributes = base.layout.__get__, torch.Tensor.__dict__["__dict__"].__get__
    no_function, no_dispatch = torch._C.DisableTorchFunction, torch._C._DisableTorchDispatch
    to_bytes, cast = np.ndarray.tobytes, torch.Tensor.as_subclass

    def read(results: Sequence[Any]) -> tuple[str, list[str], list[bytes]]:
        told: list[str] = []
        odd: list[str] = []
        parts: list[bytes] = []
        for at, each in enumerate(results):
            if not isinstance(each, torch.Tensor):
                number = float(each) if type(each) in (bool, int, float) else None
                told.append(f'{{"value":{"null" if number is None else _number(number)}}}')
                parts.append(b"")
                continue
            if type(each) not in _PLAIN:
                odd.append(f"result {at} is a {type(each).__name__[:40]!a}, no plain tensor")
            elif attributes(each):
                odd.append(f"result {at} is a tensor with separate attributes")
            with no_function(), no_dispatch():
                if type(each) not in _PLAIN:
                    each = cast(each, torch.Tensor)
                if layout_of(each) is not strided:
                    odd.append(f"result {at} is a sparse tensor")
                    told.append('{"value":null}')
                    parts.append(b"")
                    continue
                flat = cpu(reshape(contiguous(negated(conjugated(detach(each)))), (-1,)))
                part = to_bytes(numpy(view(flat, byte))) if len(flat) else b""
                dtype = str(dtype_of(each)).removeprefix("torch.")
                sizes = ",".join(str(int(size)) for size in shape_of(each))
            told.append(f'{{"dtype":"{dtype}","shape":[{sizes}]}}')
            parts.append(part)
        return ",".join(told), [each.replace('"', "'").replace("\\", "/") for each in odd], parts

    return read


def _number(value: float) -> str:
    if value != value:
        return "NaN"
    return (
        "Infinity"
        if value == float("inf")
        else "-Infinity"
        if value == float("-inf")
        else repr(value)
    )


def _threads() -> int:
    """Return how many threads run Python, without those that run functions of kvtrace."""
    targets = (getattr(each, "_target", None) for each in threading.enumerate())
    own = sum(str(getattr(each, "__module__", "")).startswith("kvtrace.") for each in targets)
    return len(sys._current_frames()) - own


def _states() -> dict[str, Any]:
    """Return the states of generators of random numbers."""
    state: tuple[Any, ...] = tuple(np.random.get_state(legacy=True))
    kind, keys, *rest = state
    return {
        "random": random.getstate(),
        "numpy.random": (kind, bytes(keys), *rest),
        "torch": bytes(torch.get_rng_state().numpy()),
    }
