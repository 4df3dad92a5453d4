"""Traces that nobody wrote, through every command of the command line.

    python -m tests.cli.fuzz SEED CASES [--first N] [--only COMMAND] [--each COUNT]
        [--imports [--files FILE…]]

A case is a trace that trace_mutations.py has changed, or one imported from a file of another tool
that file_mutations.py has. Each command has to end in time with 0, 1 or 2, say what is wrong in a
sentence, take less than 1 GiB of memory, print nothing that a terminal obeys, write nothing outside
of what it was asked to write, and leave the trace alone unless it is one that writes to it. Cases
run one after the other in a process with limits; one that ends it, or hangs in it, is counted, and
the next process goes on behind it. Ends with 1 if there was a fault.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import random
import resource
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kvtrace.cli import main, own_commands
from kvtrace.registry import own_entries
from tests.cli.file_mutations import mutate_file
from tests.cli.fuzz_seeds import write_files, write_seeds
from tests.cli.trace_mutations import mutate

ROOT = Path(__file__).parents[2]
COMMANDS = own_commands()
#: Of processor time, and of waiting where the machine is busy.
SECONDS = 60
WAIT = 300
MEMORY = 1 << 30
#: Share of the cases that are imports of a mutated file.
IMPORTED = 0.2

#: How each command is called: TRACE is the trace, SOUND the same as it was before, TIMES one with a
#: device timeline, OUT a folder.
#: Of several forms a case takes one each.
CALLS: dict[str, tuple[tuple[str, ...], ...]] = {
    "run": (("run", "-o", "TRACE", "PROGRAM"),),
    "info": (
        ("info", "TRACE"), ("info", "TRACE", "--recompiles", "--all"),
        ("info", "TRACE", "--autotune"), ("info", "TRACE", "--json"),
    ),
    "top": (("top", "TRACE", "--once"),),
    "fault": (("fault", "TRACE"), ("fault", "TRACE", "--json"), ("fault", "PROGRAM")),
    "replay": (
        ("replay", "TRACE"),
        ("replay", "TRACE", "--client", "tracer", "--client", "profiler", "--client", "sanitizer"),
    ),
    "sanitize": (
        ("sanitize", "TRACE"), ("sanitize", "TRACE", "--all", "--json"),
        ("sanitize", "TRACE", "--sarif"),
        ("sanitize", "TRACE", "--rule", "all", "--strict", "--junit", "OUT/junit.xml"),
    ),
    "sizes": (("sizes", "TRACE"), ("sizes", "TRACE", "--json")),
    "doctor": (("doctor",), ("doctor", "--json"), ("doctor", "--settings", "--json")),
    "mcp": (("mcp", "--help"),),
    "check": (("check", "TRACE"), ("check", "TRACE", "--json"), ("check", "TRACE", "--sarif")),
    "invariance": (
        ("invariance", "TRACE"), ("invariance", "TRACE", "--json"),
        ("invariance", "TRACE", "--over", "n"),
    ),
    "profile": (
        ("profile", "TRACE"), ("profile", "TRACE", "--json"),
        ("profile", "TRACE", "--calls", "--lines", "--full", "--device", "H100"),
        ("profile", "TRACE", "--by", "stack"), ("profile", "TRACE", "--by", "op", "--full"),
        ("profile", "TRACE", "--by", "module", "--json"), ("profile", "TRACE", "--by", "source"),
    ),
    "convert": (
        ("convert", "perfetto", "TRACE", "-o", "OUT/p"),
        ("convert", "chrome", "TRACE", "-o", "OUT/c"),
        ("convert", "csv", "TRACE", "-o", "OUT/csv"),
        ("convert", "csv", "TRACE", "--set", "table=calls", "-o", "OUT/calls.csv"),
        *(
            ("convert", entry.name, "TRACE", "-o", f"OUT/{entry.name}", *more)
            for entry in own_entries("converters")
            if entry.place.startswith("kvtrace.addons.")
            for more in ((), ("--set", "check=1"))
        ),
    ),
    "import": (
        ("import", "PROGRAM", "-o", "OUT/i"), ("import", "kineto", "PROGRAM", "-o", "OUT/i"),
        ("import", "TIMES", "--into", "TRACE"),
        ("import", "TIMES", "--into", "TRACE", "--by-order"),
        ("import", "TRACE", "--into", "SOUND", "--dry-run", "--json"),
    ),
    "report": (
        ("report", "TRACE", "-o", "OUT/r.html"), ("report", "TRACE", "-o", "OUT/r", "--no-replay"),
        ("report", "TRACE", "-o", "OUT/r", "--no-replay", "--no-source", "--max-mb", "1"),
    ),
    "diff": (
        ("diff", "TRACE", "SOUND"), ("diff", "SOUND", "TRACE", "--full"),
        ("diff", "SOUND", "TRACE", "--json"), ("diff", "TRACE", "SOUND", "--markdown", "-"),
        ("diff", "TRACE", "SOUND", "--html", "OUT/d.html", "--time-threshold", "5%"),
        ("diff", "TRACE", "SOUND", "--junit", "-", "--generic", "--markdown", "OUT/d.md"),
        ("diff", "TRACE", "SOUND", "--no-replay", "--meaning", "1"),
    ),
    "fleet": (("fleet", "TRACE", "-o", "OUT/f.html", "--full"), ("fleet", "TRACE", "--json")),
    "gate save": (
        ("gate", "save", "main", "TRACE"),
        ("gate", "save", "main", "TRACE", "--no-replay", "--json"),
    ),
    "gate list": (("gate", "list"), ("gate", "list", "--json")),
    "gate rm": (("gate", "rm", "main"),),
    "gate": (("gate", "-o", "TRACE", "--", "true"), ("gate", "-o", "OUT/t", "--", "false")),
    "confirm": (
        ("confirm", "--", "true"), ("confirm", "--json", "--at", "a.py:1", "--", "false"),
        ("confirm", "--trace", "TRACE", "--most", "1", "--", "true"),
    ),
    "view": (
        ("view", "TRACE", "--no-browser", "-o", "OUT/v.html"),
        ("view", "TRACE", "--no-browser", "--perfetto", "-o", "OUT/v", "--wait", "1"),
    ),
    "repro": (
        ("repro", "TRACE", "--call", "0", "-o", "OUT/r.py"),
        ("repro", "TRACE", "--launch", "0", "-o", "OUT/r.py"),
        ("repro", "TRACE", "--call", "1", "--source", "-o", "OUT/r.py"),
        ("repro", "TRACE", "--finding", "a", "-o", "OUT/r.py"),
        ("repro", "TRACE", "--top", "2", "--bench", "-o", "OUT/r"),
    ),
    "sql": (
        ("sql", "TRACE", "SELECT * FROM launched"),
        ("sql", "TRACE", "SELECT * FROM kernels", "--format", "json"),
        ("sql", "TRACE", "SELECT * FROM calls LIMIT 9"), ("sql", "TRACE", "SHOW TABLES", "--all"),
        ("sql", "TRACE", "SELECT * FROM runs"),
    ),
    "trace validate": (
        ("trace", "validate", "TRACE"), ("trace", "validate", "TRACE", "--json"),
        ("trace", "validate", "TRACE", "--profile", "core"),
    ),
    "trace redact": (
        ("trace", "redact", "TRACE", "-o", "OUT/copy", "--all"),
        ("trace", "redact", "TRACE", "-o", "OUT/copy", "--names", "--paths"),
    ),
    "trace recover": (("trace", "recover", "TRACE"), ("trace", "recover", "TRACE", "--force"),
                ("trace", "recover", "TRACE", "--force", "--json")),
    "trace compact": (("trace", "compact", "TRACE", "--dry-run"), ("trace", "compact", "TRACE")),
    "trace prune": (
        ("trace", "prune", "TRACE", "--keep-last", "1", "--dry-run"),
        ("trace", "prune", "TRACE", "--derived"),
        ("trace", "prune", "TRACE", "--keep-last", "1"),
        ("trace", "prune", "TRACE", "--max-bytes", "1kB", "--json"),
    ),
}  # fmt: skip
#: Commands that leave the trace as it is; profile evaluates what is missing.
READING = frozenset(
    ("info", "top", "convert", "view", "repro", "sql", "trace validate", "trace redact")
)


# -- one case ---------------------------------------------------------------------------------


class TooSlow(BaseException):
    """A command did not end in time."""


def _late(_signal: int, _frame: Any) -> None:
    raise TooSlow


def run_case(
    number: int, seed: int, seeds: Path, each: int, only: str | None, imports: bool,
) -> Iterator[str]:  # fmt: skip
    """Mutate a trace, or import a mutated file, and run commands on it; yield faults in words."""
    rng = random.Random(f"{seed}/{number}")
    name = rng.choice(sorted(path.name for path in seeds.iterdir()))
    folder = Path(tempfile.mkdtemp(prefix="kvtrace-fuzz-"))
    for part in ("out", "outside", "file"):
        (folder / part).mkdir()
    (folder / "outside" / "precious").write_text("mine")
    (folder / "program.py").write_text("import kvtrace\nkvtrace.mark('x')\n")
    places = {"TRACE": folder / "trace", "SOUND": seeds / name, "PROGRAM": folder / "program.py"}
    places["TIMES"] = ROOT / "tests" / "fixtures" / "h200" / "decoding"
    commands = [only] if only else list(COMMANDS)
    due = {commands[(number * each + turn) % len(commands)] for turn in range(each)}
    # Those that write come last, so that the others see what was mutated.
    order = sorted(due, key=lambda command: (command not in READING, rng.random()))
    chosen = [(command, rng.choice(CALLS[command])) for command in order]
    if imports or rng.random() < IMPORTED:
        source = rng.choice(sorted((seeds.parent / "files").glob("*/*")))
        places["FILE"], done = mutate_file(source, folder / "file", rng)
        chosen.insert(0, ("import", ("import", "FILE", "-o", "TRACE")))
    else:
        shutil.copytree(seeds / name, folder / "trace")
        done = mutate(folder / "trace", rng)
    _tell(case=number, trace=name, done=done)
    os.chdir(folder)
    for command, form in chosen:
        if "FILE" not in form and not places["TRACE"].exists():
            shutil.copytree(seeds / name, folder / "trace")
        words = [str(places.get(word, word)) for word in form]
        words = [word.replace("OUT/", f"{folder}/out/") for word in words]
        _tell(command=" ".join(form))
        for fault in _faults(command, words, folder):
            _tell(fault=fault)
            yield fault
        shutil.rmtree(folder / "out")
        (folder / "out").mkdir()
    os.chdir(ROOT)
    shutil.rmtree(folder)


def _command_of(words: str) -> str:
    first, second = f"{words} ".split(" ")[:2]
    return f"{first} {second}" if f"{first} {second}" in COMMANDS else first


def _faults(command: str, words: list[str], folder: Path) -> Iterator[str]:
    trace = _state(folder / "trace") if command in READING else {}
    beside = _state(folder, without=("trace", "out", ".kvtrace"))
    out, err = io.StringIO(), io.StringIO()
    began = time.monotonic()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted anew: proc(5)
    before = _memory("VmRSS")
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(WAIT)
    try:
        with (
            _limited_memory(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
        ):  # fmt: skip
            code: object = _run(words) if command == "run" else main(words)
    except TooSlow as late:
        yield f"takes more than {SECONDS} s: {_place(late)}"
        return
    except BaseException as error:  # each is what is looked for
        yield f"ends in {type(error).__name__}: {error} {_place(error)}"
        return
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
    peak = _memory("VmHWM") - before
    _tell(code=code, seconds=round(time.monotonic() - began, 2), peak=peak >> 20)
    stdout, stderr = out.getvalue(), err.getvalue()
    if code not in (0, 1, 2):
        yield f"exit code {code}"
    for text, kind in ((stdout, "output"), (stderr, "complaint")):
        raw = [character for character in text if _is_obeyed(character)]
        if raw:
            at = text.index(raw[0])
            yield f"{kind} with {raw[0]!r}: {text[max(0, at - 60) : at + 20]!r}"
    if "failed on" in stderr or "Traceback" in stderr:
        yield f"{stderr[-1500:]}"
    if "failed on" in stdout:
        yield f"says {stdout[stdout.index('failed on') - 200 :][:400]}"
    if "not enough memory" in stderr or peak > MEMORY:
        yield f"takes more memory than it may ({peak >> 20} MiB): {stderr[-500:]}"
    if code == 2 and not (stdout + stderr).strip():
        yield "says nothing"
    if command in READING and _state(folder / "trace") != trace:
        yield "the trace is changed"
    after = _state(folder, without=("trace", "out", ".kvtrace"))
    if after != beside:
        changed = {key for key in {*after, *beside} if after.get(key) != beside.get(key)}
        yield f"written outside: {sorted(changed)}"


def _run(words: list[str]) -> int:
    """Run `kvtrace run`, which makes its process the program's."""
    done = subprocess.run(
        [sys.executable, "-m", "kvtrace", *words], capture_output=True, text=True, check=False,
        timeout=WAIT, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    print(done.stdout)
    print(done.stderr, file=sys.stderr)
    return done.returncode


def _place(error: BaseException) -> str:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[:-9:-1])


