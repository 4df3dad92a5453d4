"""Run public packages' kernels without a GPU, and print what is proven of them.

    python -m tests.public [--package fla] [--case GLOB] [--tensors index] [--folder DIR]
    python -m tests.public --files TRITONBENCH/data/TritonBench_G_v1
    python -m tests.public --triton-tests TRITON/python/test/unit/language

--files runs each file of a folder as a program of its own, and compares nothing.
Nothing is fetched: a package is looked for among the installed ones, or where KVTRACE_PUBLIC_FLA,
KVTRACE_PUBLIC_VLLM or KVTRACE_PUBLIC_SGLANG name the folder that holds it. One that is not there is
said to be so, and left out.
"""

import argparse
import json
import os
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tests.public import runner, table
from tests.public.packages import PACKAGES, folder_of, version_of

KNOWN = Path(__file__).parent / "known_findings.toml"


def main() -> int:
    """Run what was asked for; 1 where a result is wrong or a violation was not looked at."""
    chosen = _options()
    folder = chosen.folder or Path(tempfile.mkdtemp(prefix="kvtrace-public-"))
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "results.jsonl"
    if chosen.again:
        results = [json.loads(line) for line in file.read_text().splitlines()]
    else:
        results = _run(chosen, folder, file)
    known = tomllib.loads(KNOWN.read_text())["finding"]
    _print(results, known)
    if chosen.triton_tests:
        from tests.public.triton_tests import run_tests

        print(run_tests(chosen.triton_tests, folder))
    print(f"\nresults: {file}")
    wrong = [result for result in results if result["status"] in ("wrong", "failed")]
    return 1 if wrong or any("NOT LOOKED AT" in line for line in _listed(results, known)) else 0


def _options() -> Any:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--package", action="append", choices=sorted(PACKAGES))
    options.add_argument("--case", action="append", metavar="GLOB", help="these cases only")
    options.add_argument(
        "--tensors", action="append", choices=("none", "index", "int", "all"),
        help="what contents are recorded; may be repeated; index, the default, where not said",
    )  # fmt: skip
    options.add_argument("--folder", type=Path, help="where traces and results are kept")
    options.add_argument("--limit", type=int, default=300, help="seconds a case may take")
    options.add_argument("--no-interpreter", action="store_true")
    options.add_argument("--again", action="store_true", help="print the results of --folder")
    options.add_argument("--files", type=Path, help="a folder of programs, in place of packages")
    options.add_argument("--triton-tests", type=Path, help="a folder or file of Triton's tests")
    return options.parse_args()


def _run(chosen: Any, folder: Path, file: Path) -> list[table.Result]:
    results = []
    with file.open("w") as kept:
        for result in _files(chosen, folder) if chosen.files else _packages(chosen, folder):
            kept.write(json.dumps(result) + "\n")
            kept.flush()
            results.append(result)
            print(_line(result), file=sys.stderr, flush=True)
    return results


def _files(chosen: Any, folder: Path) -> Iterator[table.Result]:
    globs = chosen.case or ["*"]
    files = [each for each in sorted(chosen.files.glob("*.py"))
             if any(fnmatchcase(each.stem, glob) for glob in globs)]  # fmt: skip
    for tensors in chosen.tensors or ["index"]:
        yield from runner.run_files(
            chosen.files.resolve().name, files, tensors, folder, limit=chosen.limit
        )


def _packages(chosen: Any, folder: Path) -> Iterator[table.Result]:
    for name in chosen.package or sorted(PACKAGES):
        place = folder_of(PACKAGES[name])
        if place is None:
            print(f"{name}: not there; install {PACKAGES[name].distribution} or set "
                  f"{PACKAGES[name].variable}")  # fmt: skip
            continue
        print(f"{name} {version_of(PACKAGES[name], place)}", flush=True)
        yield from runner.run(
            name, _cases(name, chosen.case), chosen.tensors or ["index"], folder,
            limit=chosen.limit, interpreter=not chosen.no_interpreter,
        )  # fmt: skip


def _cases(package: str, globs: list[str] | None) -> list[str]:
    """Names of the package's cases, which another process finds: they import torch."""
    import subprocess

    code = f"from tests.public.work import cases_of; print(*cases_of({package!r}))"
    environment = os.environ | {"PYTHONPATH": str(runner.ROOT)}
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=runner.ROOT, env=environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = told.stdout.split()
    return [name for name in names if not globs or any(fnmatchcase(name, g) for g in globs)]


def _line(result: table.Result) -> str:
    counts = result.get("verdicts", {})
    verdicts = " ".join(f"{counts[key]} {key}" for key in sorted(counts))
    seconds = f"{result.get('seconds', 0):.1f}+{result.get('judge_seconds', 0):.1f} s"
    return f"  {result['case']} [{result['tensors']}] {result['status']} {seconds}; {verdicts}; " \
           f"{result.get('detail', '')}"  # fmt: skip


def _print(results: list[table.Result], known: list[dict[str, str]]) -> None:
    sections: list[tuple[str, list[str]]] = [
        ("", table.summary(results)),
        ("Cases that are not right", table.problems(results)),
        ("Violations", _listed(results, known)),
    ]
    for tensors in sorted({result["tensors"] for result in results}):
        title = f"Unknown, tensors={tensors}"
        sections.append((title, table.unknowns(results, tensors)))
    for title, lines in sections:
        print(f"\n## {title}\n" if title else "")
        print("\n".join(lines) if lines else "none")


def _listed(results: list[table.Result], known: list[dict[str, str]]) -> list[str]:
    return table.violations(results, known)


if __name__ == "__main__":
    sys.exit(main())
