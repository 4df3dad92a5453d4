"""Files of tools that have nothing to import, each with what to import instead.

What begins a file was seen in files that VizTracer 1.1.1, py-spy 0.4.3, ONNX Runtime 1.32 and
PyTorch 2.13 wrote; Nsight Compute's reports begin with `NVR` and a zero byte.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final


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


def advice_on(path: Path, head: bytes) -> str | None:
    """Return what a file is and what to import instead; None if its kind is not known."""
    for kind in _OTHER_FILES:
        if kind.includes(path, head):
            return f"{path} is {kind.description}; {kind.advice.format(name=path.name)}"
    return None
