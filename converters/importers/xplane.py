"""Importer of XPlane files (`*.xplane.pb`), which the profiler of JAX, XLA and TensorFlow writes.

Planes, lines and stats are named in xla/tsl/profiler/utils/xplane_schema.cc of
https://github.com/openxla/xla. A GPU's plane has a line for each stream, whose events are kernels,
copies and fills (xla/backends/profiler/gpu/cupti_collector.cc and rocm_collector.cc). A TPU's plane
has lines of operations, which may enclose others (a `while` its body). Without a device, XLA runs
operations in host threads. A line that the profiler derives from those is counted in a note.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.importers.executions import COPY, FILL, KERNEL, Executions, marks
from kvtrace.converters.importers.host_stacks import Frame
from kvtrace.converters.importers.importing import EPOCH_NS, unpacked
from kvtrace.converters.importers.json_values import device_facts, int32_or_none, integer, text
from kvtrace.converters.importers.registry import BadSource, ImportedRun
from kvtrace.converters.importers.rows import NONE, RunRows
from kvtrace.converters.importers.xplane_space import Event, Line, Plane, Stats, parsed_space
from kvtrace.schema.repair import LATEST
from kvtrace.text import duration, plural

#: A space's first field is a plane, whose first fields are its id and its name.
_HEAD: Final = re.compile(
    rb"\x0a[\x80-\xff]*[\x00-\x7f](?:\x08[\x80-\xff]*[\x00-\x7f])?\x12[\x00-\x7f](.)"
)
_PLANE_STARTS: Final = (b"/", b"T", b"#", b"H", b"S")
_DEVICE: Final = re.compile(r"/device:(GPU|TPU):(\d{1,9})(?: .*)?")
_STREAM: Final = re.compile(r"Stream #(\d{1,18})")
#: Lines of operations in a plane without streams; operations enclose others in the first two.
_NESTED_LINES: Final = frozenset({"XLA Ops", "Sparse Core Ops"})
_ASYNCHRONOUS_LINE: Final = "Async XLA Ops"
_STEPS_LINE: Final = "Steps"
#: Stats by which the kind of an event of a stream is known.
_KINDS: Final = {"kernel_details": KERNEL, "memcpy_details": COPY, "memset_details": FILL}
#: The same of what is no work of the device.
_MEMORY: Final = frozenset({"memalloc_details", "memfree_details", "memoryresidency_details"})
_NUMBERS: Final = re.compile(r"\b(\w+):(\d+(?:,\d+)*)")
#: More registers than a thread of any GPU may have; ROCm's older profiler left the fields unset.
_MOST_REGISTERS: Final = 1024
#: A Python function: `$file.py:12 name`.
_FUNCTION: Final = re.compile(r"\$(.+):(\d+) (.+)")
_PLACE: Final = re.compile(r"(.+):(\d{1,9})")
_VERSIONS: Final = (
    "jax_version", "jaxlib_version", "cuda_version", "cuda_runtime_version", "cuda_driver_version",
    "libtpu_version",
)  # fmt: skip
_LACKS: Final = (
    "XLA's profiler records neither arguments of kernels nor Triton's IR, so figures that need "
    "them are missing"
)
_MOST_REPORTS: Final = 8


class XPlane:
    """Importer of XPlane files."""

    summary = "JAX, XLA and TensorFlow: .xplane.pb"

    def recognizes(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 - others need it
        """Return whether the file begins with a plane."""
        match = _HEAD.match(head)
        return match is not None and match[1] in _PLANE_STARTS

    def read(self, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
        """Add the rows of the host's process, and yield its facts. Errors as `Importer.read`."""
        with unpacked(path) as file:
            space = parsed_space(path, file.read())
        profile = _Profile(rows)
        for plane in space.planes:
            profile.add(plane)
        profile.add_operations_of_host()
        if not profile.executions:
            raise BadSource(
                f"{path} has no work of a GPU, a TPU, or XLA's CPU device; was anything run while "
                "the profiler traced?"
            )
        yield profile.finished(space.host, space.reports)


