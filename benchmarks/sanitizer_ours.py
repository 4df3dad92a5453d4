"""Worker that runs kvtrace's judge.

Asked for {"case": name, "what": text, "budget": seconds}; answers the median wall and processor
seconds of judging one unique call. No two calls are equal: in each, every tensor lies elsewhere
in its storage, a size is another, and an index holds other numbers. What can be kept between them
is what depends on the kernel alone.

bounds, all      the rules of bounds, or all default rules, on a call of a kernel seen before
cold bounds, cold all
                 the same on the first call of a kernel: from the text of its IR, parsing included
"""

import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from evaluator_kernels import Case
from evaluator_ours import median_of, ttir
from evaluator_workers import Answer, serve
from sanitizer_kernels import cases, wide_add

from kvtrace.evaluate import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.ir import Module, parse
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.verdict import Verdict

PACKAGES = ("torch", "triton", "numpy", "z3-solver")
SHORT_NAMES = {torch.float32: "fp32", torch.int64: "i64"}
BOUNDS = ("out-of-bounds", "out-of-view")
FLOATS = 4
SIZES = ("n", "columns", "depth", "length")
"""Of the last of these that a kernel has, each call has less than the one before, in turns."""


class Calls:
    """Generator of different calls of one case; only indices have known contents."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.given = case.arguments()
        self.size = next(name for name in reversed(SIZES) if name in self.given)
        self.number = count()

    def next(self, module: Module) -> Call:
        """Return a call whose offsets, sizes and indices differ from all earlier calls."""
        call_number = next(self.number)
        arguments = tuple(
            argument
            for name, value in self.given.items()
            for argument in self._argument(name, value, call_number)
        )
        x, y, z = (*self.case.grid, 1, 1)[:3]
        recorded = tuple(
            argument.name
            for argument in arguments
            if isinstance(argument, TensorArgument) and argument.storage.data is not None
        )
        return Call(
            call_number, self.case.kernel.fn.__name__, (x, y, z), module, arguments, recorded
        )

    def _argument(self, name: str, value: Any, number: int) -> Sequence[Argument]:
        if type(value) is int and value == 1:
            return ()  # compiled in
        if name == self.size:
            value -= 16 * (number % 30)  # still a multiple of 16 if it was one
        if not isinstance(value, torch.Tensor):
            return (ScalarArgument(name, value),)
        offset_bytes = 512 * number
        storage = Storage(value.nbytes + offset_bytes)
        if not value.dtype.is_floating_point:
            contents = np.roll(value.numpy(), number).view(np.uint8)
            storage.data = np.concatenate([np.zeros(offset_bytes, np.uint8), contents])
        shape, strides = tuple(value.shape), tuple(value.stride())
        return (
            TensorArgument(name, storage, offset_bytes, SHORT_NAMES[value.dtype], shape, strides),
        )


class JudgeWorker:
    """Worker that judges calls of every case."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cases = cases()
        self.calls = {name: Calls(case) for name, case in self.cases.items()}
        self.modules: dict[str, Module] = {}

    def text(self, name: str) -> str:
        """Return the TTIR of a case."""
        return (self.folder / f"{list(self.cases).index(name)}.mlir").read_text()

    def answer(self, request: dict[str, Any]) -> Answer:
        """Answer a request: compile every case, or time judging one."""
        what = request["what"]
        if what == "versions":
            packages = {name: version(name) for name in PACKAGES}
            return {"python": platform.python_version(), **packages}
        if what == "compile":
            for number, case in enumerate(self.cases.values()):
                (self.folder / f"{number}.mlir").write_text(ttir_of(case))
            return {}
        if what == "grid":
            return self.grid(request["programs"], request["budget"])
        rules = BOUNDS if "bounds" in what else None
        name = request["case"]
        calls = self.calls[name]
        if what.startswith("cold"):
            text = self.text(name)
            arguments = self.module(name)
            return median_of(
                lambda call: judge(call_with_module(call, parse(text)), rules),
                request["budget"],
                prepare=lambda: calls.next(arguments),
            )
        module = self.module(name)
        verdicts = judge(calls.next(module), rules)
        answer = median_of(
            lambda call: judge(call, rules),
            request["budget"],
            prepare=lambda: calls.next(module),
        )
        return answer | verdict_counts(verdicts)

    def module(self, name: str) -> Module:
        """Return a case's parsed module, which is parsed at the first call."""
        if name not in self.modules:
            self.modules[name] = parse(self.text(name))
        return self.modules[name]

    def grid(self, programs: int, budget: float) -> Answer:
        """Return the time of all default rules on a vector add over `programs` programs."""
        if "grid" not in self.modules:
            self.modules["grid"] = parse(wide_text())
        module = self.modules["grid"]
        number = count()

        def call() -> Call:
            offset_bytes = 512 * next(number)
            elements = programs * 1024 - 24
            size = elements * FLOATS
            tensors = [
                TensorArgument(
                    name, Storage(size + offset_bytes), offset_bytes, "fp32", (elements,), (1,)
                )
                for name in ("x", "y", "out")
            ]
            arguments = (*tensors, ScalarArgument("n", elements))
            return Call(0, "wide_add", (programs, 1, 1), module, arguments, ())

        verdicts = judge(call())
        return median_of(judge, budget, prepare=call) | verdict_counts(verdicts)


def verdict_counts(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the number of verdicts of each kind, and the methods of proofs."""
    kinds = [verdict.verdict for verdict in verdicts]
    methods = sorted({verdict.method or "" for verdict in verdicts if verdict.verdict == "proven"})
    return {kind: kinds.count(kind) for kind in ("proven", "violation", "unknown")} | {
        "methods": methods,
        "open": sorted({f"{v.rule}: {v.reason}" for v in verdicts if v.verdict == "unknown"}),
    }


def call_with_module(call: Call, module: Module) -> Call:
    """Return a copy of the call with another module."""
    return Call(call.call_id, call.kernel, call.grid, module, call.arguments, call.recorded)


def ttir_of(case: Case) -> str:
    """Return a case's kernel compiled to generic TTIR, also for tensors of integers."""
    if case.kernel.fn.__name__ != "gather":
        return ttir(case)
    from tests.support.compile_ttir import compile_generic

    types = {"x": "*fp32", "index": "*i64", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    return compile_generic(
        case.kernel, types, case.constexprs, divisible_by_16=("x", "index", "out", "n")
    )


def wide_text() -> str:
    """Return the TTIR of the vector add over growing grids."""
    from tests.support.compile_ttir import compile_generic

    types = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i64", "BLOCK": "constexpr"}
    return compile_generic(wide_add, types, {"BLOCK": 1024})


def run() -> None:
    """Answer requests, with TTIR files in the folder that the command line names."""
    torch.set_num_threads(1)
    serve(JudgeWorker(Path(sys.argv[1])).answer)
