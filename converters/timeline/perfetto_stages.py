"""Device executions as Perfetto's GPU render stages, which its pages of GPUs and kernels read.

An execution is one packet with its duration, on the queue of its stream; its submission is its
launch. Kernels of one caption share an interned description: symbol, name, sizes, and the caption's
facts. The stage's name is the kernel's, so that engines before 2026, which know no kernels, show it
too.

Field numbers: https://github.com/google/perfetto/tree/main/protos/perfetto/trace
(gpu/gpu_render_stage_event.proto, interned_data/interned_data.proto; kernels are interned in field
1000). Names of a launch's figures, such as `launch__registers_per_thread`, are those that the
page's section "Launch Statistics" shows.
"""

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from kvtrace.converters.timeline.captions import Caption, ExecutedKernel, Facts
from kvtrace.converters.timeline.packets import (
    CHUNK,
    Buffer,
    first_packet,
    packet_pieces,
    without_nul,
)
from kvtrace.converters.timeline.pieces import (
    ByteTable,
    Constant,
    Lookup,
    PartialRows,
    Piece,
    concatenate_rows,
)
from kvtrace.converters.timeline.protobuf import Varint, bytes_field, integer_field, varint
from kvtrace.converters.timeline.timeline import Integers, Slices, Track

# TracePacket
_RENDER_STAGE: Final = 53
# GpuRenderStageEvent
_EVENT_ID: Final = 1
_DURATION: Final = 2
_CONTEXT: Final = 5
_SUBMISSION: Final = 10
_GPU: Final = 11
_QUEUE: Final = 13
_STAGE: Final = 14
_KERNEL: Final = 19
_LAUNCH: Final = 21
# ComputeKernelLaunch, and Dim3 with the fields 1 to 3
_GRID: Final = 1
_BLOCK: Final = 2
# InternedData
_CONTEXTS: Final = 23
_SPECIFICATIONS: Final = 24
_KERNELS: Final = 1000
# InternedGraphicsContext, InternedGpuRenderStageSpecification, InternedComputeKernel: iid is 1
_IID: Final = 1
_PID: Final = 2
_NAME: Final = 2
_CATEGORY: Final = 4
_OTHER, _COMPUTE = 0, 2
_DEMANGLED: Final = 3
_ARGUMENT: Final = 5
# ExtraComputeArg
_ARGUMENT_NAME: Final = 2
_INTEGER: Final = 3
_TEXT: Final = 6
#: Bits of an event's id below its sequence's.
_ROW_BITS: Final = 40


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue of a GPU: its name, which no other queue has, and the GPU's number."""

    name: str
    gpu: int


def queue_of(stream: Track, gpus: MutableMapping[Track, int]) -> Queue:
    """Return the queue of a stream's track; `gpus` has numbers of devices, to which it adds."""
    device = stream if stream.parent is None else stream.parent
    return Queue(f"{device.name} · {stream.name}", gpus.setdefault(device, len(gpus)))


def encode_stages(slices: Slices, queue: Queue, sequence: int) -> Iterator[Buffer]:
    """Yield a stream's executions encoded as a packet sequence; nothing without executions."""
    if not slices.begin.size:
        return
    order = np.lexsort((-slices.duration, slices.begin))
    begin, duration = slices.begin[order], slices.duration[order]
    used = np.unique(slices.caption)
    captions = [slices.captions[index] for index in used.tolist()]
    context = slices.track.pid
    stages = {stage: number for number, stage in enumerate(dict.fromkeys(map(_stage, captions)), 2)}
    interned = (
        _interned(_CONTEXTS, context, integer_field(_PID, context))
        + _specification(1, queue.name, _OTHER)
        + b"".join(_specification(number, *stage) for stage, number in stages.items())
        + b"".join(
            _interned(_KERNELS, number, _kernel(caption.name, caption.kernel, caption.facts))
            for number, caption in enumerate(captions, 1)
            if caption.kernel is not None
        )
    )
    yield first_packet(sequence, int(begin[0]), interned)
    table = ByteTable([
        integer_field(_STAGE, stages[_stage(caption)]) + _launch(number, caption.kernel)
        for number, caption in enumerate(captions, 1)
    ])  # fmt: skip
    entry = np.searchsorted(used, slices.caption[order])
    place = (
        integer_field(_QUEUE, 1) + integer_field(_GPU, queue.gpu) + integer_field(_CONTEXT, context)
    )
    submission = np.full(begin.size, -1) if slices.launch is None else slices.launch[order]
    deltas = np.diff(begin, prepend=begin[0])
    numbers = (sequence << _ROW_BITS) + np.arange(begin.size)
    for first in range(0, begin.size, CHUNK):
        part = slice(first, first + CHUNK)
        event: list[Piece] = [
            Constant(varint(_EVENT_ID << 3)),
            Varint(numbers[part]),
            Constant(varint(_DURATION << 3)),
            Varint(duration[part]),
            Constant(place),
            _submission_piece(submission[part]),
            Lookup(table, entry[part]),
        ]
        rows = deltas[part]
        pieces = packet_pieces(_RENDER_STAGE, rows, sequence, event)
        yield concatenate_rows(pieces, rows.size).data


