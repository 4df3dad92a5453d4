"""A recorded launch that the evaluator can run: a kernel's IR, its grid, arguments and storages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.suite.errors import CannotJudgeCall
from kvtrace.evaluate import (
    Argument,
    Observer,
    OutOfBounds,
    ScalarArgument,
    Storage,
    TensorArgument,
    evaluate,
    parsed,
)
from kvtrace.evaluate.errors import UNFIT, place_of
from kvtrace.evaluate.types import ElementType, element_of_short_name
from kvtrace.ir import Module
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.vocabularies import SHORT_NAMES

Scalar = int | float | bool | None
Bytes = NDArray[np.uint8]

#: Bytes whose multiples an argument's address is, as kernels may rely on.
_ALIGNED: Final = 16


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor argument: its storage's name, torch's element type, layout, and offset in bytes."""

    storage: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @property
    def short_dtype(self) -> str:
        """The element type by Triton's short name."""
        return SHORT_NAMES.get(self.dtype, self.dtype)

    @property
    def element(self) -> ElementType:
        """The element type, as the evaluator has it."""
        return element_of_short_name(self.short_dtype)

    @property
    def nbytes(self) -> int:
        """Bytes from the first element to the end of the last one."""
        if 0 in self.shape:
            return 0
        steps = sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        return (steps + 1) * self.element.bytes

    def elements(self, storage: Bytes) -> NDArray[Any]:
        """Return the tensor's elements in a storage, as a view of its shape in memory's type."""
        size = self.element.bytes
        strides = tuple(step * size for step in self.strides)
        return np.ndarray(self.shape, self.element.memory, storage, self.offset, strides)


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch of a kernel's IR.

    Attributes:
        kernel: the kernel's name.
        ir: its TTIR in MLIR's generic form.
        target: the target that it was compiled for.
        grid: programs along three axes.
        arguments: of the IR function, by name, in its order.
        storages: contents by name.
        constants: values of the kernel's parameters that the IR function does not have.
    """

    kernel: str
    ir: str
    target: str
    grid: tuple[int, int, int]
    arguments: Mapping[str, Tensor | Scalar]
    storages: Mapping[str, Bytes]
    constants: Mapping[str, Any] = field(default_factory=dict)

    @property
    def module(self) -> Module:
        """The parsed IR."""
        return parsed(self.ir, self.target)

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The arguments that are tensors."""
        return {name: value for name, value in self.arguments.items() if isinstance(value, Tensor)}

    @property
    def elements(self) -> int:
        """The number of elements of all tensors."""
        return sum(int(np.prod(tensor.shape, dtype=np.int64)) for tensor in self.tensors.values())

    def reached(self, *, by_stores: bool) -> frozenset[str]:
        """Return the names of tensors that the kernel may write, or may read, by its IR."""
        sites = [
            site
            for site in memory_sites(self.module)
            if site.kind == "atomic" or (site.kind == "store") == by_stores
        ]
        return frozenset(
            name
            for position, name in enumerate(self.arguments)
            if name in self.tensors and any(site.reaches(position) for site in sites)
        )

    def evaluator_arguments(self) -> tuple[Argument, ...]:
        """Return the arguments on new copies of the storages."""
        storages = {
            name: Storage(len(content), content.copy()) for name, content in self.storages.items()
        }
        return tuple(
            TensorArgument(
                name,
                storages[value.storage],
                value.offset,
                value.short_dtype,
                value.shape,
                value.strides,
            )
            if isinstance(value, Tensor)
            else ScalarArgument(name, value)
            for name, value in self.arguments.items()
        )

    def results(self, observers: Iterable[Observer] = ()) -> dict[str, Bytes]:
        """Evaluate the launch in the kernel's own types; return the storages' contents after it.

        Raises:
            CannotJudgeCall: the evaluator cannot run it, or it accesses memory outside of tensors.
        """
        arguments = self.evaluator_arguments()
        outside = _Outside(tuple(self.arguments))
        try:
            evaluate(
                self.module, arguments, self.grid, observers=(outside, *observers),
                kernel=self.kernel,
            )  # fmt: skip
        except UNFIT as error:
            raise CannotJudgeCall(
                f"{self.kernel} cannot be evaluated: {place_of(error)}"
            ) from error
        except KvtraceError as error:
            raise CannotJudgeCall(f"{self.kernel} cannot be evaluated: {error}") from error
        if outside.sentence:
            raise CannotJudgeCall(outside.sentence)
        return {
            value.storage: _contents(argument)
            for value, argument in zip(self.arguments.values(), arguments, strict=True)
            if isinstance(value, Tensor)
        }

    def with_separate_tensors(self) -> Launch:
        """Return the launch with a storage for each tensor, as large as its view.

        Equal views keep one storage, and so does what lies between a tensor's elements.

        Raises:
            CannotJudgeCall: tensors overlap where the kernel writes, or lie outside of storages.
        """
        written = self.reached(by_stores=True)
        _check_overlaps(self.tensors, self.storages, written)
        arguments: dict[str, Tensor | Scalar] = {}
        contents: dict[str, Bytes] = {}
        first: dict[Tensor, str] = {}
        for name, value in self.arguments.items():
            if not isinstance(value, Tensor):
                arguments[name] = value
                continue
            storage = first.setdefault(value, name)
            before = value.offset % _ALIGNED
            start = value.offset - before
            contents[storage] = self.storages[value.storage][start : value.offset + value.nbytes]
            arguments[name] = replace(value, storage=storage, offset=before)
        copies = {name: content.copy() for name, content in contents.items()}
        return replace(self, arguments=arguments, storages=copies)


class _Outside(Observer):
    """Keeps a sentence on the first access outside of a tensor's view."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.sentence = ""

    def out_of_bounds(self, defect: OutOfBounds) -> None:
        """Receive a defect: lanes outside of their tensor."""
        self.sentence = self.sentence or (
            f"program {defect.program} accesses {self._names[defect.argument]} outside of the "
            f"tensor, at byte {defect.address_offset}"
        )


def _contents(argument: Argument) -> Bytes:
    assert isinstance(argument, TensorArgument)
    assert argument.storage.data is not None
    return argument.storage.data


def _check_overlaps(
    tensors: Mapping[str, Tensor], storages: Mapping[str, Bytes], written: frozenset[str]
) -> None:
    """Raise CannotJudgeCall if a tensor that is written overlaps with another, unequal one."""
    for name, tensor in tensors.items():
        if min(tensor.strides, default=0) < 0 or (
            tensor.offset + tensor.nbytes > len(storages[tensor.storage])
        ):
            raise CannotJudgeCall(f"the tensor {name} does not lie within its storage")
        others = [
            other
            for other, there in tensors.items()
            if other > name
            and there.storage == tensor.storage
            and there != tensor
            and not written.isdisjoint((name, other))
            and tensor.offset < there.offset + there.nbytes
            and there.offset < tensor.offset + tensor.nbytes
        ]
        if not others:
            continue
        mark = np.zeros(len(storages[tensor.storage]), np.uint8)
        _bytes_of(tensor, mark)[...] = 1
        for other in others:
            if _bytes_of(tensors[other], mark).any():
                raise CannotJudgeCall(
                    f"the tensors {name} and {other} share memory that the kernel writes"
                )


def _bytes_of(tensor: Tensor, storage: Bytes) -> Bytes:
    """Return a view of each byte of a tensor's elements in a storage."""
    size = tensor.element.bytes
    strides = (*(step * size for step in tensor.strides), 1)
    return np.ndarray((*tensor.shape, size), np.uint8, storage, tensor.offset, strides)
