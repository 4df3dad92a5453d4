"""Comparison of a candidate in Triton's interpreter with PyTorch; exit code 0 if they agree.

    TRITON_INTERPRET=1 python -m benchmarks.attacks.strangers.interpreted FILE ENTRY REFERENCE …

The last word is `x=f32[64, 100], eps=1e-6`, or a Python expression of tensors.
"""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from benchmarks.attacks.strangers import references

TYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
    "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8,
    "bool": torch.bool,
}  # fmt: skip
ALLOWED = {torch.float64: 1e-12, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def drawn(kind: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Return a random tensor of the type `kind`; integers are below 30."""
    dtype = TYPES[kind]
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 30, shape).to(dtype)


def inputs_of(text: str) -> list[Any]:
    """Return the values that a text such as `x=f32[64, 100], eps=1e-6` describes."""
    if not re.match(r"\w+=", text):
        tensors = eval(text)
        return list(tensors) if isinstance(tensors, tuple) else [tensors]
    values = []
    for assignment in re.split(r",\s*(?=\w+=)", text):
        value_text = assignment.partition("=")[2]
        tensor = re.fullmatch(r"(\w+)\[([\d, ]*)\]", value_text)
        if tensor:
            values.append(drawn(tensor[1], tuple(map(int, tensor[2].split(",")))))
        else:
            values.append(float(value_text))
    return values


def loaded(path: str) -> ModuleType:
    """Return the Python file at `path` as an imported module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def called(function: Any, inputs: list[Any]) -> list[torch.Tensor]:
    """Return a function's results as tensors, or the inputs if it returns None."""
    copies = [
        tensor.clone() if isinstance(tensor, torch.Tensor) and tensor.is_contiguous() else tensor
        for tensor in inputs
    ]
    result = function(*copies)
    if result is None:
        return [tensor for tensor in copies if isinstance(tensor, torch.Tensor)]
    return list(result) if isinstance(result, tuple) else [result]


def agree(computed: torch.Tensor, wanted_values: torch.Tensor) -> bool:
    """Return whether two results are equal except for rounding."""
    if computed.dtype != wanted_values.dtype or computed.shape != wanted_values.shape:
        return False
    allowed = ALLOWED.get(
        computed.dtype,
        0.07 if computed.dtype.itemsize == 1 and computed.is_floating_point() else 0.0,
    )
    computed, wanted_values = computed.double(), wanted_values.double()
    return bool(torch.allclose(computed, wanted_values, rtol=allowed, atol=allowed, equal_nan=True))


def main(path: str, entry: str, reference: str, inputs: str) -> int:
    """Compare the candidate's results with the reference's; return the exit code."""
    torch.manual_seed(1)
    function, right = getattr(loaded(path), entry), getattr(references, reference)
    if isinstance(function, type):
        arguments = references.get_init_inputs()
        function, right = function(*arguments), right(*arguments)
        function.load_state_dict(right.state_dict())
    values = inputs_of(inputs)
    with torch.no_grad():
        results, expected = called(function, values), called(right, values)
    return int(len(results) != len(expected) or not all(map(agree, results, expected)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
