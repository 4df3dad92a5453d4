"""To be run by hand on a machine with an NVIDIA GPU and `ncu`: banks and widths that it counts.

    python tests/gpu/check_banks.py FOLDER [--device cuda|cpu]    # measures, then compares
    python tests/gpu/check_banks.py FOLDER --read                 # compares what was measured

Each kernel of bank_kernels.py is recorded, and launched again under `ncu`. kvtrace's ways of bank
conflicts, times the instructions on their lines, must be the wavefronts and conflicts that the GPU
counts; vectors of lines, the widths of the lines' instructions, whose mean must be the bytes that
it counts. FOLDER gets three files: ways need Triton 3.7, beside which they may be read elsewhere.
Prints a table; ends with 1 if anything differs. `--device cpu` tries all but `ncu` without a GPU.
"""

import argparse
import csv
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
import triton

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import kvtrace
from corpus.kernels.bank_kernels import LAUNCHES, WARPS
from kvtrace.converters.disassembly import disassembled, disassembler
from kvtrace.converters.line_layouts import LineLayouts
from kvtrace.converters.line_links import link_sass
from kvtrace.figures.layouts import LineLayout
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import Trace, open_trace

#: Launches that differ on an H200 (Triton 3.6, ways by 3.7.1), and why.
KNOWN = {
    "lanes that repeat": "lanes with the same element do not store, and no bytes of theirs count",
    "sums": "the same",
    "multiplied, unswizzled": "ldmatrix: the ways are those of Triton's model",
}
_SHARED = "mem_shared_op_{}.sum"
WAVEFRONTS = (
    f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_{_SHARED}",
    f"l1tex__data_pipe_lsu_wavefronts_{_SHARED}",
)
CONFLICTS = (
    f"smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_{_SHARED}",
    f"l1tex__data_bank_conflicts_pipe_lsu_{_SHARED}",
)
BYTES = ("smsp__sass_data_bytes_mem_global_op_{}.sum",)
NAMES = [name.format(op) for name in (*WAVEFRONTS, *CONFLICTS, *BYTES) for op in ("ld", "st")]
#: What all GPUs since Volta count, if others are refused.
FALLBACK = [name for name in NAMES if name.startswith("l1tex")]
_ACCESS = re.compile(r"^\s*/\*\w+\*/\s+(?:@!?U?P\d+ )?(LDSM|STSM|LDS|STS|LDGSTS|LDG|STG)\b(\S*)")
#: Of a run of ncu: there are three at most.
SECONDS = 50
Counters = Mapping[str, float]


