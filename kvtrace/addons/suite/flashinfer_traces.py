"""Suites of FlashInfer's traces: definitions and workloads of flashinfer-bench, or of `fi_trace`.

A definition's PyTorch reference is what a call launches, since the traces have no kernel. Formats:
flashinfer_bench/data of https://github.com/flashinfer-ai/flashinfer-bench, commit
40e6ca7844b514eb4b1c7edba6d6a7377df57870, and the module flashinfer.trace.template of
https://github.com/flashinfer-ai/flashinfer, commit fb28d7242b3506a2348265962041acc1fb56cca4, whose
files have no workloads: their varying axes have no sizes, and their references other names.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import zlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.suite.exports.safetensors import read_tensor
from kvtrace.addons.suite.model import VERSION, Entry, OmittedShare, Origin, Suite
from kvtrace.addons.suite.writing import file_name, write_suite
from kvtrace.converters.importers.registry import BadSource
from kvtrace.converters.scripts.repro import (
    Code,
    Literal,
    Memory,
    Repro,
    TensorArgument,
    item_bytes,
)
from kvtrace.schema.errors import BadSetting, KvtraceError
from kvtrace.schema.runs import Run

_RUN: Final = Run("imported", source="flashinfer-bench")
_DTYPES: Final = frozenset(
    {
        "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
        "int64", "int32", "int16", "int8", "uint8", "bool",
    }
)  # fmt: skip
_README: Final = """\
# A suite of FlashInfer's operators

Each entry is a workload that was recorded for FlashInfer, and runs the PyTorch reference of its
definition; there is no kernel in these traces. `python run.py` times them on a GPU, with `torch`
and `triton` and nothing else. `suite.json` has what each entry is, and what is left out.

**The references are Python code of others.** Read them, in `kernels/`, before you run them.
"""


class _NotLaunchable(KvtraceError):
    """Raised for a workload that cannot be in a suite; the text says why."""

    slug = "not-launchable"


@dataclass(frozen=True, slots=True)
class _Workload:
    """A workload of a definition: its identity, and the sizes and inputs by name."""

    identity: str
    axes: Mapping[str, int]
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Imported:
    """A call of a suite, with the definition and workload that it was made of."""

    definition: str
    workload: _Workload
    repro: Repro


def import_flashinfer(source: Path, folder: Path, axes: Mapping[str, int]) -> Suite:
    """Write a suite of FlashInfer's traces to a folder, and return its index.

    Args:
        source: a trace set of flashinfer-bench, or a folder with files that `fi_trace` wrote.
        folder: where to write the suite.
        axes: sizes of varying axes, for definitions without workloads.

    Raises:
        BadSource: there are no definitions, or a file is damaged.
        BadSetting: no workload can be in a suite, or the folder cannot be written.
    """
    definitions = _definitions(source)
    workloads = _workloads(source)
    imported: list[_Imported] = []
    reasons: dict[tuple[str, str], int] = defaultdict(int)
    for name, definition in definitions.items():
        for workload in workloads.get(name) or [_Workload("", axes)]:
            try:
                imported.append(_Imported(name, workload, _repro(definition, workload, source)))
            except _NotLaunchable as problem:
                reasons[name, str(problem)] += 1
    if not imported:
        (name, why), _ = next(iter(reasons.items()))
        raise BadSetting(f"no definition of {source} can be in a suite; {name}: {why}")
    weight = len(imported) + sum(reasons.values())
    suite = Suite(
        version=VERSION,
        source={"command": "imported from FlashInfer's traces"},
        weighed_by="launches",
        weight=weight,
        device_ns=None,
        entries=tuple(_entry(number, call, weight) for number, call in enumerate(imported, 1)),
        left_out=tuple(
            OmittedShare(name, count / weight, why) for (name, why), count in reasons.items()
        ),
    )
    write_suite(folder, suite, [call.repro for call in imported], _README)
    return suite


# ---- Files ----


def _definitions(source: Path) -> dict[str, Mapping[str, Any]]:
    """Return the definitions of a folder by name."""
    folder = source / "definitions"
    files = sorted((folder if folder.is_dir() else source).rglob("*.json"))
    definitions: dict[str, Mapping[str, Any]] = {}
    for file in files:
        content = _parsed(file.read_bytes(), file)
        if not isinstance(content, dict) or not _has_form(content):
            if folder.is_dir():
                raise BadSource(f"{file} is no definition of flashinfer-bench")
            continue  # fi_trace's folder may have other files
        definitions[str(content["name"])] = content
    if not definitions:
        raise BadSource(
            f"{source} has no definitions of FlashInfer: name a trace set of flashinfer-bench, or "
            "the folder that FLASHINFER_TRACE_DUMP_DIR named"
        )
    return definitions


def _has_form(content: Mapping[str, Any]) -> bool:
    maps = [content.get(name) for name in ("axes", "inputs", "outputs")]
    return isinstance(content.get("name"), str) and all(
        isinstance(each, dict) and all(isinstance(item, dict) for item in each.values())
        for each in maps
    )


def _workloads(source: Path) -> dict[str, list[_Workload]]:
    """Return the workloads of a trace set by the names of definitions."""
    workloads = defaultdict(list)
    for file in sorted((source / "workloads").rglob("*.jsonl")):
        for line in file.read_bytes().splitlines():
            if not line.strip():
                continue
            content = _parsed(line, file)
            try:
                workload = content["workload"]
                workloads[content["definition"]].append(
                    _Workload(
                        str(workload["uuid"]),
                        {name: int(size) for name, size in workload["axes"].items()},
                        {name: dict(form) for name, form in workload["inputs"].items()},
                    )
                )
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise BadSource(f"{file} has a line that is no workload ({error})") from error
    return workloads


def _parsed(content: bytes, file: Path) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadSource(f"{file} is damaged: it is no JSON ({error})") from error


# ---- Calls ----


def _repro(definition: Mapping[str, Any], workload: _Workload, source: Path) -> Repro:
    """Return the call of a workload, which launches the definition's reference."""
    text = definition.get("reference")
    if not isinstance(text, str) or not text.strip():
        raise _NotLaunchable("it has no reference")
    arguments: dict[str, TensorArgument | Literal] = {}
    storages: dict[str, Memory] = {}
    contents: dict[str, bytes] = {}
    for name, form in definition["inputs"].items():
        given = workload.inputs.get(name, {})
        if form.get("shape") is None:
            arguments[name] = _scalar(name, given)
            continue
        dtype, shape = str(form.get("dtype")), _shape(name, form["shape"], definition, workload)
        if dtype not in _DTYPES:
            raise _NotLaunchable(f"the element type of {name} is {dtype}")
        size = math.prod(shape) * item_bytes(dtype)
        recorded = _recorded(name, given, dtype, size, source)
        sha256 = None
        if recorded is not None:
            sha256 = hashlib.sha256(recorded).hexdigest()
            contents[sha256] = zlib.compress(recorded, 6)
        arguments[name] = TensorArgument(name, dtype, shape, _strides(shape), 0)
        storages[name] = Memory(size, dtype, sha256)
    return Repro(
        kernel=_function(text, list(arguments)),
        grid=(1, 1, 1),
        code=Code("function", text),
        options={},
        arguments=arguments,
        storages=storages,
        contents=contents,
        recorded=None,
        run=_RUN,
        call_id=0,
        rows=(),
        notes=(f"it runs the PyTorch reference of {definition['name']}, not a kernel",),
    )