def _submission_piece(launch: Integers) -> Piece:
    """Return the piece with the launch's number, in rows with a known launch; uint32."""
    known = np.flatnonzero((launch >= 0) & (launch < 1 << 32))
    content: list[Piece] = [Constant(varint(_SUBMISSION << 3)), Varint(launch[known])]
    return PartialRows(known, content, launch.size)


def _stage(caption: Caption) -> tuple[str, int]:
    return caption.name, _OTHER if caption.kernel is None else _COMPUTE


def _interned(field: int, number: int, content: bytes) -> bytes:
    return bytes_field(field, integer_field(_IID, number) + content)


def _specification(number: int, name: str, category: int) -> bytes:
    content = bytes_field(_NAME, without_nul(name)) + integer_field(_CATEGORY, category)
    return _interned(_SPECIFICATIONS, number, content)


def _kernel(name: str, kernel: ExecutedKernel, facts: Facts) -> bytes:
    """Return the content of an InternedComputeKernel, whose arguments are figures and facts."""
    content = bytes_field(_NAME, without_nul(kernel.symbol))
    content += bytes_field(_DEMANGLED, without_nul(name))
    arguments = {**_figures(kernel), **_flat(facts)}
    return content + b"".join(
        bytes_field(_ARGUMENT, bytes_field(_ARGUMENT_NAME, without_nul(key)) + _value(value))
        for key, value in arguments.items()
    )


def _value(value: int | str) -> bytes:
    if isinstance(value, int):
        return integer_field(_INTEGER, value)
    return bytes_field(_TEXT, without_nul(value))


def _figures(kernel: ExecutedKernel) -> dict[str, int]:
    """Return the known figures of a launch by the names that Perfetto's page shows."""
    figures: dict[str, int | None] = {"launch__registers_per_thread": kernel.registers}
    for name, sizes in (("grid", kernel.grid), ("block", kernel.block)):
        figures |= {
            f"launch__{name}_size_{axis}": size for axis, size in zip("xyz", sizes, strict=True)
        }
        known = [size for size in sizes if size is not None]
        if len(known) == len(sizes):
            figures[f"launch__{name}_size"] = prod(known)
    blocks, threads = figures.get("launch__grid_size"), figures.get("launch__block_size")
    if blocks is not None and threads is not None:
        figures["launch__thread_count"] = blocks * threads
    return {name: figure for name, figure in figures.items() if figure is not None}


def _flat(facts: Facts, prefix: str = "") -> dict[str, int | str]:
    """Return facts by name; a fact of facts has their names after its own and a dot."""
    flat: dict[str, int | str] = {}
    for key, value in facts:
        if isinstance(value, int | str):
            flat[prefix + key] = value
        else:
            flat |= _flat(value, f"{prefix}{key}.")
    return flat


def _launch(number: int, kernel: ExecutedKernel | None) -> bytes:
    """Return the fields of an event that name its kernel and have its sizes."""
    if kernel is None:
        return b""
    launch = b""
    for field, sizes in ((_GRID, kernel.grid), (_BLOCK, kernel.block)):
        known = [
            integer_field(axis, size) for axis, size in enumerate(sizes, 1) if size is not None
        ]
        if len(known) == len(sizes):
            launch += bytes_field(field, b"".join(known))
    return integer_field(_KERNEL, number) + bytes_field(_LAUNCH, launch)
