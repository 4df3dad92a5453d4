"""Kernels of public libraries at several batch sizes: recorded without a GPU, and compared.

    python benchmarks/invariance_kernels.py record FOLDER [--case GLOB]
    python benchmarks/invariance_kernels.py truth FILE [--case GLOB]
    python benchmarks/invariance_kernels.py table FOLDER --truth FILE --write TABLE
    python benchmarks/invariance_kernels.py device FILE [--table TABLE] [--pairs 200] [--limit 480]

`record` writes a trace per case to FOLDER/LIBRARY.CASE: the same operation at each batch size of
the case, by the library's own wrapper. `truth` runs every case in kvtrace's evaluator and compares
the observed row bit for bit between the sizes; `table` judges the recorded traces and says whether
the verdicts agree with that; `device` compares the row on a GPU, at random pairs of batches.

Packages are imported as tests/public does: from where they are installed, or from the folders that
KVTRACE_PUBLIC_VLLM, KVTRACE_PUBLIC_SGLANG, KVTRACE_PUBLIC_FLA, KVTRACE_PUBLIC_TORCHAO and
KVTRACE_PUBLIC_BITSANDBYTES name. A case whose package is not there fails, and is reported.

The evaluator's own sums do not show invariance: np.sum, np.matmul and oneDNN choose their order by
shapes and strides, which change with the batch. So for `truth` every program runs alone,
sums are taken in a fixed tree (halves), and a product adds its terms in order of K, each
rounded to float32. The values then depend on what TTIR says and on nothing else: which products one
`tl.dot` adds, in which order the loop adds those, and which elements one `tl.sum` adds.
"""

import argparse
import json
import multiprocessing
import os
import platform
import shutil
import sys
import time
import traceback
from collections.abc import Callable
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import torch  # noqa: E402
import triton  # noqa: E402

from benchmarks.invariance.batch import CASES, Batch, Case, Results, Size  # noqa: E402
from benchmarks.invariance.device import on_device, summary  # noqa: E402
from benchmarks.invariance.packages import load_library  # noqa: E402
from benchmarks.invariance.table import agreement, judge_trace, table_lines  # noqa: E402

LIBRARIES = ("vllm", "vllm_sequences", "sglang", "fla", "liger", "others", "tutorials")
TARGET = "cuda:90"

Row = dict[str, Any]


def cases(globs: list[str] | None) -> dict[str, Case]:
    """Return the chosen cases by title; files of cases import no library."""
    for library in LIBRARIES:
        import_module(f"benchmarks.invariance.{library}")
    patterns = globs or ["*"]
    return {
        name: case for name, case in CASES.items() if any(fnmatchcase(name, g) for g in patterns)
    }


def on_cuda(one: Case, size: Size) -> Results:
    """Return a case's results at a size, run with "cuda" as the default device."""
    load_library(one.library)
    torch.set_default_device("cuda")
    try:
        results = one.run(Batch(one.title, *size))
        return {key: value.detach().cpu().clone() for key, value in results.items()}
    finally:
        torch.set_default_device(None)


def recorded(one: Case, folder: Path) -> Row:
    """Record a case at all its sizes into one trace; return a row about the recording."""
    import kvtrace

    shutil.rmtree(folder / one.title, ignore_errors=True)
    with kvtrace.capture(folder / one.title, target=TARGET, device="cpu"):
        for size in one.sizes:
            on_cuda(one, size)
    return {}


def truth(one: Case, folder: Path) -> Row:
    """Evaluate a case at all its sizes; return whether the observed row's bits differ."""
    import kvtrace

    launches = ordered_evaluation()
    by_size: list[Results] = []
    run_on_device: list[list[str]] = []
    with kvtrace.capture(folder / one.title, target=TARGET, device="cpu", compile="ttir"):
        for size in one.sizes:
            launches.clear()
            by_size.append(on_cuda(one, size))
            run_on_device.append(list(launches))
    return {
        "library": one.library, "kernel": one.name, "over": one.over, "sizes": one.sizes,
        "outputs": {key: bit_comparison([out[key] for out in by_size]) for key in by_size[0]},
        "launches": [" ".join(names) for names in run_on_device],
        "invariant": one.invariant, "why": one.why,
    }  # fmt: skip


def bit_comparison(values: list[torch.Tensor]) -> Row:
    """Return whether values have equal bits at every size, and else their largest distance."""
    reference = values[0]
    facts = {
        "elements": reference.numel(),
        "values": reference.unique().numel(),
        "finite": bool(reference.double().isfinite().all()),
    }
    same = [
        raw_bytes(reference) == raw_bytes(row) and reference.shape == row.shape for row in values
    ]
    if all(same):
        return {"same": True} | facts
    off = [
        float((reference.double() - row.double()).abs().max())
        for row in values
        if row.shape == reference.shape
    ]
    return {"same": False, "as_first": same, "largest_difference": max(off)} | facts


