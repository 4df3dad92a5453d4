"""The table of waits: processor time and memory of what users wait for, beside other tools.

    python benchmarks/waits.py [ROW ...] [--before CHECKOUT] [--repeats 3] [--peers PYTHON]

A row's commands are processes of their own, imports and all, in turns with those of another
checkout that has a `.venv`, and with the peers. Each line has the processor seconds of all repeats,
with children, and the largest peak of memory; at the end all are printed as a table in Markdown, of
least seconds. Byte code is compiled before. What a command stores in a trace is removed before each
repeat, or kept from the run before ("again"). Read ratios, as other work on the machine changes
even processor time. Without rows, all:

ranks      first screens of programs/loss_ranks.py, recorded here: four ranks, 35 contents a rank
sizes      `report` and `sanitize` of programs/sizes.py: 5,000 calls of one kernel
llama      first screens of tests/fixtures/h200/llama, compiled by Inductor, with cubins of its PTX
small      `info` and `profile` of tests/fixtures/h200/planted/good, beside DuckDB by hand
perfetto   `convert perfetto` of a million launches and executions, beside `info`
import     65 MB to Kineto's schema, beside json.load, orjson, msgspec (events alone) and HTA
convert    `convert kineto` of 750,000 launches
evaluator  five fp32 kernels with op records, again and first in a process, beside torch with one
           thread and Triton's interpreter
record     a recorded launch: cold_launch.py

PYTHON is of an environment with PEERS; without it, they are left out.
"""

import argparse
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from evaluator import Worker, compile_cases, write_byte_code  # noqa: E402
from scale import DEVICE, HOST  # noqa: E402
from scale_trace import write_trace  # noqa: E402

PEERS: Final = ("orjson==3.13.0", "msgspec==0.22.0", "HolisticTraceAnalysis==0.5.0", "pandas<3")
#: Starts a program from a small process, whose memory counts as the program's before it begins.
_USED: Final = """
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(process, 0)
seconds = usage.ru_utime + usage.ru_stime
print(os.waitstatus_to_exitcode(status), seconds, usage.ru_maxrss / 1e3)
"""
_IMPORTERS: Final = {
    "json.load": "import json; json.load(open({file!r}, 'rb'))",
    "orjson": "import orjson; orjson.loads(open({file!r}, 'rb').read())",
    "msgspec": (
        "import msgspec\n"
        "class Event(msgspec.Struct):\n"
        "    ph: str = ''\n    name: str = ''\n    cat: str = ''\n    ts: float = 0\n"
        "    dur: float = 0\n    args: msgspec.Raw = msgspec.Raw()\n"
        "class Trace(msgspec.Struct):\n    traceEvents: list[Event]\n"
        "msgspec.json.Decoder(Trace).decode(open({file!r}, 'rb').read())"
    ),
    "HTA": (
        "from hta.trace_analysis import TraceAnalysis\n"
        "trace = TraceAnalysis(trace_files={{0: {file!r}}})\n"
        "trace.get_gpu_kernel_breakdown(visualize=False)"
    ),
}


#: What issue 109 asks for, by line.
_TARGETS: Final = {
    "report, ranks": "4 s",
    "report, ranks, again": "2 s",
    "report, llama": "3 s, 400 MB",
    "diff, llama": "3 s, 400 MB",
    "report, sizes": "12 s",
    "info": "0.45 s",
    "profile": "0.55 s",
    "convert perfetto": "300 MB",
    "import": "1.1 × json.load",
    "evaluator, vector add 1M fp32, first": "80 ms",
    "record without C": "4 µs",
}
#: Processor seconds of each repeat with peaks of memory in megabytes (0: not measured), by side.
Figures = dict[str, list[tuple[float, float]]]


def used(arguments: Iterable[str], done: tuple[int, ...] = (0,)) -> tuple[float, float]:
    """Return processor seconds and peak megabytes of a program that ends as expected."""
    program = list(arguments)
    started = [sys.executable, "-S", "-c", _USED, *program]
    answer = subprocess.run(started, capture_output=True, text=True, check=True).stdout
    code, seconds, megabytes = map(float, answer.split())
    if code not in done:
        raise SystemExit(f"{' '.join(program)} ended with {code:.0f}")
    return seconds, megabytes