def _is_obeyed(character: str) -> bool:
    """Return whether a terminal obeys a character: C0 and C1 but for the end of a line."""
    return character != "\n" and (ord(character) < 32 or 127 <= ord(character) < 160)


def _state(folder: Path, without: tuple[str, ...] = ()) -> dict[str, str]:
    """What is in a folder: each name, its kind, and a hash of what is in it."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.relative_to(folder).parts[0] in without:
            continue
        facts = path.lstat()
        text = f"{stat.S_IFMT(facts.st_mode)}"
        if stat.S_ISLNK(facts.st_mode):
            text = f"-> {path.readlink()}"
        elif stat.S_ISREG(facts.st_mode) and facts.st_size < 1 << 30:
            text = hashlib.sha256(path.read_bytes()).hexdigest()
        files[str(path.relative_to(folder))] = text
    return files


def _memory(name: str) -> int:
    """Bytes of memory of this process: VmRSS now, VmHWM at most."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    raise AssertionError(name)


def _tell(**facts: Any) -> None:
    os.write(_told, (json.dumps(facts) + "\n").encode())


# -- processes --------------------------------------------------------------------------------

_told = 1


def work(
    seed: int, first: int, last: int, seeds: Path, each: int, only: str | None, imports: bool,
) -> None:  # fmt: skip
    """Run cases one after the other, and tell of each on standard output."""
    global _told
    _told = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.environ |= {"KVTRACE_DEBUG": "1", "TMPDIR": str(seeds.parent / "tmp")}
    tempfile.tempdir = str(seeds.parent / "tmp")
    signal.signal(signal.SIGALRM, _late)
    signal.signal(signal.SIGPROF, _late)
    for number in range(first, last):
        for _ in run_case(number, seed, seeds, each, only, imports):
            pass
        _tell(ended=number)


