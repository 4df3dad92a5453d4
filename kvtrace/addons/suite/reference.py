"""A recorded launch as a reference for `kvtrace judge`: the kernel's IR in exact arithmetic.

`kvtrace judge` calls a reference in the types of the inputs, and in float64. In the recorded types
the IR is evaluated as it is. For tensors in float64 the exact numbers of its formula are followed
(`kvtrace.evaluate.shadows.errors`): no sum, product or conversion rounds, so that the result is
that of the formula, up to roundings of float64. Results are written into the tensors that the
kernel writes.

For example y = x + 1 in bfloat16, with x = 256 + 2⁻⁴⁰ in float64: the evaluator computes
256 + 1 = 256 in bfloat16, and beside it that the exact number is 1 + 2⁻⁴⁰ more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.suite.errors import CannotJudgeCall
from kvtrace.addons.suite.launch import Bytes, Launch, Scalar, Tensor
from kvtrace.evaluate import Argument, TensorArgument, evaluate
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.rounding import from_memory, rounding_to, to_memory
from kvtrace.evaluate.shadows.errors.analysis import Deviations
from kvtrace.evaluate.shadows.errors.exact_values import exact_values
from kvtrace.evaluate.shadows.errors.planes import PLANES
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.evaluate.shadows.errors.tt_memory import StoragePlanes

_DESCRIPTION: Final = "launch.json"
_IR: Final = "kernel.mlir"
#: Bytes of a file of contents: `kvtrace judge` copies files of at most 1 MiB for its processes.
PIECE: Final = 1 << 20


def write_launch(launch: Launch, passed: Sequence[str], folder: Path) -> None:
    """Write a launch into a new folder as a package, which `kvtrace judge` copies with a file.

    Args:
        launch: the launch, with a storage for each tensor.
        passed: names of the arguments and constants that a candidate takes, in its order.
        folder: the folder to create.
    """
    folder.mkdir()
    (folder / "__init__.py").write_text("", encoding="utf-8")
    (folder / _IR).write_text(launch.ir, encoding="utf-8")
    arguments = {
        name: [value.storage, value.dtype, value.shape, value.strides, value.offset]
        if isinstance(value, Tensor)
        else value
        for name, value in launch.arguments.items()
    }
    storages: dict[str, int] = {}
    for number, (name, content) in enumerate(launch.storages.items()):
        storages[name] = len(content)
        for piece, start in enumerate(range(0, len(content), PIECE)):
            path = folder / f"storage{number}-{piece}.bin"
            path.write_bytes(content[start : start + PIECE].tobytes())
    description = {
        "kernel": launch.kernel, "target": launch.target, "grid": launch.grid,
        "arguments": arguments, "storages": storages, "passed": list(passed),
        "constants": {name: launch.constants[name] for name in passed if name in launch.constants},
    }  # fmt: skip
    (folder / _DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")


class Reference:
    """A launch in a folder as a function of the tensors and numbers that a candidate takes."""

    def __init__(self, folder: Path) -> None:
        """Read what `write_launch` has written."""
        content = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
        storages: dict[str, Bytes] = {}
        for number, (name, size) in enumerate(content["storages"].items()):
            pieces = (
                (folder / f"storage{number}-{piece}.bin").read_bytes()
                for piece in range(-(-size // PIECE))
            )
            storages[name] = np.frombuffer(b"".join(pieces), np.uint8)
        self._passed: list[str] = content["passed"]
        self._launch = Launch(
            content["kernel"],
            (folder / _IR).read_text(encoding="utf-8"),
            content["target"],
            tuple(content["grid"]),
            {name: _argument_of(value) for name, value in content["arguments"].items()},
            storages,
            content["constants"],
        )
        #: Planes of the tensors of a call, by the storage's id, which `_deviations` reads.
        self._before: dict[int, StoragePlanes] = {}
        self._deviations: dict[bool, Deviations] = {}

    def inputs(self) -> dict[str, Any]:
        """Return the arguments that a candidate takes: tensors with recorded contents, numbers."""
        launch = self._launch
        values = {**launch.constants, **launch.arguments}
        return {
            name: _torch_tensor(value, launch.storages[value.storage])
            if isinstance(value := values[name], Tensor)
            else value
            for name in self._passed
        }

    def __call__(self, *values: Any) -> None:
        """Write the results for other contents of the same sizes into the given tensors.

        Args:
            values: what `inputs` returns, in its order; tensors of floats may be in float64.

        Raises:
            ValueError: sizes or whole numbers are not as recorded, or the kernel accesses memory
                outside of a tensor.
        """
        given = dict(zip(self._passed, values, strict=True))
        launch = self._with_values(given)
        tensors = {name: launch.tensors[name] for name in given if name in launch.tensors}
        try:
            if any(_is_wide(given[name], tensor) for name, tensor in tensors.items()):
                self._evaluate(launch, given, bounded=False)
            else:
                _write(launch, tensors, given)
        except CannotJudgeCall as error:
            raise ValueError(str(error)) from error

    def inexact(self, *values: Any) -> None:
        """Write into the given tensors how far the results in float64 may be from what is meant.

        The IR has numbers that the compiler or its author rounded, as log2(e) for exp.

        Args:
            values: as for a call.

        Raises:
            NotImplementedError: as a call.
        """
        given = dict(zip(self._passed, values, strict=True))
        self._evaluate(self._with_values(given), given, bounded=True)

    def _evaluate(self, launch: Launch, given: Mapping[str, Any], *, bounded: bool) -> None:
        """Follow a launch's exact numbers, and write them into the given tensors in float64.

        Args:
            launch: the launch with the given values, rounded to its types.
            given: the values by name.
            bounded: write the distances of the exact numbers from what is meant instead.

        Raises:
            NotImplementedError: the exact numbers cannot be followed, as where a rounding decides.
        """
        import torch

        tensors = {name: launch.tensors[name] for name in given if name in launch.tensors}
        arguments = dict(zip(launch.arguments, launch.evaluator_arguments(), strict=True))
        self._before.clear()
        for name, tensor in tensors.items():
            if tensor.element.kind == "f":
                storage = _tensor_argument(arguments[name]).storage
                self._before[id(storage)] = _planes(launch, tensor, given[name])
        if bounded not in self._deviations:
            # One for all calls: it is as large as an evaluation, and compiles the IR once.
            self._deviations[bounded] = Deviations(
                launch.module, before=self._before, bounded=bounded
            )
        deviations = self._deviations[bounded]
        try:
            evaluate(
                launch.module, tuple(arguments.values()), launch.grid, kernel=launch.kernel,
                instrument=deviations,
            )  # fmt: skip
            memory = deviations.memory
            assert memory is not None
            memory.finish()
            for name in launch.reached(by_stores=True) & tensors.keys():
                argument = _tensor_argument(arguments[name])
                if tensors[name].element.kind == "f":
                    values = exact_values(argument, memory, ())
                    numbers = values.meaning if bounded else values.exact
                    given[name].copy_(torch.from_numpy(numbers))
                elif not bounded:
                    elements = tensors[name].elements(memory.bytes_of(argument.storage))
                    _assign(given[name], elements)
        except (KvtraceError, *UNFIT) as error:
            raise NotImplementedError(
                f"the exact numbers of {launch.kernel} are not known: {error}"
            ) from error

    def _with_values(self, given: Mapping[str, Any]) -> Launch:
        """Return the launch with given contents and numbers, contents rounded to its types."""
        launch = self._launch
        storages = {name: content.copy() for name, content in launch.storages.items()}
        arguments: dict[str, Tensor | Scalar] = dict(launch.arguments)
        for name, value in given.items():
            recorded = arguments.get(name, launch.constants.get(name))
            if isinstance(recorded, Tensor):
                if tuple(value.shape) != recorded.shape:
                    raise ValueError(f"{name} was recorded with the shape {list(recorded.shape)}")
                recorded.elements(storages[recorded.storage])[...] = _in_memory(value, recorded)
            elif type(recorded) is float and type(value) is float and name in arguments:
                arguments[name] = value
            elif value != recorded:
                raise ValueError(f"{name} was recorded as {recorded}")
        return replace(launch, arguments=arguments, storages=storages)


def _tensor_argument(argument: Argument) -> TensorArgument:
    assert isinstance(argument, TensorArgument)
    return argument


def _argument_of(value: Any) -> Tensor | Scalar:
    if not isinstance(value, list):
        scalar: Scalar = value
        return scalar
    storage, dtype, shape, strides, offset = value
    return Tensor(storage, dtype, tuple(shape), tuple(strides), offset)


def _torch_tensor(tensor: Tensor, content: Bytes) -> Any:
    import torch

    dtype = getattr(torch, tensor.dtype)
    whole = content.nbytes // dtype.itemsize * dtype.itemsize
    memory = torch.from_numpy(content[:whole].copy()).view(dtype)
    return memory.as_strided(tensor.shape, tensor.strides, tensor.offset // dtype.itemsize)


def _is_wide(value: Any, tensor: Tensor) -> bool:
    """Return whether a tensor of floats was passed in float64 and recorded in another type."""
    return bool(str(value.dtype) == "torch.float64") and tensor.dtype != "float64"


def _numbers(value: Any) -> NDArray[Any]:
    """Return a tensor's elements; those of types that NumPy lacks as bytes of their size."""
    import torch

    plain = value.detach().contiguous()
    if plain.dtype.is_floating_point and plain.dtype not in (torch.float64, torch.float32):
        plain = plain.view(torch.int8 if plain.element_size() == 1 else torch.int16)
    return np.asarray(plain.numpy())