class _Profile:
    """Executions, ranges and facts of the planes of one file, as they are collected."""

    def __init__(self, rows: RunRows) -> None:
        self._rows = rows
        self._device = Executions(serial=False)
        self._steps: list[tuple[str, int, int, int, str]] = []
        self._device_steps: dict[int, list[tuple[str, int, int, int, str]]] = {}
        self._host_operations: list[tuple[Line, list[Event]]] = []
        self._devices: dict[int, dict[str, Any]] = {}
        self._facts: dict[str, int | float | str] = {}
        self._skipped: Counter[str] = Counter()
        self._enclosing: list[int] = []
        self._stacks: dict[tuple[Any, ...], int] = {}
        self._first = 2**63

    @property
    def executions(self) -> int:
        """Number of executions until now."""
        return len(self._device)

    def add(self, plane: Plane) -> None:
        """Add a plane; one that is neither a device nor a host gives facts only."""
        self._facts.update(plane.stats)
        for line in plane.lines:
            if len(line):
                self._first = min(self._first, line.timestamp)
                self._skip("aggregated events", line.aggregated)
        device = _DEVICE.fullmatch(plane.name)
        if device is not None:
            self._add_device(int(device[2]), device[1], plane)
        elif plane.name.startswith("/host:"):
            for line in plane.lines:
                self._add_thread(line)
        else:
            for line in plane.lines:
                self._skip(plane.name, len(line))

    def _skip(self, what: str, number: int) -> None:
        if number:
            self._skipped[what] += number

    def _add_device(self, index: int, kind: str, plane: Plane) -> None:
        self._devices.setdefault(index, _device(index, kind, plane.stats))
        has_streams = any(_STREAM.match(line.name) for line in plane.lines)
        for line in plane.lines:
            stream = _STREAM.match(line.name)
            if stream is not None:
                for event in line.events():
                    self._add_stream_event(event, index, int(stream[1]))
            elif not has_streams and line.name in _NESTED_LINES:
                self._add_operations(line.events(), index, line.id)
            elif not has_streams and line.name == _ASYNCHRONOUS_LINE:
                for event in line.events():
                    is_copy = event.display_name.startswith(("copy", "async-copy"))
                    self._add_operation(event, index, line.id, COPY if is_copy else KERNEL)
            elif line.name == _STEPS_LINE:
                self._device_steps[index] = [
                    (_STEPS_LINE, event.begin, event.end, NONE, event.display_name)
                    for event in line.events()
                ]
            else:
                self._skip(line.name, len(line))

    def _add_stream_event(self, event: Event, device: int, stream: int) -> None:
        """Add an event of a GPU's stream, unless it is a request of memory or an overhead."""
        named = {name.lower(): value for name, value in event.stats.items()}
        kind = next((_KINDS[name] for name in _KINDS if name in named), None)
        if kind is None:
            if any(name in _MEMORY for name in named) or "overhead" in event.name.lower():
                self._skip("allocations and overheads of streams", 1)
                return
            kind = KERNEL
        details = _details(" ".join(str(named[name]) for name in _KINDS if name in named))
        registers = _number(details, "regs")
        is_set = registers <= _MOST_REGISTERS
        shared = [
            details[n][0] for n in ("static_shared", "dynamic_shared", "group_mem") if n in details
        ]
        self._device.add(
            event.name,
            event.begin,
            event.end,
            device=device,
            stream=stream,
            correlation=integer(named.get("correlation_id")),
            graph=integer(named.get("cuda_graph_id")) or NONE,
            node=integer(named.get("cuda_graph_node_id")) or NONE,
            grid=_sizes(details, "grid"),
            block=_sizes(details, "block"),
            registers=registers if is_set else NONE,
            shared=sum(shared) if shared and is_set else NONE,
            kind=kind,
            size=max(_number(details, "size"), _number(details, "num_bytes")),
            stack=self._stack(event.stats),
        )

    def _add_operations(
        self, events: Iterator[Event] | Sequence[Event], device: int, stream: int
    ) -> None:
        """Add operations of a line in which some enclose others: those that enclose none."""
        ordered = sorted(events, key=lambda event: (event.begin, -event.end))
        for event, following in zip(ordered, [*ordered[1:], None], strict=True):
            if following is not None and following.end <= event.end and following.begin < event.end:
                self._enclosing.append(event.end - event.begin)
            else:
                self._add_operation(event, device, stream, KERNEL)

    def _add_operation(self, event: Event, device: int, stream: int, kind: int) -> None:
        self._device.add(
            event.display_name,
            event.begin,
            event.end,
            device=device,
            stream=stream,
            kind=kind,
            stack=self._stack(event.stats),
        )

    def _stack(self, stats: Stats) -> int:
        """Return the id of the stack of an event: operation, its source, and module; else NONE."""
        operation, module = text(stats.get("hlo_op")), text(stats.get("hlo_module"))
        name = text(stats.get("name")) or text(stats.get("tf_op"))
        if name == "XlaModule:":  # of every kernel of a module
            name = None
        place = text(stats.get("source"))
        key = (operation, name, place, module)
        if not any(key):
            return NONE
        if key not in self._stacks:
            match = _PLACE.fullmatch(place or "")
            file, line = (match[1], int(match[2]) or None) if match else (place, None)
            frames: list[Frame] = [(None, None, None, operation)] if operation else []
            if name or place:
                frames.append((file, line, None, name.rstrip(":") if name else None))
            if module:
                frames.append((None, None, None, module))
            self._stacks[key] = self._rows.stack(frames)
        return self._stacks[key]

    def _add_thread(self, line: Line) -> None:
        """Add the calls, steps and ranges of a host thread."""
        operations = []
        for event in line.events():
            if "hlo_op" in event.stats and "device_ordinal" in event.stats:
                operations.append(event)
            correlation = integer(event.stats.get("correlation_id"))
            if correlation != NONE:
                self._device.call(event.name, event.begin, event.end, line.id, correlation)
                continue
            step = event.stats.get("step_num")
            if step is not None:
                self._steps.append((event.name, event.begin, event.end, line.id, str(step)))
            if -LATEST <= event.begin < event.end <= LATEST:
                self._device.host.add(line.id, event.begin, event.end, _function(event.name))
            else:
                self._skip("instants of host threads", 1)
        if operations:
            self._host_operations.append((line, operations))

    def add_operations_of_host(self) -> None:
        """Add the operations in host threads, unless a device executed some: XLA's CPU device."""
        if self.executions:
            return
        for line, operations in self._host_operations:
            ordinals = {integer(event.stats["device_ordinal"]) for event in operations}
            for ordinal in sorted(ordinals):
                self._devices.setdefault(ordinal, {"index": ordinal, "name": "CPU"})
                chosen = [e for e in operations if integer(e.stats["device_ordinal"]) == ordinal]
                self._add_operations(chosen, ordinal, line.id)

    def finished(self, host: str | None, reports: tuple[str, ...]) -> ImportedRun:
        """Write the collected rows, and return the facts of the process."""
        start = integer(self._facts.get("profile_start_time"))
        # Times before `EPOCH_NS` count from the start of the profile.
        shift = start if self._first < EPOCH_NS <= start else 0
        of_device = self._device_steps[min(self._device_steps)] if self._device_steps else []
        for name, begin, end, thread, step in self._steps or of_device:
            marks(self._rows, [(name, begin, end, thread)], shift, step=step)
        times = self._device.finish(self._rows, shift)
        return ImportedRun(
            {
                "started": times and times[0],
                "ended": times and times[1],
                "host": host,
                "pid": int32_or_none(self._facts.get("process_id")),
                "devices": [facts for _, facts in sorted(self._devices.items())],
                "versions": {n: str(self._facts[n]) for n in _VERSIONS if n in self._facts},
            },
            tuple(self._lacks(times, reports)),
            left_out=self._skipped,
        )

    def _lacks(self, times: tuple[int, int] | None, reports: tuple[str, ...]) -> Iterator[str]:
        yield _LACKS
        if self._enclosing:
            yield (
                f"{plural(len(self._enclosing), 'operation')} that enclose others, as a loop its "
                f"body, are left out, so that no time counts twice: "
                f"{duration(sum(self._enclosing))} with all that they enclose"
            )
        if times and times[0] < EPOCH_NS:
            yield "the profile has no time of day; its times count from an unknown moment"
        for report in reports[:_MOST_REPORTS]:
            yield f"the profiler reports: {' '.join(report.split())[:300]}"
        if len(reports) > _MOST_REPORTS:
            yield f"the profiler has {plural(len(reports) - _MOST_REPORTS, 'further report')}"


