"""Export to flashinfer-bench: definitions, workloads and solutions in a trace set's folder.

Format: flashinfer_bench/data of flashinfer-bench 0.1.2, https://github.com/flashinfer-ai/flashinfer-bench,
commit 40e6ca7844b514eb4b1c7edba6d6a7377df57870.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from kvtrace.addons.suite.exports.calls import Call, Storage
from kvtrace.addons.suite.exports.program import Group, given_text, groups_of, program
from kvtrace.addons.suite.exports.safetensors import write_tensor
from kvtrace.addons.suite.model import Suite
from kvtrace.converters.scripts.repro import item_bytes

_AUTHOR: Final = "kvtrace"
_OP_TYPE: Final = "recorded_triton"
#: Element types that the format has; others of the same size are handed over as these.
_DTYPES: Final = (
    "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
    "int64", "int32", "int16", "int8", "bool",
)  # fmt: skip
_SAME_SIZE: Final = {
    "uint8": "int8", "uint16": "int16", "uint32": "int32", "uint64": "int64",
    "float8_e4m3fnuz": "int8", "float8_e5m2fnuz": "int8", "float64": "int64",
}  # fmt: skip
_REFERENCE_NOTE: Final = (
    "The reference launches the recorded kernel, so results are compared with those of the "
    "recorded program, not with a formula."
)


class FlashinferBench:
    """Export to a trace set that `flashinfer-bench run --local` reads."""

    summary = "definitions, workloads and solutions of flashinfer-bench"

    def write(self, suite: Suite, calls: list[Call], output: Path) -> Iterable[str]:
        """Write the files of each group of calls; see `Export`."""
        notes = []
        rows = []
        usable = []
        for call in calls:
            reason = _why_not(call)
            if reason is None:
                usable.append(call)
            else:
                notes.append(f"{call.entry.name} is left out: {reason}")
        for group in groups_of(usable):
            axes = Axes(group)
            _write_json(output / "definitions" / _OP_TYPE, group.name, _definition(group, axes))
            _write_json(output / "solutions" / _AUTHOR, f"{group.name}_recorded", _solution(group))
            lines = []
            for number, call in enumerate(group.calls):
                identity = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{group.name}\n{call.text}"))
                lines.append(_workload(group, axes, number, identity, output))
                rows.append(_row(group, call, identity))
            place = output / "workloads" / _OP_TYPE / f"{group.name}.jsonl"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        (output / "README.md").write_text(_readme(suite, rows), encoding="utf-8")
        return notes


EXPORT: Final = FlashinferBench()


class Axes:
    """The axes of a group's shapes. Dimensions that are equal in all calls are one axis.

    Attributes:
        of: names of the axes of each storage.
        values: sizes of each axis, call by call.
    """

    def __init__(self, group: Group) -> None:
        self.of: dict[str, list[str]] = {}
        self.values: dict[str, tuple[int, ...]] = {}
        names: dict[tuple[int, ...], str] = {}
        first = group.calls[0].used
        for position, storage in sorted(enumerate(first), key=lambda pair: not pair[1].read):
            self.of[storage.name] = []
            for dimension in range(len(storage.shape)):
                sizes = tuple(call.used[position].shape[dimension] for call in group.calls)
                name = names.setdefault(sizes, f"{_name(group, storage)}_{dimension}")
                self.of[storage.name].append(name)
                self.values[name] = sizes

    def definition(self) -> dict[str, Any]:
        """Return the axes as a definition has them: constant ones, and those that vary."""
        return {
            name: {"type": "var"} if len(set(sizes)) > 1 else {"type": "const", "value": sizes[0]}
            for name, sizes in self.values.items()
        }


def _why_not(call: Call) -> str | None:
    for storage in call.used:
        if _dtype(storage) is None:
            return f"flashinfer-bench has no element type for {storage.memory.dtype}"
    if any(
        isinstance(value, float) and not math.isfinite(value) for value in call.scalars.values()
    ):
        return "JSON has no number for an argument that is infinite or NaN"
    return None


def _dtype(storage: Storage) -> str | None:
    dtype = storage.memory.dtype
    return dtype if dtype in _DTYPES else _SAME_SIZE.get(dtype)


def _name(group: Group, storage: Storage) -> str:
    return group.parameters.get(storage.name, storage.name.replace(".", "_"))


def _definition(group: Group, axes: Axes) -> dict[str, Any]:
    inputs: dict[str, Any] = {}
    storages = {storage.name: storage for storage in group.calls[0].used}
    for name, parameter in group.parameters.items():
        if name in storages:
            inputs[parameter] = _tensor(storages[name], axes)
        else:
            inputs[parameter] = {
                "shape": None,
                "dtype": _scalar_dtype([call.scalars[name] for call in group.calls]),
            }
    return {
        "name": group.name,
        "op_type": _OP_TYPE,
        "axes": axes.definition(),
        "inputs": inputs,
        "outputs": {output: _tensor(storage, axes) for output, storage in _outputs(group).items()},
        "reference": _code(group, f"{group.calls[0].data.kernel} as it was recorded."),
        "tags": ["recorded-by:kvtrace"],
        "description": _description(group),
    }


def _outputs(group: Group) -> dict[str, Storage]:
    """Return the written storages by a name that no input has."""
    taken = set(group.parameters.values())
    outputs = {}
    for storage in group.written:
        name = _name(group, storage)
        while name in taken:
            name = f"{name}_after"
        taken.add(name)
        outputs[name] = storage
    return outputs


def _tensor(storage: Storage, axes: Axes) -> dict[str, Any]:
    text = "" if storage.tensor else "All elements of the memory that the kernel's tensors lie in."
    if storage.memory.dtype not in _DTYPES:
        text = f"{text} The bits are those of {storage.memory.dtype}.".strip()
    known = {"description": text} if text else {}
    return {"shape": axes.of[storage.name], "dtype": _dtype(storage)} | known


def _scalar_dtype(values: list[int | float | bool]) -> str:
    if all(isinstance(value, bool) for value in values):
        return "bool"
    if any(isinstance(value, float) for value in values):
        return "float32"
    return "int32" if all(-(2**31) <= value < 2**31 for value in values) else "int64"


def _description(group: Group) -> str:
    sentences = [f"{group.calls[0].entry.title}.", _REFERENCE_NOTE]
    fresh = [_name(group, storage) for storage in group.written if not storage.read]
    if fresh:
        sentences.append(f"Elements of {', '.join(fresh)} that the kernel does not store are 0.")
    return " ".join(sentences)


def _code(group: Group, about: str) -> str:
    """Return a module with `run`, which launches the recorded kernel."""
    dtypes = {storage.name: dtype for storage in group.calls[0].used if (dtype := _dtype(storage))}
    text = program(group, about, dtypes=dtypes)
    parameters = ", ".join(group.parameters.values())
    return (
        f"{text}\n\ndef run({parameters}):\n"
        f'    """Return what the kernel writes."""\n'
        f"    return replay(PROGRAM, {given_text(group)})\n"
    )


def _solution(group: Group) -> dict[str, Any]:
    sources = [{"path": "main.py", "content": _code(group, "The recorded kernel.")}]
    source = group.calls[0].source
    if source:  # for readers; main.py launches the IR
        sources.append({"path": "recorded_source.py", "content": source})
    return {
        "name": f"{group.name}_recorded",
        "definition": group.name,
        "author": _AUTHOR,
        "spec": {
            "language": "triton",
            "target_hardware": ["cuda"],
            "entry_point": "main.py::run",
            "destination_passing_style": False,
        },
        "sources": sources,
        "description": "The recorded kernel, compiled from its IR: the one to be faster than. "
        "It allocates its results, and copies what it updates in place.",
    }


def _workload(group: Group, axes: Axes, number: int, identity: str, output: Path) -> dict[str, Any]:
    call = group.calls[number]
    storages = {storage.name: (seed, storage) for seed, storage in enumerate(call.used)}
    inputs: dict[str, Any] = {}
    for name, parameter in group.parameters.items():
        if name not in storages:
            inputs[parameter] = {"type": "scalar", "value": call.scalars[name]}
            continue
        seed, storage = storages[name]
        known = _bytes(call, storage, seed)
        if known is None:
            inputs[parameter] = {"type": "random"}
            continue
        file = Path("blob", "workloads", group.name, f"{identity}_{parameter}.safetensors")
        (output / file).parent.mkdir(parents=True, exist_ok=True)
        write_tensor(output / file, parameter, str(_dtype(storage)), storage.shape, known)
        inputs[parameter] = {
            "type": "safetensors",
            "path": file.as_posix(),
            "tensor_key": parameter,
        }
    varying = {name: sizes[number] for name, sizes in axes.values.items() if len(set(sizes)) > 1}
    return {
        "definition": group.name,
        "workload": {"axes": varying, "inputs": inputs, "uuid": identity},
        "solution": None,
        "evaluation": None,
    }


def _bytes(call: Call, storage: Storage, seed: int) -> bytes | None:
    """Return a storage's contents; None if flashinfer-bench is to draw them.

    It draws integers from -1024 on, which are no indices: these are drawn here, from 0 to 3 as in
    the suite.
    """
    memory = storage.memory
    size = item_bytes(memory.dtype)
    count = math.prod(storage.shape)
    recorded = call.data.contents(storage.name)
    if recorded is not None:
        return recorded[: count * size]
    if memory.dtype.startswith(("int", "uint")):
        return np.random.default_rng(seed).integers(0, 4, count).astype(memory.dtype).tobytes()
    if memory.dtype not in _DTYPES:  # bits that are no integers
        values = np.random.default_rng(seed).standard_normal(count)
        return values.tobytes() if memory.dtype == "float64" else None
    return None


def _row(group: Group, call: Call, identity: str) -> str:
    median = "" if call.entry.median_ns is None else f"{call.entry.median_ns / 1000:.2f}"
    return (
        f"| {group.name} | {identity} | {call.entry.launches} | {100 * call.entry.share:.2f} | "
        f"{median} |"
    )


def _readme(suite: Suite, rows: list[str]) -> str:
    facts = "\n".join(f"- {name}: `{fact}`" for name, fact in suite.source.items())
    return f"""# Recorded kernels for flashinfer-bench

The calls of a suite that `kvtrace suite` made of a recorded run:

{facts}

`flashinfer-bench run --local .` times and checks solutions. {_REFERENCE_NOTE} It is given as the
solution `…_recorded`, too. Inputs that are `random` are drawn by flashinfer-bench, from a normal
distribution. There are no traces: flashinfer-bench has not compared anything yet. The
weights and recorded times of workloads, for which the format has no place:

| definition | workload | launches | share of {suite.weighed_by}, % | recorded median, µs |
|---|---|---:|---:|---:|
{chr(10).join(rows)}
"""


def _write_json(folder: Path, name: str, value: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(
        f"{json.dumps(value, indent=1, ensure_ascii=False)}\n", encoding="utf-8"
    )
