"""Analyses of HTA and TraceLens on files of torch.profiler, and on the same files given back.

    python benchmarks/round_trips.py FILE... --python /path/of/python
    python benchmarks/round_trips.py --times TRACE... --python /path/of/python

Each file is imported, and `kvtrace convert kineto` writes it again. The other Python, which has
HolisticTraceAnalysis and TraceLens, runs their analyses on the file that went in and on the one
that came out, and compares each table cell by cell, with no tolerance. An analysis that fails on
both files with the same error counts as neither; on one of them only, as different.

With --times, traces of any source are converted, and the sum of all kernels' times in the trace is
compared with the sums that both tools find, and the number of kernels.

The files of RESULTS.md are tests' data of github.com/facebookresearch/HolisticTraceAnalysis
(tests/data) and github.com/AMD-AGI/TraceLens (tests/traces).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def given_back(source: Path, folder: Path) -> Path:
    """Import a file, and return the file of the same format that the trace is converted to."""
    from kvtrace.addons.join.kineto import CONVERTER
    from kvtrace.converters.importers.importing import import_files
    from kvtrace.schema.trace import select_runs

    import_files([source], folder / "trace", "kineto")
    written = folder / "back.json"
    CONVERTER.convert(select_runs(folder / "trace"), written, {})
    return written


def differing_events(before: Path, after: Path) -> tuple[int, int]:
    """Return the number of events of a file, and how many have no equal in their place."""
    from kvtrace.converters.importers.importing import unpacked

    documents = []
    for path in (before, after):
        with unpacked(path) as file:
            documents.append(json.loads(file.read(), strict=False))
    events = [document.pop("traceEvents") for document in documents]
    differing = sum(one != two for one, two in zip(*events, strict=False))
    differing += abs(len(events[0]) - len(events[1])) + (documents[0] != documents[1])
    return len(events[0]), differing


def hta_tables(path: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield HTA's analyses of a file, by name."""
    from hta.trace_analysis import TraceAnalysis

    opened: list[Any] = []

    def opening() -> Any:
        opened.append(TraceAnalysis(trace_files={0: str(path)}))
        return opened[0].t.get_trace(0).drop(columns=["index_correlation"], errors="ignore")

    def of(name: str, **options: Any) -> Callable[[], Any]:
        return lambda: getattr(opened[0], name)(**options)

    shown = {"visualize": False}
    yield "open", opening
    yield "temporal breakdown", of("get_temporal_breakdown", **shown)
    yield "idle time", of("get_idle_time_breakdown", ranks=[0], **shown)
    yield "kernel breakdown", of("get_gpu_kernel_breakdown", **shown)
    yield "overlap", of("get_comm_comp_overlap", **shown)
    yield "queue length", of("get_queue_length_summary", ranks=[0])
    yield "memory bandwidth", of("get_memory_bw_summary", ranks=[0])
    yield "launches", of("get_cuda_kernel_launch_stats", ranks=[0], **shown)
    yield "annotations", of("get_gpu_user_annotation_breakdown", **shown)
    yield "steps", of("get_profiler_steps")


