"""Export to a folder that Hugging Face's `datasets` loads: Parquet, and a card in README.md.

Format: https://huggingface.co/docs/hub/datasets-manual-configuration and datasets 5.2.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kvtrace.addons.suite.exports.calls import Call, base_tensor
from kvtrace.addons.suite.model import Suite
from kvtrace.converters.scripts.repro import DescriptorArgument, Literal, TensorArgument

_DATA: Final = Path("data", "train-00000-of-00001.parquet")
_TEXTS: Final = pa.list_(pa.string())
_NUMBERS: Final = pa.list_(pa.int64())
#: Maps are lists of pairs, since `datasets` has no type for them.
_PAIRS: Final = pa.list_(pa.struct([("name", pa.string()), ("value", pa.string())]))
_ARGUMENT: Final = pa.struct(
    [
        ("name", pa.string()),
        ("kind", pa.string()),
        ("value", pa.string()),
        ("storage", pa.string()),
        ("dtype", pa.string()),
        ("shape", _NUMBERS),
        ("strides", _NUMBERS),
        ("offset_bytes", pa.int64()),
        ("descriptor_shape", _NUMBERS),
        ("descriptor_strides", _NUMBERS),
        ("block_shape", _NUMBERS),
        ("padding", pa.string()),
    ]
)
_STORAGE: Final = pa.struct(
    [
        ("name", pa.string()),
        ("bytes", pa.int64()),
        ("dtype", pa.string()),
        ("origin", pa.string()),
        ("read", pa.bool_()),
        ("written", pa.bool_()),
        ("contents", pa.binary()),
    ]
)
SCHEMA: Final = pa.schema(
    [
        ("name", pa.string()),
        ("kernel", pa.string()),
        ("title", pa.string()),
        ("ir", pa.string()),
        ("ir_stage", pa.string()),
        ("source", pa.string()),
        ("grid", _NUMBERS),
        ("options", _PAIRS),
        ("arguments", pa.list_(_ARGUMENT)),
        ("storages", pa.list_(_STORAGE)),
        ("calls", _TEXTS),
        ("launches", pa.int64()),
        ("share", pa.float64()),
        ("device_ns", pa.int64()),
        ("median_ns", pa.float64()),
        ("checks", _PAIRS),
        ("notes", _TEXTS),
        ("device", pa.string()),
        ("recorded", _PAIRS),
    ]
)


class Dataset:
    """Export to a data set with a row for each call."""

    summary = "a data set of Hugging Face, a row for each call (Parquet)"

    def write(self, suite: Suite, calls: list[Call], output: Path) -> Iterable[str]:
        """Write the Parquet file and the card; see `Export`."""
        (output / _DATA).parent.mkdir()
        with pq.ParquetWriter(output / _DATA, SCHEMA, compression="zstd") as writer:
            for call in calls:  # a group of rows each, since contents may be large
                row = _row(call, suite)
                writer.write_table(pa.Table.from_pylist([row], schema=SCHEMA))
        (output / "README.md").write_text(_card(suite), encoding="utf-8")
        return ()


EXPORT: Final = Dataset()


def _row(call: Call, suite: Suite) -> dict[str, Any]:
    entry, data = call.entry, call.data
    return {
        "name": entry.name,
        "kernel": data.kernel,
        "title": entry.title,
        "ir": call.ir,
        "ir_stage": data.code.stage,
        "source": call.source,
        "grid": data.grid,
        "options": _pairs(data.options),
        "arguments": [_argument(name, value) for name, value in data.arguments.items()],
        "storages": [
            {
                "name": storage.name,
                "bytes": storage.memory.nbytes,
                "dtype": storage.memory.dtype,
                "origin": entry.inputs.get(storage.name),
                "read": storage.read,
                "written": storage.written,
                "contents": data.contents(storage.name),
            }
            for storage in call.used
        ],
        "calls": entry.calls,
        "launches": entry.launches,
        "share": entry.share,
        "device_ns": entry.device_ns,
        "median_ns": entry.median_ns,
        "checks": _pairs(entry.checks),
        "notes": entry.notes,
        "device": suite.source.get("device"),
        "recorded": _pairs(suite.source),
    }


def _argument(name: str, value: TensorArgument | DescriptorArgument | Literal) -> dict[str, Any]:
    if isinstance(value, Literal):
        return {"name": name, "kind": "value", "value": value.text}
    tensor = base_tensor(value)
    assert tensor is not None
    row = {
        "name": name,
        "kind": "tensor",
        "storage": tensor.storage,
        "dtype": tensor.dtype,
        "shape": tensor.shape,
        "strides": tensor.strides,
        "offset_bytes": tensor.offset,
    }
    if isinstance(value, DescriptorArgument):
        row |= {
            "kind": "descriptor",
            "descriptor_shape": value.shape,
            "descriptor_strides": value.strides,
            "block_shape": value.block_shape,
            "padding": value.padding,
        }
    return row


def _pairs(values: Any) -> list[dict[str, str]]:
    """Return a mapping as pairs; values that are no texts are JSON."""
    return [
        {"name": name, "value": value if isinstance(value, str) else json.dumps(value)}
        for name, value in values.items()
    ]


def _card(suite: Suite) -> str:
    facts = "\n".join(f"- {name}: `{fact}`" for name, fact in suite.source.items())
    return f"""---
pretty_name: Recorded Triton kernels
tags:
- triton
- gpu-kernels
configs:
- config_name: default
  data_files:
  - split: train
    path: {_DATA.as_posix()}
---

# Recorded Triton kernels

{len(suite.entries)} calls of a suite that `kvtrace suite` made of a recorded run, which stand for
{100 * suite.covered:.1f} % of its {suite.weighed_by}:

{facts}

A row is a call: its kernel's IR (`ir`, in the form `ir_stage`; `source` is the Python module if it
was recorded), `grid`, compile `options`, `arguments` in the order of the kernel's parameters,
and the `storages` that tensors lie in: their size, where their contents come from (`origin`:
recorded, drawn from recorded ranges, or random), and `contents` if they were recorded. `shape` and
`strides` count elements. `share` is of the run's {suite.weighed_by}, `median_ns` of the recorded
executions on `device`. `checks` are verdicts of the sanitizer by rule.
"""
