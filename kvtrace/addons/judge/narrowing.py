"""Whether code that is given float64 rounds to a narrower type on its way."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Narrowing(TorchDispatchMode):  # type: ignore[misc]
    """Notes the first operator that makes floats narrower than float64.

    Attributes:
        told: What was noted, as "rounds to float32 in aten::_to_copy"; empty: nothing was.

    """

    def __init__(self) -> None:
        super().__init__()
        self.told = ""

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operator, and look at what it makes."""
        result = function(*args, **(kwargs or {}))
        for each in result if isinstance(result, list | tuple) else (result,):
            if isinstance(each, torch.Tensor) and each.is_floating_point() and each.itemsize < 8:
                kind = str(each.dtype).removeprefix("torch.")
                self.told = self.told or f"rounds to {kind} in {function._schema.name}"
        return result
