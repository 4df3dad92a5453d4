"""Registry of importers, and their interface.

Files of tools that have nothing to import are known by their first bytes, which were seen in files
that VizTracer 1.1.1, py-spy 0.4.3, ONNX Runtime 1.32 and PyTorch 2.13 wrote; Nsight Compute's
reports begin with `NVR` and a zero byte. Headers of rocprof's and rocprofv2's tables are those that
the README of https://github.com/ROCm/rocprofiler lists.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

from kvtrace import registry
from kvtrace.converters.importers.rows import RunRows
from kvtrace.converters.registry import load_named
from kvtrace.schema.errors import KvtraceError


class BadSource(KvtraceError):
    """Error: a file of another tool cannot be imported, since it is damaged or malformed."""

    slug = "bad-source"


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """Facts of one imported process.

    Attributes:
        row: Values of columns of `runs`.
        lacks: Sentences about data that the tool does not record, for rows of `messages`.
        left_out: Number of the file's records that no figure counts, by the tool's name of their
            kind, such as a category of events or a table.
        has_all_events: Whether those records are in `tool_events`, else they were not imported.
        has_whole_file: Whether the file describes no other process, so that its name may say the
            process's rank.

    """

    row: Mapping[str, Any] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    has_all_events: bool = False
    has_whole_file: bool = True


@runtime_checkable
class Importer(Protocol):
    """Interface of importers, each of which converts one tool's files to rows of runs."""

    @property
    def summary(self) -> str:
        """Description in one line, for `kvtrace import --help`."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the tool wrote a file or folder; `head` has its first unpacked bytes."""

    def read(self, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
        """Add the rows of a process and yield its facts, for each process of the file.

        Raises:
            BadSource: the file does not have the form that the tool writes.

        """


def left_out_sentence(counts: Mapping[str, int], *, in_events: bool) -> str | None:
    """Return a sentence that lists what no figure counts, by kind; None if nothing was left out.

    `in_events`: it is in `tool_events`, else it was not imported.
    """
    listed = ", ".join(f"{kind} ({count:,})" for kind, count in sorted(counts.items()) if count)
    fate = "kept in tool_events, in no figure" if in_events else "not imported"
    return f"{fate}, by the tool's names: {listed}" if listed else None


def importer_names() -> tuple[str, ...]:
    """Return the names of all importers."""
    return tuple(dict.fromkeys(entry.name for entry in registry.entries("importers")))


def load_importer(name: str) -> Importer:
    """Import the module of the importer with a name, and return the importer.

    Raises:
        BadSetting: no importer has the name, or the registered object is not an importer.

    """
    members = "summary, recognizes() and read()"
    importer: Importer = load_named("importer", name, importer_names(), Importer, members)
    return importer


def importer_of(path: Path, head: bytes) -> str:
    """Return the name of the importer that recognizes a file.

    Raises:
        BadSource: no importer recognizes the file.

    """
    for name in importer_names():
        if load_importer(name).recognizes(path, head):
            return name
    for kind in _OTHER_FILES:
        if kind.includes(path, head):
            advice = kind.advice.format(name=path.name)
            raise BadSource(f"{path} is {kind.description}; {advice}")
    raise BadSource(
        f"{path} is not recognized as a file of a tool that kvtrace imports "
        f"({', '.join(importer_names())}); if it is, name the tool before the file"
    )


# -- files with nothing to import ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _OtherFile:
    """A kind of file: its description, endings of names, texts of its first bytes, and advice."""

    description: str
    advice: str
    endings: tuple[str, ...] = ()
    texts: tuple[bytes, ...] = ()
    first: bytes = b""

    def includes(self, path: Path, head: bytes) -> bool:
        """Return whether a file with these first unpacked bytes is of this kind."""
        if path.name.endswith(self.endings):
            return True
        return bool(self.first or self.texts) and (
            head.startswith(self.first) and all(text in head for text in self.texts)
        )


_TORCH: Final = (
    "record the program with torch.profiler (with_stack=True has Python's stacks, too), and import "
    "its JSON"
)
_ROCPROFV3: Final = (
    "run the program under `rocprofv3 --kernel-trace --memory-copy-trace`, and import what that "
    "writes"
)
_OTHER_FILES: Final = (
    _OtherFile(
        "a report of Nsight Systems, which only its own tools read",
        "`nsys export --type sqlite {name}` makes a file to import",
        endings=(".nsys-rep", ".qdrep"),
    ),
    _OtherFile(
        "a report of Nsight Compute: counters of single kernels, not the times of a run",
        "`nsys profile`, then `nsys export --type sqlite`, makes a file to import; `ncu --import "
        "{name} --page raw --csv` prints the counters",
        endings=(".ncu-rep", ".nsight-cuprof-report"),
        first=b"NVR\0",
    ),
    _OtherFile(
        "a table of rocprofv2, the tool before rocprofv3",
        _ROCPROFV3,
        texts=(b"Dispatch_ID,GPU_ID,Queue_ID,",),
    ),
    _OtherFile(
        "a table of rocprofv3 without times of kernels",
        "import the _kernel_trace.csv beside it",
        endings=("_agent_info.csv", "_stats.csv", "_api_trace.csv"),
    ),
    _OtherFile(
        "a table of rocprof, the tool before rocprofv2 and rocprofv3",
        _ROCPROFV3,
        texts=(b"KernelName", b"gpu-id", b"queue-id"),
    ),
    _OtherFile(
        "a Perfetto trace",
        "of rocprofv3, import its database or JSON (--output-format rocpd, or json)",
        endings=(".pftrace",),
    ),
    _OtherFile(
        "a profile of XLA: operations of a program of JAX or TensorFlow",
        "run the program under `nsys profile` (then `nsys export --type sqlite`) or `rocprofv3`, "
        "and import what that writes",
        endings=(".xplane.pb",),
    ),
    _OtherFile(
        "a Chakra execution trace: operators and their tensors, without times",
        "record the same steps with torch.profiler, and import its JSON",
        endings=(".et",),
        texts=(b'"schema"', b"chakra"),
    ),
    _OtherFile(
        "PyTorch's memory snapshot: allocations without kernels (a pickle, which is not opened)",
        "KVTRACE_MEMORY=on records allocations beside the launches; of torch.profiler, "
        "profile_memory=True does",
        texts=(b"segments",),
        first=b"\x80",
    ),
    _OtherFile(
        "a profile of ONNX Runtime: nodes of a graph, not kernels with their streams",
        "run the program under `nsys profile` (then `nsys export --type sqlite`) or `rocprofv3`, "
        "and import what that writes",
        texts=(b'"cat" : "Session"',),
        first=b"[",
    ),
    _OtherFile(
        "a trace of VizTracer: functions of Python without kernels",
        _TORCH,
        texts=(b'"cat": "fee"',),
    ),
    _OtherFile(
        "a profile of py-spy: samples of Python's stacks without kernels",
        _TORCH,
        texts=(b'"cat":"py-spy"',),
    ),
    _OtherFile(
        "a speedscope profile: stacks without kernels", _TORCH, texts=(b"www.speedscope.app/",)
    ),
)
