"""A kernel on inputs without a real launch: the meaning of its TTIR or TTGIR."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kvtrace.evaluate import evaluate, parsed
from kvtrace.recorded_calls.compiled_code import CompiledFacts
from kvtrace.recorded_calls.recorded import Call
from tests.kernels.launching import bind, compile_for, generic_for, to_array, with_tensors


@dataclass
class Launched:
    """A kernel on inputs, with its results by the evaluator."""

    kernel: Any
    inputs: Mapping[str, Any]
    outputs: tuple[str, ...]
    constexprs: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[int, ...] = (1,)
    layouts: Callable[[Any], Mapping[int, Any]] = lambda _module: {}
    options: Mapping[str, Any] = field(default_factory=dict)

    def call(self, unknown: tuple[str, ...] = ()) -> Call:
        """Return the call, with newly allocated memory."""
        given = with_tensors(self.inputs)
        module = compile_for(self.kernel, given, self.constexprs, **self.options)
        x, y, z = (*self.grid, 1, 1)[:3]
        arguments = tuple(bind(self.kernel, given, unknown=unknown))
        call = Call(
            1,
            self.kernel.fn.__name__,
            (x, y, z),
            module,
            arguments,
            (),
            compiled=CompiledFacts(self.layouts(module), None, {}),
        )
        self.alive = given  # whose memory the storages are
        return call

    def meant(self) -> dict[str, np.ndarray]:
        """Return the outputs by the evaluator's plans."""
        call = self.call()
        evaluate(call.module, call.arguments, call.grid, kernel=call.kernel)
        return {name: to_array(self.alive[name]) for name in self.outputs}

    def ttgir(self) -> str:
        """Return the TTGIR that Triton compiles the kernel to, in generic form."""
        given = with_tensors(self.inputs)
        return generic_for(self.kernel, given, self.constexprs, stage="ttgir", **self.options)

    def left_by(self, ttgir: str) -> dict[str, np.ndarray]:
        """Return the outputs of a device that runs this TTGIR of the kernel."""
        call = self.call()
        evaluate(parsed(ttgir), call.arguments, call.grid, kernel=call.kernel)
        return {name: to_array(self.alive[name]) for name in self.outputs}