@dataclass(frozen=True)
class Table:
    """Settings of all rows: a folder for files, checkouts by name, the peers' Python, repeats."""

    folder: Path
    checkouts: dict[str, Path]
    peers: str | None
    repeats: int
    lines: dict[str, Figures] = field(default_factory=dict)

    def python(self, side: str) -> str:
        """Return the path of a checkout's Python."""
        return str(self.checkouts[side] / ".venv/bin/python")

    def add(self, label: str, figures: Figures) -> None:
        """Keep a line of the table, and print each of its sides."""
        self.lines[label] = figures
        for side, measured in figures.items():
            seconds = ", ".join(_time(processor) for processor, _ in measured)
            memory = max(megabytes for _, megabytes in measured)
            print(f"{label:<22} {side:<11} {seconds:>24} {memory:6.0f} MB", flush=True)

    def commands(
        self,
        label: str,
        *arguments: str,
        traces: tuple[Path, ...] = (),
        again: bool = False,
        beside: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """Measure a command of each checkout and programs beside it in turns.

        The command finds a copy of each of `traces`.
        """
        first: Figures = {}
        second: Figures = {}
        for _ in range(self.repeats):
            for side in self.checkouts:
                for number, trace in enumerate(traces):
                    copy = self.folder / f"copy{number}"
                    shutil.rmtree(copy, ignore_errors=True)
                    shutil.copytree(trace, copy)
                # -P: else the kvtrace of the current folder would be measured for each checkout.
                program = (self.python(side), "-P", "-m", "kvtrace", *arguments)
                first.setdefault(side, []).append(used(program, (0, 1)))
                if again:
                    second.setdefault(side, []).append(used(program, (0, 1)))
            for name, peer in (beside or {}).items():
                first.setdefault(name, []).append(used(peer))
        self.add(label, first)
        if again:
            self.add(f"{label}, again", second)

    def markdown(self) -> str:
        """Return the table in Markdown: least seconds, largest peaks, and ratios to `now`."""
        columns = "| | before | now | ratio | beside it: now / it | target |"
        head = f"{columns}\n|---|---:|---:|---:|---|---|\n"
        return head + "\n".join(
            f"| {label} | {_cell(figures.get('before'))} | {_cell(figures['now'])} "
            f"| {_ratio(figures, 'before')} | {_beside(figures)} | {_TARGETS.get(label, '')} |"
            for label, figures in self.lines.items()
        )

    def first_screens(self, name: str, trace: Path) -> None:
        """Measure `sanitize`, `report` and `diff` of a trace, as the first command on it."""
        copies = [str(self.folder / f"copy{number}") for number in range(2)]
        self.commands(f"sanitize, {name}", "sanitize", copies[0], traces=(trace,))
        page = ("-o", str(self.folder / "page.html"))
        self.commands(f"report, {name}", "report", copies[0], *page, traces=(trace,), again=True)
        self.commands(f"diff, {name}", "diff", *copies, traces=(trace, trace), again=True)


def _time(seconds: float) -> str:
    if seconds < 1e-4:
        return f"{1e6 * seconds:.2f} µs"
    return f"{seconds:.2f} s" if seconds >= 0.25 else f"{1e3 * seconds:.2f} ms"


def _least(measured: list[tuple[float, float]]) -> float:
    return min(seconds for seconds, _ in measured)


def _cell(measured: list[tuple[float, float]] | None) -> str:
    if not measured:
        return ""
    megabytes = max(memory for _, memory in measured)
    return _time(_least(measured)) + (f"; {megabytes:,.0f} MB" if megabytes else "")


def _ratio(figures: Figures, side: str) -> str:
    """Return `now` over another side; "" if that was not measured."""
    return f"{_least(figures['now']) / _least(figures[side]):.3g}" if side in figures else ""


def _beside(figures: Figures) -> str:
    peers = (side for side in figures if side not in ("before", "now"))
    return ", ".join(f"{side} {_cell(figures[side])}: {_ratio(figures, side)}" for side in peers)


def ranks(table: Table) -> None:
    """Record four ranks without a GPU, and measure first screens of them."""
    launcher = ("-m", "torch.distributed.run", "--nproc-per-node", "4", "--standalone")
    trace = _recorded(table.folder / "ranks", "loss_ranks.py", *launcher)
    table.first_screens("ranks", trace)


def _recorded(trace: Path, program: str, *options: str) -> Path:
    """Record one of `programs/` without a GPU, with options of Python; return the trace."""
    settings = {"KVTRACE": str(trace), "KVTRACE_DEVICE": "cpu", "KVTRACE_TENSORS": "int"}
    subprocess.run(
        [sys.executable, *options, str(ROOT / "benchmarks/programs" / program)],
        env=os.environ | settings | {"KVTRACE_SANITIZE": "off", "OMP_NUM_THREADS": "1"},
        check=True,
    )
    return trace


def sizes(table: Table) -> None:
    """Record one kernel at 5,000 sizes, and measure `report` of all calls and `sanitize`."""
    trace, copy = _recorded(table.folder / "sizes", "sizes.py"), str(table.folder / "copy0")
    page = ("-o", str(table.folder / "page.html"), "--replay")
    table.commands("report, sizes", "report", copy, *page, traces=(trace,))
    table.commands("sanitize, sizes", "sanitize", copy, traces=(trace,))


def llama(table: Table) -> None:
    """Measure first screens of a compiled Llama."""
    trace = table.folder / "llama"
    shutil.copytree(ROOT / "tests/fixtures/h200/llama", trace)
    add_cubins(trace)
    table.first_screens("llama", trace)


def add_cubins(trace: Path) -> None:
    """Add the cubins of a trace's kernels, which fixtures leave out, assembled from their PTX.

    The other assembler of Triton is older than the PTX.
    """
    from triton.knobs import nvidia

    from kvtrace.schema.content import artifact_row
    from kvtrace.schema.trace import open_trace

    (kernel_file,) = trace.glob("kernels/*/*.parquet")
    (artifact_file,) = trace.glob("artifacts/*/*.parquet")
    kernels, artifacts = (pq.read_table(f, partitioning=None) for f in (kernel_file, artifact_file))
    recorded, rows = open_trace(trace), {}
    stages_of_kernels = kernels["stages"].to_pylist()
    ptx, cubin = trace.parent / "kernel.ptx", trace.parent / "kernel.cubin"
    for stages in stages_of_kernels:
        by_name = {stage["stage"]: stage for stage in stages}
        ptx.write_bytes(recorded.artifact(by_name["ptx"]["artifact"]) or b"")
        options = ("-lineinfo", "--gpu-name=sm_90a", str(ptx), "-o", str(cubin))
        subprocess.run([nvidia.ptxas_blackwell.path, *options], check=True)
        row = artifact_row("cubin", cubin.read_bytes())
        by_name["cubin"]["artifact"] = row["sha256"]
        rows[row["sha256"]] = row
    place = kernels.schema.get_field_index("stages")
    field = kernels.schema.field(place)
    filled = kernels.set_column(place, field, pa.array(stages_of_kernels, field.type))
    pq.write_table(filled, kernel_file)
    added = pa.Table.from_pylist(list(rows.values()), artifacts.schema)
    pq.write_table(pa.concat_tables([artifacts, added]), artifact_file)


def small(table: Table) -> None:
    """Measure small commands on a recording of one GPU."""
    trace = ROOT / "tests/fixtures/h200/planted/good"
    copy = str(table.folder / "copy0")
    by_hand = {
        f"DuckDB by hand, {label}": (
            sys.executable,
            "-c",
            f"import duckdb; duckdb.connect().execute({query.format(trace=copy)!r}).fetchall()",
        )
        for label, query in (("host", HOST), ("device", DEVICE))
    }
    table.commands("info", "info", copy, traces=(trace,), again=True, beside=by_hand)
    table.commands("profile", "profile", copy, traces=(trace,), again=True, beside=by_hand)


def drawn(table: Table) -> None:
    """Measure a recording's conversion to Perfetto's format."""
    trace, copy = table.folder / "million", str(table.folder / "copy0")
    write_trace(trace, 1_000_000, 1)
    output = ("-o", str(table.folder / "out.pftrace"))
    table.commands("convert perfetto", "convert", "perfetto", copy, *output, traces=(trace,))
    table.commands("info, million launches", "info", copy, traces=(trace,))


def imported(table: Table) -> None:
    """Measure the import of a file of torch.profiler, beside what other tools take to read it."""
    file = str(table.folder / "trace.json")
    importlib.import_module("import").write(Path(file), 65)
    pythons = {name: sys.executable if name == "json.load" else table.peers for name in _IMPORTERS}
    beside = {
        name: (python, "-c", _IMPORTERS[name].format(file=file))
        for name, python in pythons.items()
        if python is not None
    }
    arguments = ("import", file, "-o", str(table.folder / "copy0/in"))
    table.commands("import", *arguments, traces=(table.folder / "nothing",), beside=beside)


def converted(table: Table) -> None:
    """Measure a recording's conversion to Kineto's JSON."""
    trace = table.folder / "launches"
    write_trace(trace, 750_000, 1)
    output = str(table.folder / "out.json")
    table.commands("convert kineto", "convert", "kineto", str(trace), "-o", output)


def _worker(checkout: Path, python: Path, folder: Path, module: str) -> Worker:
    """Start a worker of a checkout's benchmarks."""
    paths = {"PYTHONPATH": f"{checkout / 'benchmarks'}{os.pathsep}{checkout}"}
    return Worker(python, module, str(folder), paths, folder / f"{module}.log")


def evaluated(table: Table) -> None:
    """Measure launches in the evaluator with op records, beside torch and the interpreter."""
    from evaluator_kernels import cases

    sides = {}
    for side, checkout in table.checkouts.items():
        folder = table.folder / f"evaluator {side}"
        folder.mkdir()
        worker = partial(_worker, checkout, Path(table.python(side)), folder)
        sides[side] = worker("evaluator_ours"), worker
        compile_cases(sides[side][0])
    variables = {"PYTHONPATH": str(ROOT / "benchmarks"), "TRITON_INTERPRET": "1"}
    log = table.folder / "interpreter.log"
    interpreter = Worker(Path(sys.executable), "evaluator_peers", "interpreter", variables, log)
    for case in (name for name in cases() if name.endswith("fp32")):
        again: Figures = {}
        first: Figures = {}
        for _ in range(table.repeats):
            for side, (ours, worker) in sides.items():
                cold = worker("evaluator_cold")
                answer = ours.ask(what="observed again", case=case, budget=0.5)
                again.setdefault(side, []).append((_processor(answer), 0))
                first.setdefault(side, []).append((_processor(cold.ask(case=case)), 0))
                cold.end()
            torch = sides["now"][0].ask(what="torch", case=case, budget=0.5)
            again.setdefault("torch", []).append((_processor(torch), 0))
        again["interpreter"] = [(_processor(interpreter.ask(case=case)), 0)]
        table.add(f"evaluator, {case}", again)
        table.add(f"evaluator, {case}, first", first)
    for ours in (interpreter, *(ours for ours, _ in sides.values())):
        ours.end()


def _processor(answer: dict[str, Any]) -> float:
    """Return the processor seconds of a worker's answer."""
    if "failed" in answer:
        raise SystemExit(answer["failed"])
    return float(answer["processor"])


def recorded(table: Table) -> None:
    """Measure what recording adds to a launch, by its median."""
    script = str(ROOT / "benchmarks/cold_launch.py")
    # The checkout's kvtrace is imported before the script adds its own checkout to the path.
    text = f"import kvtrace, runpy; runpy.run_path({script!r}, run_name='__main__')"
    options = ("--megabytes", "0", "--pages", "--launches", "20000")
    figures: Figures = {}
    for _ in range(table.repeats):
        for side in table.checkouts:
            done = subprocess.run(
                [table.python(side), "-P", "-c", text, *options],
                capture_output=True,
                text=True,
                check=True,
            )
            (added,) = re.findall(r"over \+(\d+) ns", done.stdout)
            figures.setdefault(side, []).append((int(added) / 1e9, 0))
    table.add("record", figures)


ROWS: Final[dict[str, Callable[[Table], None]]] = {
    "ranks": ranks,
    "sizes": sizes,
    "llama": llama,
    "small": small,
    "perfetto": drawn,
    "import": imported,
    "convert": converted,
    "evaluator": evaluated,
    "record": recorded,
}


def main() -> None:
    """Print the lines of each row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--before", type=Path, help="another checkout, with its .venv")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers", help=f"a Python with {', '.join(PEERS)}")
    options = parser.parse_args()
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f"no row {', '.join(sorted(unknown))}; rows are {', '.join(ROWS)}")
    checkouts = {"before": options.before.resolve()} if options.before else {}
    checkouts["now"] = ROOT
    write_byte_code(checkouts.values())
    print(f"load average {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        table = Table(Path(name), checkouts, options.peers, options.repeats)
        (table.folder / "nothing").mkdir()
        for row in options.rows or ROWS:
            ROWS[row](table)
        print(f"load average {os.getloadavg()[0]:.1f}\n\n{table.markdown()}")


if __name__ == "__main__":
    main()
