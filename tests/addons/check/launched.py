"""A launch whose outputs a test makes up, checked as if a device had made them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvtrace.addons.check.comparing import LaunchCheck, TensorCheck, compared, computed
from kvtrace.addons.check.kept import CheckedLaunch, Piece, StorageAfter
from kvtrace.evaluate import TensorArgument
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.locating import Places, pattern, writers
from tests.kernels import launched as kernels

Arrays = Mapping[str, np.ndarray]


@dataclass
class Launched(kernels.Launched):
    """A kernel on inputs: what its IR means, and what a check says of other outputs."""

    def launch(self, made: Arrays) -> CheckedLaunch:
        """The launch of a device that made these outputs."""
        return launch(self, made)

    def checked(self, made: Arrays, unknown: tuple[str, ...] = ()) -> LaunchCheck:
        """Compare outputs that a device may have made with what the IR means."""
        return compared(computed(launch(self, made, unknown)))

    def located(self, tensor: TensorCheck) -> tuple[Call, Places | None]:
        """Who writes the elements that differ."""
        call = self.call()
        return call, writers(call, (tensor.position,), tensor.differing, None)

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


def launch(
    launched: kernels.Launched, made: Arrays, unknown: tuple[str, ...] = ()
) -> CheckedLaunch:
    """The launch of a device that made these outputs."""
    kept: list[Any] = []

    def again() -> Call:
        call = launched.call(unknown)
        kept.append(launched.alive)
        return call

    after = tuple(
        StorageAfter(place, (place,), (Piece(0, _bytes(made[each.name])),))
        for place, each in enumerate(launched.call().arguments)
        if isinstance(each, TensorArgument) and each.name in made
    )
    return CheckedLaunch(0, 1, launched.kernel.fn.__name__, "first", None, again, after)


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
