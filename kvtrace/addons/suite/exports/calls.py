"""The calls of a suite as other tools take them: what each kernel reads and writes, and numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kvtrace.addons.suite.launches import SuiteCall, number_of, read_call
from kvtrace.addons.suite.model import CALLS, CONTENTS, KERNELS, BadSuite, Entry, Suite
from kvtrace.backends.compiled_kernels.generic import generic_once
from kvtrace.converters.scripts.repro import (
    DescriptorArgument,
    Literal,
    Memory,
    TensorArgument,
    item_bytes,
)
from kvtrace.ir import Module, parse
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.schema.cached_property import cached_property


@dataclass(frozen=True, slots=True)
class Storage:
    """A storage of a call, as its kernel uses it.

    Attributes:
        name: of the first argument in it.
        memory: its size, element type, and the hash of its recorded contents.
        shape: of the tensor that fills it, if there is one; otherwise of its elements in a row.
        tensor: whether `shape` is that of a tensor.
        read: the kernel may read it, or update it by atomics.
        written: the kernel may write to it.
    """

    name: str
    memory: Memory
    shape: tuple[int, ...]
    tensor: bool
    read: bool
    written: bool


@dataclass(frozen=True)
class Call:
    """A call of a suite: its entry in the index, its data, and the text of its file."""

    entry: Entry
    data: SuiteCall
    text: str

    @property
    def ir(self) -> str:
        """The text of the kernel's IR."""
        assert self.data.code.text is not None
        return self.data.code.text

    @cached_property
    def module(self) -> Module:
        """The kernel's parsed IR. Raises ImportError if it needs Triton, which is not there."""
        return parse(self.ir if '"tt.func"' in self.ir else generic_once(self.ir))

    @cached_property
    def used(self) -> tuple[Storage, ...]:
        """The storages in the order of arguments, with what the kernel may do to them."""
        return tuple(self._storage(name, memory) for name, memory in self.data.storages.items())

    @cached_property
    def scalars(self) -> Mapping[str, int | float | bool]:
        """The numbers among the arguments, by name."""
        numbers = {
            name: number_of(argument.text)
            for name, argument in self.data.arguments.items()
            if isinstance(argument, Literal)
        }
        return {name: number for name, number in numbers.items() if number is not None}

    @property
    def source(self) -> str | None:
        """The recorded source of the kernel, if the suite has it."""
        codes = [k.value for k in call_expression(self.text).keywords if k.arg == "code"]
        name = str(ast.literal_eval(codes[0])) if codes else ""
        file = self.data.folder / KERNELS / f"{Path(name).stem}.py"
        is_there = name.startswith(f"{KERNELS}/") and file.is_file()
        return file.read_text(encoding="utf-8", errors="replace") if is_there else None

    def contents_file(self, sha256: str) -> Path:
        """Return the file of a storage's recorded contents."""
        return self.data.folder / CONTENTS / f"{sha256}.zlib"

    def _storage(self, name: str, memory: Memory) -> Storage:
        tensors = [
            (position, tensor)
            for position, value in enumerate(self.data.arguments.values())
            if (tensor := base_tensor(value)) is not None and tensor.storage == name
        ]
        kinds = {
            site.kind
            for site in memory_sites(self.module)
            if any(site.reaches(position) for position, _ in tensors)
        }
        elements = memory.nbytes // item_bytes(memory.dtype)
        filling = len(tensors) == 1 and _fills(tensors[0][1], memory)
        shape = tensors[0][1].shape if filling else (elements,)
        return Storage(
            name, memory, shape, filling, bool(kinds - {"store"}), bool(kinds - {"load"})
        )


def read_calls(suite: Suite, folder: Path) -> Iterator[Call]:
    """Yield the calls of a suite.

    Raises:
        BadSuite: a file of a call is missing, or is not as a suite has it.
    """
    for entry in suite.entries:
        data = read_call(folder, entry.name)
        yield Call(entry, data, (folder / CALLS / f"{entry.name}.py").read_text(encoding="utf-8"))


def base_tensor(value: TensorArgument | DescriptorArgument | Literal) -> TensorArgument | None:
    """Return the tensor of an argument, that under a descriptor too; None for other arguments."""
    if isinstance(value, DescriptorArgument):
        return value.base
    return value if isinstance(value, TensorArgument) else None


def _fills(tensor: TensorArgument, memory: Memory) -> bool:
    """Return whether a tensor is contiguous and takes all of its storage."""
    expected = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return tensor.offset == 0 and expected * item_bytes(tensor.dtype) == memory.nbytes


def call_expression(text: str) -> ast.Call:
    """Return the expression `Call(…)` in the text of a call's file.

    Raises:
        BadSuite: there is none.
    """
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            return statement.value
    raise BadSuite("a call's file has no CALL = Call(…); make the suite again")
