"""A launch whose outputs a test makes up, checked as if a device had made them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kvtrace.addons.check.comparing import LaunchCheck, TensorCheck, check
from kvtrace.addons.check.kept import CheckedLaunch, Piece, StorageAfter
from kvtrace.addons.check.locating import Places, pattern, writers
from kvtrace.calls.compiled_code import Compiled
from kvtrace.calls.recorded import Call
from kvtrace.evaluate import TensorArgument, evaluate, parsed
from tests.kernels.launching import bind, compile_for, generic_for, to_array, to_tensor

Arrays = Mapping[str, np.ndarray]


@dataclass
class Launched:
    """A kernel on inputs: what its IR means, and what a check says of other outputs."""

    kernel: Any
    inputs: Mapping[str, Any]
    outputs: tuple[str, ...]
    constexprs: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[int, ...] = (1,)
    layouts: Callable[[Any], Mapping[int, Any]] = lambda _module: {}
    options: Mapping[str, Any] = field(default_factory=dict)

    def call(self, unknown: tuple[str, ...] = ()) -> Call:
        """The call, each time with memory of its own."""
        given = {
            name: to_tensor(value) if isinstance(value, np.ndarray) else value
            for name, value in self.inputs.items()
        }
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
            compiled=Compiled(self.layouts(module), None),
        )
        self._alive = given  # whose memory the storages are
        return call

    def meant(self) -> dict[str, np.ndarray]:
        """What the evaluator gives, by way of its plans."""
        call = self.call()
        evaluate(call.module, call.arguments, call.grid, kernel=call.kernel)
        return {name: to_array(self._alive[name]) for name in self.outputs}

    def ttgir(self) -> str:
        """What Triton makes of the TTIR next, in generic form."""
        given = {
            name: to_tensor(value) if isinstance(value, np.ndarray) else value
            for name, value in self.inputs.items()
        }
        return generic_for(self.kernel, given, self.constexprs, stage="ttgir", **self.options)

    def left_by(self, ttgir: str) -> dict[str, np.ndarray]:
        """What a device leaves that keeps to other IR of the kernel."""
        call = self.call()
        evaluate(parsed(ttgir), call.arguments, call.grid, kernel=call.kernel, planned=False)
        return {name: to_array(self._alive[name]) for name in self.outputs}

    def checked(self, made: Arrays, unknown: tuple[str, ...] = ()) -> LaunchCheck:
        """Compare outputs that a device may have made with what the IR means."""
        return check(self.launch(made, unknown))

    def launch(self, made: Arrays, unknown: tuple[str, ...] = ()) -> CheckedLaunch:
        """The launch of a device that made these outputs."""
        kept: list[Any] = []

        def again() -> Call:
            call = self.call(unknown)
            kept.append(self._alive)
            return call

        after = tuple(
            StorageAfter(place, (place,), (Piece(0, _bytes(made[each.name])),))
            for place, each in enumerate(self.call().arguments)
            if isinstance(each, TensorArgument) and each.name in made
        )
        return CheckedLaunch(0, 1, self.kernel.fn.__name__, "first", None, again, after)

    def located(self, tensor: TensorCheck) -> tuple[Call, Places | None]:
        """Who writes the elements that differ."""
        call = self.call()
        return call, writers(call, (tensor.place,), tensor.differing, None)

    def said(self, made: Arrays) -> str:
        """The pattern of the one output that differs, in words."""
        (tensor,) = [each for each in self.checked(made).tensors if len(each.differing)]
        call, places = self.located(tensor)
        assert places is not None
        return pattern(call, places, int(np.prod(call.grid)))

    def one(self, made: Arrays) -> TensorCheck:
        """What came of the one output of a launch that can be decided."""
        found = self.checked(made)
        assert found.answer in ("agrees", "differs"), found.reason
        (tensor,) = found.tensors
        return tensor


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
