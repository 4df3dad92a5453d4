"""Analyses of HTA and TraceLens on files of torch.profiler, and on the same files given back.

    python benchmarks/round_trips.py FILE... --python /path/of/python

Each file is imported, and `kvtrace convert kineto` writes it again. The other Python, which has
HolisticTraceAnalysis and TraceLens, runs their analyses on the file that went in and on the one
that came out, and compares each table cell by cell, with no tolerance. An analysis that fails on
both files with the same error counts as neither; on one of them only, as different.

The files of RESULTS.md are tests' data of github.com/facebookresearch/HolisticTraceAnalysis
(tests/data) and github.com/AMD-AGI/TraceLens (tests/traces).
"""

import argparse
import json
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
    """Whether results are equal: tables cell by cell, sequences and mappings by entries."""
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


def main() -> None:
    """Compare all files, and print a line for each and the sums."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--python", help="interpreter that has HTA and TraceLens")
    parser.add_argument("--compare", action="store_true", help="compare two files with both tools")
    options = parser.parse_args()
    if options.compare:
        before, after = options.files
        print("\n" + json.dumps(compared(before, after)))
        return
    sums: Counter[str] = Counter()
    for source in options.files:
        with tempfile.TemporaryDirectory() as name:
            begin = time.perf_counter()
            written = given_back(source, Path(name))
            seconds = time.perf_counter() - begin
            events, differing = differing_events(source, written)
            command = [options.python or sys.executable, __file__, str(source), str(written)]
            run = subprocess.run([*command, "--compare"], capture_output=True, text=True)
        lines = run.stdout.splitlines()
        results = json.loads(lines[-1]) if run.returncode == 0 else {"run": run.stderr[-200:]}
        counts = Counter(results.values())
        sums += counts
        differ = [label for label, result in results.items() if result not in ("equal", "failed")]
        failed = [label for label, result in results.items() if result == "failed"]
        print(
            f"{source.name}: {events:,} events, {differing} differ; {counts['equal']} tables equal, "
            f"{len(differ)} differ {differ or ''}, {len(failed)} failed {failed or ''} "
            f"({seconds:.1f} s there and back)",
            flush=True,
        )
    print(dict(sums))


if __name__ == "__main__":
    main()