@contextlib.contextmanager
def _limited_memory() -> Iterator[None]:
    """Let a command take so much more than there is, and what threads only reserve."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + 3 * MEMORY
    _, all_of_it = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, all_of_it))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (all_of_it, all_of_it))


def fuzz(
    seed: int, cases: int, *, first: int = 0, each: int = len(COMMANDS), only: str | None = None,
    imports: bool = False, files: Sequence[Path] = (), loud: bool = False,
) -> tuple[list[str], Counter[str]]:  # fmt: skip
    """Run cases in processes of their own.

    Returns the faults, each with the case it is of, and how often each command was called.
    """
    faults: list[str] = []
    called: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="kvtrace-fuzz-") as folder:
        seeds = Path(folder, "seeds")
        Path(folder, "tmp").mkdir()
        write_seeds(seeds)
        write_files(Path(folder, "files"), files)
        number = first
        while number < first + cases:
            number = _watched(
                seed, number, first + cases, seeds, each, only, imports, faults, called, loud
            )
    return faults, called


def _watched(
    seed: int, number: int, last: int, seeds: Path, each: int, only: str | None,
    imports: bool, faults: list[str], called: Counter[str], loud: bool,
) -> int:  # fmt: skip
    """Start a process for cases, and watch it to its end; return the next case that is due."""
    command = [sys.executable, "-m", "tests.cli.fuzz", str(seed), str(last - number), "--worker",
               str(seeds), "--first", str(number), "--each", str(each)]  # fmt: skip
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    command += [*(() if only is None else ("--only", only)), *(("--imports",) if imports else ())]
    with Path(os.devnull).open("wb") as nothing, subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=None if loud else nothing,
        env=environment, bufsize=0,  # what waits must be seen by select
    ) as process:  # fmt: skip
        assert process.stdout is not None
        facts: dict[str, Any] = {"case": number}
        while True:
            ready, _, _ = select.select([process.stdout], [], [], 2 * WAIT)
            line = process.stdout.readline() if ready else b""
            if not line:
                process.kill()
                break
            facts |= (told := json.loads(line))
            if "command" in told:
                called[_command_of(told["command"])] += 1
            if "ended" in told:
                number = told["ended"] + 1
            if "fault" in told:
                faults.append(_described(facts, told["fault"]))
                print(faults[-1], flush=True)
            elif loud:
                print(told, flush=True)
        process.wait()
        if number < last:
            how = "hangs" if not ready else f"ends its process with {process.returncode}"
            faults.append(_described(facts, how))
            print(faults[-1], flush=True)
            number = facts["case"] + 1
    return number


def _described(facts: dict[str, Any], fault: str) -> str:
    return (
        f"case {facts['case']} ({facts.get('trace')}; {facts.get('done')}): "
        f"kvtrace {facts.get('command')}: {fault}"
    )


def run() -> int:
    """Run as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("cases", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument(
        "--each", type=int, default=len(COMMANDS), help="commands that a case is run through"
    )
    parser.add_argument("--only", help="one command only")
    parser.add_argument("--imports", action="store_true", help="files of other tools only")
    parser.add_argument("--files", type=Path, nargs="*", default=[], help="more files to import")
    parser.add_argument("--loud", action="store_true")
    parser.add_argument("--worker", type=Path)
    options = parser.parse_args()
    if options.worker is not None:
        last = options.first + options.cases
        work(
            options.seed, options.first, last, options.worker, options.each, options.only,
            options.imports,
        )  # fmt: skip
        return 0
    faults, called = fuzz(
        options.seed, options.cases, first=options.first, each=options.each, only=options.only,
        imports=options.imports, files=options.files, loud=options.loud,
    )  # fmt: skip
    print(f"{options.cases} cases, {called.total()} calls of commands, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(run())