def raw_bytes(value: torch.Tensor) -> bytes:
    """Return a tensor's bytes."""
    return value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def ordered_evaluation() -> list[str]:
    """Evaluate launches in a fixed order from now on; return a list that receives their kernels."""
    import kvtrace.backends.triton.evaluating_launcher as launcher
    from kvtrace.addons.invariance.launches import evaluate_ordered

    launches: list[str] = []

    def alone(module: Any, arguments: Any, grid: Any, **named: Any) -> None:
        launches.append(f"{named.get('kernel')}{tuple(grid)}")
        evaluate_ordered(module, arguments, grid, **named)

    launcher.evaluate = alone
    return launches


def in_process(work: Callable[..., Row], *given: Any) -> Row:
    """Return the row that `work` returns in a forked process, or a row with its error."""
    ours, theirs = multiprocessing.Pipe(duplex=False)

    def job() -> None:
        torch.set_num_threads(1)
        try:
            theirs.send(work(*given))
        except Exception as error:  # noqa: BLE001 - a case that fails is a result
            frame = traceback.extract_tb(error.__traceback__)[-1]
            text = (str(error).strip().splitlines() or [""])[0][:300]
            theirs.send(
                {"failed": f"{type(error).__name__}: {text} ({frame.filename}:{frame.lineno})"}
            )
        theirs.close()

    process = multiprocessing.get_context("fork").Process(target=job)
    process.start()
    theirs.close()
    try:
        row: Row = ours.recv()
    except EOFError:
        row = {"failed": "the process ended"}
    process.join()
    return row


def write_table(folder: Path, truths: Path, out: Path, globs: list[str] | None) -> int:
    """Judge recorded cases and write the table; return 1 if a verdict is wrong, else 0."""
    truth = json.loads(truths.read_text())
    rows: dict[str, Row] = {}
    for name in sorted(path.name for path in folder.iterdir()):
        if globs is None or any(fnmatchcase(name, glob) for glob in globs):
            rows[name] = in_process(judge_trace, folder / name)
            out.write_text(json.dumps(rows, indent=1))
    print("\n".join(table_lines(rows, truth)))
    return int(any(agreement(row, truth.get(name)) == "WRONG" for name, row in rows.items()))


def run_on_device(
    out: Path, table: Path | None, chosen: dict[str, Case], options: argparse.Namespace
) -> int:
    """Run cases on the device; return 1 if one differs that the table has as proven, else 0."""
    verdicts = {} if table is None else json.loads(table.read_text())
    rows: dict[str, Row] = {}
    wrong = 0
    for name, row in on_device(chosen, on_cuda, options.pairs, options.limit, options.workers):
        row["verdict"] = verdicts.get(name, {}).get("verdict", "not judged")
        rows[name] = row
        out.write_text(json.dumps(rows, indent=1))
        outcome = row.get("failed") or (
            f"{row['equal']} of {row['pairs']} pairs equal, recorded sizes "
            f"{'equal' if row['sizes_equal'] else 'differ'}, "
            f"again {'equal' if row['again_equal'] else 'differs'} {row['first'] or ''}"
        )
        differs = "failed" not in row and (row["equal"] < row["pairs"] or not row["sizes_equal"])
        bad = differs and row["verdict"] == "proven"
        wrong += bad
        print(f"{name:46} {row['verdict']:9} {'WRONG ' if bad else ''}{outcome}", flush=True)
    print("\n".join(summary(rows)))
    return int(wrong > 0)


def main() -> int:
    """Run the command; return 1 if a case failed or contradicts the expected result, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("record", "truth", "table", "device"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--case", action="append", metavar="GLOB")
    parser.add_argument("--truth", type=Path, help="what `truth` wrote, for `table`")
    parser.add_argument("--table", type=Path, help="what `table` wrote, for `device`")
    parser.add_argument("--write", type=Path, help="where `table` writes")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--limit", type=float, default=480, help="seconds for all cases")
    parser.add_argument("--workers", type=int, default=8, help="processes that share the device")
    options = parser.parse_args()
    print(f"{platform.platform()}, torch {torch.__version__}, Triton {triton.__version__}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    if options.what == "table":
        return write_table(options.out, options.truth, options.write, options.case)
    rows: dict[str, Row] = {}
    if options.what != "record" and options.out.is_file():
        rows = json.loads(options.out.read_text())
    failed = 0
    os.environ.setdefault("TRITON_CACHE_DIR", str(options.out.absolute().parent / "triton-cache"))
    if options.what == "device":
        return run_on_device(options.out, options.table, cases(options.case), options)
    for name, case in cases(options.case).items():
        begin = time.perf_counter()
        if options.what == "record":
            row = in_process(recorded, case, options.out)
        else:
            row = in_process(truth, case, options.out.with_suffix(".traces"))
        rows[name] = row
        wrong = "failed" in row or any(
            output["same"] != case.invariant for output in row.get("outputs", {}).values()
        )
        failed += wrong
        outcome = row.get("failed") or ", ".join(
            f"{key} {'same' if output['same'] else 'differs'}"
            for key, output in row.get("outputs", {}).items()
        )
        print(
            f"{name:50} {time.perf_counter() - begin:6.1f} s {'WRONG ' if wrong else ''}{outcome}",
            flush=True,
        )
        if options.what != "record":
            options.out.write_text(json.dumps(rows, indent=1))
    print(f"{len(rows)} cases, {failed} failed or not as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