def _in_memory(value: Any, tensor: Tensor) -> NDArray[Any]:
    """Return a tensor's elements as memory holds them, rounded to the recorded type.

    Raises:
        ValueError: the elements have neither that type nor float64.
    """
    element = tensor.element
    if _is_wide(value, tensor):
        round_ = rounding_to(element)
        with np.errstate(all="ignore"):
            narrow = _numbers(value).astype(element.value)
            return to_memory(narrow if round_ is None else round_(narrow), element)
    if str(value.dtype).removeprefix("torch.") != tensor.dtype:
        raise ValueError(f"a tensor was recorded as {tensor.dtype}, not {value.dtype}")
    return _numbers(value).view(element.memory)


def _write(launch: Launch, tensors: Mapping[str, Tensor], given: Mapping[str, Any]) -> None:
    """Evaluate a launch in its own types, and write results into the given tensors."""
    results = launch.results()
    written = launch.reached(by_stores=True)
    for name, tensor in tensors.items():
        if name in written:
            value = given[name]
            _assign(value, tensor.elements(results[tensor.storage]))


def _assign(value: Any, elements: NDArray[Any]) -> None:
    import torch

    memory = torch.from_numpy(np.array(elements).reshape(-1).view(np.uint8))
    value.copy_(memory.view(value.dtype).reshape(value.shape))


def _planes(launch: Launch, tensor: Tensor, value: Any) -> StoragePlanes:
    """Return the planes of a storage whose tensor was passed in float64: exact minus rounded."""
    size = tensor.element.bytes
    phase = tensor.offset % size
    content = launch.storages[tensor.storage]
    planes = np.zeros((len(content) - phase) // size, PLANES)
    rounded = _values(tensor.elements(content), tensor)
    exact = _numbers(value.double())
    strides = tuple(step * PLANES.itemsize for step in tensor.strides)
    start = (tensor.offset - phase) // size * PLANES.itemsize
    view = np.ndarray(tensor.shape, PLANES, planes, start, strides)
    with np.errstate(invalid="ignore"):
        off = np.where(np.isfinite(rounded), exact - rounded, exact)
    view["off"] = np.where(np.isfinite(exact), off, 0.0)
    return size, phase, planes


def _values(elements: NDArray[Any], tensor: Tensor) -> NDArray[np.float64]:
    return from_memory(np.ascontiguousarray(elements), tensor.element).astype(np.float64)