def _device(index: int, kind: str, stats: Stats) -> dict[str, Any]:
    """Return the entry of `runs.devices` for a device's plane with stats."""
    vendor = text(stats.get("device_vendor"))
    name = text(stats.get("gpu_device_name")) or text(stats.get("device_type_string"))
    name = name or " ".join(filter(None, (vendor, kind)))
    major, minor = stats.get("compute_cap_major"), stats.get("compute_cap_minor")
    if vendor == "AMD":  # the numbers are not the name of the architecture
        major = minor = None
    return device_facts(index, name, major, minor, stats.get("memory_size"))


def _details(words: str) -> dict[str, tuple[int, ...]]:
    """Return the numbers of a text such as `regs:32 grid:8,1,1`, by name."""
    return {
        name: tuple(int(part) for part in numbers.split(",") if len(part) < 19)
        for name, numbers in _NUMBERS.findall(words)
    }


def _number(details: dict[str, tuple[int, ...]], name: str) -> int:
    return next(iter(details.get(name, ())), NONE)


def _sizes(details: dict[str, tuple[int, ...]], name: str) -> tuple[int, int, int]:
    x, y, z = (*details.get(name, ()), NONE, NONE, NONE)[:3]
    return x, y, z


def _function(name: str) -> str:
    """Return the name of a range, that of a Python function as torch.profiler writes it."""
    match = _FUNCTION.fullmatch(name)
    return f"{match[1]}({match[2]}): {match[3]}" if match else name.removeprefix("$")


IMPORTER = XPlane()