def tracelens_tables(path: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield TraceLens's analyses of a file, by name."""
    from TraceLens.Reporting.generate_perf_report_pytorch import generate_perf_report_pytorch

    def report() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            return generate_perf_report_pytorch(
                str(path), output_csvs_dir=folder, kernel_summary=True, short_kernel_study=True
            )

    yield "report", report


def compared(before: Path, after: Path) -> dict[str, str]:
    """Return for each analysis "equal", "differs", or the error that both files give."""
    results = {}
    for tool, analyses in (("HTA", hta_tables), ("TraceLens", tracelens_tables)):
        pairs = zip(analyses(before), analyses(after), strict=True)
        for (name, first), (_, second) in pairs:
            one, two = _result(first), _result(second)
            tables = one if isinstance(one, dict) else {name: one}
            for table in tables:
                other = two.get(table) if isinstance(two, dict) else two
                same = _equal(tables[table], other)
                failed = isinstance(tables[table], str)
                label = f"{tool} {table}"
                results[label] = ("failed" if failed else "equal") if same else "differs"
    return results


def _result(analysis: Callable[[], Any]) -> Any:
    try:
        return analysis()
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - any error of theirs is a result
        return f"{type(problem).__name__}: {str(problem)[:60]}"


def _equal(one: Any, two: Any) -> bool:
    """Return whether results are equal: tables cell by cell, sequences and mappings by entries."""
    if type(one) is not type(two):
        return False
    if hasattr(one, "equals"):
        # Cells may be lists or mappings, which `equals` does not compare.
        return bool(one.equals(two)) or one.to_csv() == two.to_csv()
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(_equal(one[key], two[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(_equal, one, two))
    return bool(one == two)


def times_of_trace(trace: Path, written: Path) -> tuple[int, float]:
    """Convert a trace, and return the number of its executions of kernels and their time in µs."""
    import numpy as np

    from kvtrace.addons.join.kineto import CONVERTER
    from kvtrace.figures.columns import integers
    from kvtrace.schema.trace import select_runs

    everything = select_runs(trace, every=True)
    tables = [(run, everything.trace.table("gpu_kernels", [run])) for run in everything.runs]
    run, rows = max(tables, key=lambda pair: pair[1].num_rows)
    CONVERTER.convert(select_runs(trace, run.run_id), written, {})
    rows = rows.filter(rows["kind"].is_null())
    return rows.num_rows, float(np.sum(integers(rows["end"]) - integers(rows["start"]))) / 1000


def times_of_tools(path: Path) -> dict[str, tuple[int, float]]:
    """Return the number of kernels and their time in µs that each tool finds in a file.

    `linked` are those that TraceLens puts below the call of the API that asked for them.
    """
    from hta.trace_analysis import TraceAnalysis
    from TraceLens import TreePerfAnalyzer

    trace = TraceAnalysis(trace_files={0: str(path)}).t
    events = trace.get_trace(0)
    category = trace.symbol_table.get_sym_id_map()["kernel"]
    durations = events[events["cat"] == category]["dur"]
    tree = TreePerfAnalyzer.from_file(str(path)).tree
    kernels = [event for event in tree.events if event.get("cat") == "kernel"]
    linked = [event["dur"] for event in kernels if event.get("parent") is not None]
    return {
        "HTA": (len(durations), float(durations.sum())),
        "TraceLens": (len(kernels), sum(event["dur"] for event in kernels)),
        "linked": (len(linked), sum(linked)),
    }


def _run(options: argparse.Namespace, mode: str, *files: Path) -> Any:
    """Return what this script prints as JSON in `mode` with the Python that has the tools."""
    command = [options.python or sys.executable, __file__, *map(str, files), mode]
    # HTA rounds times to µs if this is not set.
    environment = {**os.environ, "HTA_DISABLE_NS_ROUNDING": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if run.returncode:
        raise SystemExit(f"{mode} of {files[0]} failed: {run.stderr[-500:]}")
    return json.loads(run.stdout.splitlines()[-1])


def _round_trip(source: Path, options: argparse.Namespace) -> Counter[str]:
    """Print a line on a file of torch.profiler, and return the counts of results of analyses."""
    with tempfile.TemporaryDirectory() as name:
        begin = time.perf_counter()
        written = given_back(source, Path(name))
        seconds = time.perf_counter() - begin
        events, differing = differing_events(source, written)
        results = _run(options, "--compare", source, written)
    labels = {
        result: [label for label, each in results.items() if each == result]
        for result in ("equal", "differs", "failed")
    }
    print(
        f"{source.name}: {events:,} events, {differing} differ; {len(labels['equal'])} tables "
        f"equal, {len(labels['differs'])} differ {labels['differs'] or ''}, "
        f"{len(labels['failed'])} failed on both {labels['failed'] or ''} "
        f"({seconds:.1f} s there and back)",
        flush=True,
    )
    return Counter(results.values())


def _print_times(trace: Path, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as name:
        written = Path(name) / "converted.json"
        count, time_us = times_of_trace(trace, written)
        found = _run(options, "--tools", written)
    found = {"trace": (count, time_us), **found}
    cells = (f"{tool} {count:,} {time_us:,.3f} µs" for tool, (count, time_us) in found.items())
    print(f"{trace.name}: {'; '.join(cells)}", flush=True)


def main() -> None:
    """Compare all files, and print a line for each and the sums."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--python", help="interpreter that has HTA and TraceLens")
    parser.add_argument("--times", action="store_true", help="the files are traces: compare sums")
    parser.add_argument("--compare", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--tools", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compare:
        print("\n" + json.dumps(compared(*options.files)))
        return
    if options.tools:
        print("\n" + json.dumps(times_of_tools(options.files[0])))
        return
    if options.times:
        for trace in options.files:
            _print_times(trace, options)
        return
    sums: Counter[str] = Counter()
    for source in options.files:
        sums += _round_trip(source, options)
    print(dict(sums))


if __name__ == "__main__":
    main()