def _scalar(name: str, given: Mapping[str, Any]) -> Literal:
    value = given.get("value")
    if not isinstance(value, bool | int | float):
        raise _NotLaunchable(f"the scalar {name} has no recorded value")
    return Literal(repr(value) if math.isfinite(value) else f"float({str(value)!r})")


def _shape(
    name: str, axes: object, definition: Mapping[str, Any], workload: _Workload
) -> tuple[int, ...]:
    if not isinstance(axes, list) or not all(isinstance(axis, str) for axis in axes):
        raise _NotLaunchable(f"the shape of {name} is {axes!r}")
    sizes = []
    for axis in axes:
        size = definition["axes"].get(axis, {}).get("value", workload.axes.get(axis))
        if not isinstance(size, int) or size < 0:
            raise _NotLaunchable(f"the axis {axis} has no recorded size; give --axis {axis}=SIZE")
        sizes.append(size)
    return tuple(sizes)


def _recorded(
    name: str, given: Mapping[str, Any], dtype: str, size: int, source: Path
) -> bytes | None:
    """Return the recorded contents of an input; None if they are random floats."""
    if given.get("type") == "safetensors":
        path = str(given.get("path")).replace("\0", "")  # no path has this character
        file = (source / path).resolve()
        if not file.is_relative_to(source.resolve()):
            raise BadSource(f"the contents of {name} are outside of {source}: {given.get('path')}")
        content = read_tensor(file, str(given.get("tensor_key")), dtype)
        if len(content) != size:
            raise BadSource(f"{file} has {len(content)} bytes of {name}, not {size}")
        return content
    if "int" in dtype and given.get("type") != "random":
        raise _NotLaunchable(f"the integers of {name} were not recorded, and may be indices")
    return None


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[dimension + 1 :]) for dimension in range(len(shape)))


def _function(text: str, inputs: list[str]) -> str:
    """Return the name of a reference's function: `run`, or the last one, as `fi_trace` has it."""
    try:
        functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    except (SyntaxError, ValueError, RecursionError) as error:
        raise _NotLaunchable(f"its reference is no Python ({error})") from error
    if not functions:
        raise _NotLaunchable("its reference has no function")
    named = [function for function in functions if function.name == "run"]
    function = (named or functions)[-1]
    parameters = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    if named:
        matches = len(parameters) == len(inputs)  # they are passed by position
    else:
        required = parameters[: len(parameters) - len(function.args.defaults)]
        matches = parameters[: len(inputs)] == inputs and len(required) <= len(inputs)
    if not matches:
        raise _NotLaunchable(
            f"its reference takes {', '.join(parameters)}, and its inputs are {', '.join(inputs)}"
        )
    return function.name


def _entry(number: int, call: _Imported, weight: int) -> Entry:
    definition, identity, repro = call.definition, call.workload.identity, call.repro
    inputs: dict[str, Origin] = {
        name: "random" if memory.contents is None else "recorded"
        for name, memory in repro.storages.items()
    }
    tensors = ", ".join(
        f"{name}={value.dtype}{list(value.shape)}"
        if isinstance(value, TensorArgument)
        else f"{name}={value.text}"
        for name, value in repro.arguments.items()
        if isinstance(value, TensorArgument | Literal)
    )
    return Entry(
        name=f"{number:03}-{file_name(definition)}",
        kernel=definition,
        title=f"{definition}({tensors})",
        calls=(f"{definition}/{identity}".rstrip("/"),),
        launches=1,
        device_ns=None,
        median_ns=None,
        share=1 / weight,
        inputs=inputs,
        notes=repro.notes,
    )
