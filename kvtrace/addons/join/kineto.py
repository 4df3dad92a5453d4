"""`kvtrace convert kineto`: torch.profiler's JSON, with shapes, bytes and FLOPs of Triton kernels.

With `--set trace=FILE`, facts of the recording are added to that file: arguments to events of
kernels, and to the operators that PyTorch's compiler writes for its kernels; kernels without an
operator get one around the driver's call, as PyTorch does. Otherwise the events are built from the
tables. Fields: https://github.com/pytorch/kineto/blob/main/libkineto/src/output_json.cpp
"""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from kvtrace.addons.join.annotating import Annotations, annotated_file
from kvtrace.addons.join.call_facts import CallFacts
from kvtrace.addons.join.events import events_of, file_members
from kvtrace.converters.output import whole_file
from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.figures.scans import row_count
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Selection, Trace
from kvtrace.schema.without_ir import runs_without_ir
from kvtrace.text import plural

_SECOND: Final = 1_000_000_000
_WITH_EVENTS: Final = ("launches", "gpu_kernels", "tool_events")
_REPLAY: Final = "bytes and FLOPs are missing: run kvtrace replay to derive them"
_NO_IR: Final = "bytes and FLOPs are missing: the trace has no TTIR, which they are derived from"


class KinetoConverter:
    """Converter to torch.profiler's JSON, for tools that read this format, such as HTA."""

    summary = "torch.profiler's JSON, with shapes, bytes and FLOPs of Triton kernels"
    default_output = "kvtrace.pt.trace.json"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write one run's events into `output`, or with the setting `trace` the annotated file."""
        reject_unknown_settings("kineto", settings, ("trace",))
        trace, run = selection.trace, _one_run(selection)
        facts = CallFacts(trace, run)
        if "trace" in settings:
            annotations = Annotations(trace, run, facts)
            parts = annotated_file(Path(settings["trace"]), annotations)
            _write(output, parts)
            notes = annotations.sentences()
        else:
            _write(output, _document_parts(trace, run, facts))
            notes = ()
        if facts.underived:
            notes = (*notes, _NO_IR if runs_without_ir(trace, (run,)) else _REPLAY)
        return Conversion((output,), notes)


CONVERTER: Final = KinetoConverter()


def _one_run(selection: Selection) -> Run:
    """Return the only run with events, since torch.profiler writes a file per process.

    Raises:
        BadSetting: no run, or several, have launches, executions or an imported file's events.
    """
    runs = [
        run
        for run in selection.runs
        if any(row_count(selection.trace, run, name) for name in _WITH_EVENTS)
    ]
    if len(runs) != 1:
        raise BadSetting(
            f"{selection.trace.path} has {plural(len(runs), 'run')} with launches or executions, "
            "but a file of torch.profiler is of one process: name one run with --run."
        )
    return runs[0]


def _document_parts(trace: Trace, run: Run, facts: CallFacts) -> Iterator[str]:
    document_head = file_members(trace, run)
    base = document_head.get("baseTimeNanoseconds", 0)
    if not document_head:
        base = (
            (run.started or 0) // _SECOND * _SECOND
        )  # µs since 1970 have more digits than a float
        document_head = _new_members(run, base)
    yield json.dumps(document_head)[:-1] + ', "traceEvents": [\n'
    separator = ""
    for event in events_of(trace, run, facts, base):
        yield separator + json.dumps(event)
        separator = ",\n"
    yield "\n]}\n"


def _new_members(run: Run, base: int) -> dict[str, Any]:
    """Return the members of a file of a run besides its events; times count from `base` (ns)."""
    members: dict[str, Any] = {"schemaVersion": 1, "displayTimeUnit": "ms"}
    members["baseTimeNanoseconds"] = base
    if run.rank is not None:
        members["distributedInfo"] = {"rank": run.rank, "world_size": run.world_size}
    members["deviceProperties"] = [
        {"id": device["index"], "name": device["name"], "totalGlobalMem": device["memory_bytes"]}
        for device in run.devices
    ]
    return members


def _write(output: Path, parts: Iterable[str]) -> None:
    with whole_file(output) as file, _compressed(output, file) as target:
        for part in parts:
            target.write(part.encode())


@contextmanager
def _compressed(output: Path, file: BinaryIO) -> Iterator[Any]:
    """Yield the file to write into: one that compresses if the output's name ends in .gz."""
    if output.suffix != ".gz":
        yield file
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        yield packed
