"""The C of kvtrace under the compiler's checks: addresses, undefined behavior, threads, the text.

    python -m tests.native.sanitize [static] [threads] [address] [--work 10]

`static` is gcc's analyzer, with warnings as errors. The others build the extensions in a copy of
the checkout, `build/native/KIND`, and run there: `threads` the hot path with its spool
(`threads.py`), `address` the quick tests of what is in C, and `stress.py`. `--work` is how many
times as long these programs run: once at each push, ten times at night. What is found is printed,
and ends this with 1.

The sanitizers come with gcc. Python is not instrumented: a wrong access is seen where our code, or
a function of the C library that it calls, makes it.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.support.native_build import compiling
from tests.support.tree import ROOT

BUILD: Final = ROOT / "build" / "native"
#: Folders at the top of the repository that no test of these needs.
LEFT_OUT: Final = ("docs", "benchmarks", "findings", "news", "build")
KINDS: Final = ("static", "threads", "address")
QUICK: Final = "not (process or browser or sweep or costly or night)"
TESTS: Final = (
    "tests/capture/test_hot_*.py",
    "tests/capture/test_spool.py",
    "tests/capture/test_collector.py",
    "tests/capture/test_arguments*.py",
    "tests/backends/cupti/test_host_events*.py",
    "tests/backends/cupti/test_frames.py",
    "tests/addons/memory/recording/test_operator_rows.py",
    "tests/addons/memory/recording/test_layouts.py",
    "tests/addons/memory/recording/test_following.py",
)
#: These compile what they test, with allocations that fail: with the same sanitizers.
COMPILING: Final = (
    "tests/backends/cupti/test_host_events_failing_allocations.py",
    "tests/addons/memory/recording/test_operator_rows_failing_allocations.py",
)
#: Seconds that the programs run; of `threads` for each kind of memory.
STRESS_SECONDS: Final = 15
THREADS_SECONDS: Final = 4
SOURCES: Final = ("kvtrace/capture/_hot.c", "kvtrace/backends/cupti/_buffers.c",
                  "kvtrace/backends/cupti/_requests.c",
                  "kvtrace/addons/memory/recording/_operators.c")  # fmt: skip
ADDRESS: Final = "-fsanitize=address,undefined"
#: A compound literal leaves fields out that are zero then, as Python's own tables of slots do.
WARNINGS: Final = ("-Wall", "-Wextra", "-Wconversion", "-Wno-missing-field-initializers", "-Werror")


def copied(kind: str) -> Path:
    """Return a fresh copy of the checkout, with what is not committed, too."""
    folder = BUILD / kind
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True,
        capture_output=True, text=True,
    ).stdout.split("\0")  # fmt: skip
    for name in listed:
        source = ROOT / name
        if not name or name.partition("/")[0] in LEFT_OUT or not os.path.lexists(source):
            continue
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
    return folder


def built(kind: str, flags: str) -> Path:
    """Return a copy of the checkout whose extensions are built with these flags of the compiler."""
    folder = copied(kind)
    flagged = {"CFLAGS": f"{flags} -fno-omit-frame-pointer -g -O1", "LDFLAGS": flags}
    subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--force"],
        cwd=folder, env=os.environ | flagged, check=True,
    )  # fmt: skip
    assert len([*folder.glob("kvtrace/**/*.so")]) >= len(SOURCES), "an extension was not built"
    return folder


def library(name: str) -> str:
    """Return the path of a sanitizer's library, which has to be loaded before Python is."""
    command = ["gcc", f"-print-file-name=lib{name}.so"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def checked(folder: Path, libraries: Sequence[str], options: str, *arguments: str) -> list[str]:
    """Run Python with sanitizers in a folder; return what they and the program complained of."""
    log = folder / "sanitizer.log"
    told = {
        f"{name}_OPTIONS": f"{options}:log_path={log}:print_stacktrace=1"
        for name in ("ASAN", "UBSAN", "TSAN")
    }
    preloaded = {"LD_PRELOAD": ":".join(map(library, libraries)), "PYTHONMALLOC": "malloc"}
    environment = (
        os.environ
        | told
        | preloaded
        | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", "KVTRACE_SANITIZED": ADDRESS}
    )
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, check=False)
    complaints = [path.read_text(errors="replace") for path in folder.glob("sanitizer.log.*")]
    if done.returncode:
        complaints.append(f"{' '.join(arguments)} ended with {done.returncode}")
    return complaints


def address(work: int) -> list[str]:
    """Check addresses and undefined behavior."""
    folder = built("address", ADDRESS)
    options = "detect_leaks=0:allocator_may_return_null=1"
    sanitizers = ("asan", "ubsan")
    chosen = [str(path.relative_to(folder)) for each in TESTS for path in sorted(folder.glob(each))]
    pytest = ("-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "-m")
    complaints = checked(folder, sanitizers, options, *pytest, QUICK, *chosen)
    complaints += checked(folder, sanitizers, options, *pytest, "not night", *COMPILING)
    seconds = str(STRESS_SECONDS * work)
    return complaints + checked(folder, sanitizers, options, "-m", "tests.native.stress", seconds)


def threads(work: int) -> list[str]:
    """Check accesses of several threads."""
    folder = built("threads", "-fsanitize=thread")
    seconds = str(2 * THREADS_SECONDS * work)
    options = f"exitcode=0:suppressions={ROOT / 'tests/native/benign_races.txt'}"
    return checked(folder, ("tsan",), options, "-m", "tests.native.threads", seconds)


def static(_work: int) -> list[str]:
    """Read all paths through the code, without running it."""
    complaints = []
    for source in SOURCES:
        command = compiling(source, os.devnull, "-O1", "-fanalyzer", *WARNINGS)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode or done.stderr:
            complaints.append(done.stderr)
    return complaints


def main(arguments: Sequence[str]) -> int:
    """Run the chosen checks, or all; return 1 if one says something."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=" or ".join(KINDS))
    parser.add_argument("--work", type=int, default=1, help="how many times as long programs run")
    chosen = parser.parse_args(arguments)
    checks = {"static": static, "threads": threads, "address": address}
    failed = 0
    for kind in chosen.kinds or KINDS:
        complaints = checks[kind](chosen.work)
        print(f"{kind}: {'; '.join(complaints) or 'nothing found'}", flush=True)
        failed |= bool(complaints)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