class Instruction(NamedTuple):
    """An access in SASS: its opcode, the bytes of a thread, matrices that it moves, its line."""

    opcode: str
    size: int
    matrices: int
    frame: tuple[str, int] | None

    @property
    def is_shared(self) -> bool:
        return self.opcode in ("LDS", "LDSM", "STS", "STSM")

    @property
    def best(self) -> int:
        """Wavefronts of a warp without conflicts: 128 bytes each."""
        return self.matrices or max(1, self.size // 4)


def instructions(listing: str) -> Iterator[Instruction]:
    """Yield the accesses of a listing."""
    text, links = link_sass(listing)
    for line, place in zip(text.split("\n"), links.lines, strict=True):
        if (match := _ACCESS.match(line)) is None:
            continue
        opcode, suffixes = match.groups()
        matrices = re.search(r"\.M?T?88\.(\d)|\.M?T?88\b", suffixes)
        sizes = [int(bits) // 8 for bits in re.findall(r"\.[USB]?(8|16|64|128)\b", suffixes)]
        frame = None
        if place >= 0:
            file, number = links.stacks[place][0]
            frame = (links.files[file], number)
        count = int(matrices[1] or 1) if matrices else 0
        yield Instruction(opcode, max(sizes, default=4), count, frame)


def launch_all(device: str) -> None:
    for launch in LAUNCHES.values():
        launch(device)
    if device == "cuda":
        torch.cuda.synchronize()


def measure(folder: Path, device: str) -> None:
    """Record all launches, and count what the GPU does in them."""
    with tempfile.TemporaryDirectory() as made:
        with kvtrace.capture(made):
            launch_all(device)
        with tarfile.open(folder / "trace.tar", "w") as archive:
            archive.add(made, "trace")
    if device == "cpu":
        return
    for metrics in (NAMES, FALLBACK):
        said = profile(folder / "ncu.csv", "--page", "raw", "--metrics", ",".join(metrics))
        if counters(folder / "ncu.csv"):
            break
        print("ncu counted nothing:", said[-2000:])
        listed = ncu("--query-metrics")
        print("metrics not listed:", *(m for m in metrics if m.removesuffix(".sum") not in listed))
    profile(folder / "source.csv", "--page", "source", "--section", "SourceCounters")


def ncu(*arguments: str) -> str:
    """Run ncu, print what it warns of, and return all that it says."""
    try:
        ran = subprocess.run(["ncu", *arguments], capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"ncu: {error}")
        return ""
    for line in f"{ran.stdout}\n{ran.stderr}".split("\n"):
        if line.startswith(("==ERROR==", "==WARNING==")):
            print(line)
    return ran.stdout + ran.stderr


def profile(path: Path, *options: str) -> str:
    """Launch all under ncu, which writes a CSV file; return what else it says."""
    kernels = "regex:^(through|viewed|copied|multiplied|copy|transpose|sums|product)$"
    program = (sys.executable, __file__, str(path.parent), "--launch")
    names = ("--kernel-name", kernels, "--log-file", str(path))
    return ncu("--clock-control", "none", "--csv", *names, *options, *program)


def counters(path: Path) -> list[Counters]:
    """Read counters by launch: in a row each or a row a counter, between whatever else is said."""
    if not path.exists():
        return []
    lines = path.read_text(errors="replace").split("\n")
    heads = [number for number, line in enumerate(lines) if line.startswith('"ID"')]
    of_launches: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(lines[heads[0] :] if heads else []):
        if not (row["ID"] or "").isdigit():  # units, warnings
            continue
        cells = row.items() if "Metric Name" not in row else [
            (row["Metric Name"], row["Metric Value"])
        ]  # fmt: skip
        for name, text in cells:
            number = (text or "").replace(",", "") if isinstance(text, str) else ""
            if name and re.fullmatch(r"\d+(\.\d+)?", number):
                of_launches.setdefault(row["ID"], {})[name] = float(number)
    return list(of_launches.values())


def compare(folder: Path) -> list[str]:
    """Print a row a launch, and return what differs."""
    with tempfile.TemporaryDirectory() as made:
        with tarfile.open(folder / "trace.tar") as archive:
            archive.extractall(made, filter="data")
        trace = open_trace(Path(made) / "trace")
        measured = counters(folder / "ncu.csv")
        rows = launched(trace)
        layouts = LineLayouts(trace, trace.runs)
        if measured and len(measured) != len(rows):
            return [f"ncu counted {len(measured)} launches of {len(rows)}"]
        print(f"{'launch':24}{'wavefronts: expected, counted':44}{'conflicts':44}vectors")
        differing = []
        for number, (name, row) in enumerate(zip(LAUNCHES, rows, strict=True)):
            texts = answers(trace, row, layouts, measured[number] if measured else {})
            print(f"{name:24}{texts[0]:44}{texts[1]:44}{texts[2]}", flush=True)
            if name not in KNOWN:
                differing += [f"{name}: {text}" for text in texts if "DIFFERS" in text]
    return differing


def launched(trace: Trace) -> list[dict[str, Any]]:
    """Return the kernel's row of each launch, in their order."""
    kernels = {row["kernel_id"]: row for row in plain_rows(trace.table("kernels"))}
    calls = {row["call_id"]: row["kernel_id"] for row in plain_rows(trace.table("calls"))}
    launches = sorted(plain_rows(trace.table("launches")), key=lambda row: row["seq"])
    return [kernels[calls[row["call_id"]]] for row in launches]


def answers(
    trace: Trace, kernel: Mapping[str, Any], layouts: LineLayouts, measured: Counters
) -> tuple[str, str, str]:
    """Return what is said of a launch's wavefronts, conflicts and vectors."""
    cubin = next(stage["artifact"] for stage in kernel["stages"] if stage["stage"] == "cubin")
    tool = disassembler()
    listing = disassembled(tool, trace.artifact(cubin) or b"") if tool else None
    accesses = [*instructions(listing or "")]
    variant = {"run": kernel["run"], "kernel_id": kernel["kernel_id"]}
    lines = {
        access.frame: layouts.at(access.frame, [variant])
        for access in accesses
        if access.frame is not None
    }
    waves, conflicts = [], []
    for op in ("ld", "st"):
        shared = [of for of in accesses if of.is_shared and of.opcode.lower().startswith(op)]
        figures = [lines[access.frame].values if access.frame else {} for access in shared]
        ways = [values.get("bank_ways") for values in figures]
        are_counted = None not in ways
        best = sum(access.best for access in shared) * WARPS
        total = sum(of.best * (way or 0) for of, way in zip(shared, ways, strict=True)) * WARPS
        waves.append(beside(op, total if are_counted else None, WAVEFRONTS, measured))
        conflicts.append(beside(op, total - best if are_counted else None, CONFLICTS, measured))
    return "  ".join(waves), "  ".join(conflicts), vectors(accesses, lines, measured)


def beside(op: str, expected: float | None, names: tuple[str, ...], measured: Counters) -> str:
    """Return an expected figure beside what was counted."""
    counted = [measured[name.format(op)] for name in names if name.format(op) in measured]
    text = f"{op} {'not counted' if expected is None else f'{expected:.0f}'}"
    if not counted:
        return text
    differs = " DIFFERS" if expected is not None and expected not in counted else ""
    return f"{text} {'/'.join(f'{count:.0f}' for count in counted)}{differs}"


def vectors(
    accesses: list[Instruction], lines: Mapping[Any, LineLayout], measured: Counters
) -> str:
    """Return the widths of each line by kvtrace and by SASS, and the bytes that were counted."""
    texts = []
    for frame, line in lines.items():
        widths = [of.size for of in accesses if of.frame == frame and not of.is_shared]
        if widths:
            width = line.values.get("vector_bytes")
            texts.append(f"{width}={min(widths)}" if width == min(widths)
                         else f"{width} DIFFERS {min(widths)}")  # fmt: skip
    for op, opcode in (("ld", "LDG"), ("st", "STG")):
        expected = sum(of.size for of in accesses if of.opcode == opcode) * WARPS * 32
        if BYTES[0].format(op) in measured:
            texts.append(beside(op, expected, BYTES, measured))
    return "  ".join(texts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--read", action="store_true", help="compare what was measured")
    parser.add_argument("--launch", action="store_true", help="launch alone, as ncu is asked to")
    options = parser.parse_args()
    if options.launch:
        launch_all(options.device)
        return 0
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.read:
        measure(options.folder, options.device)
    differing = compare(options.folder)
    print(f"Triton {triton.__version__}: {len(differing)} of {len(LAUNCHES)} launches differ")
    print(*differing, sep="\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
