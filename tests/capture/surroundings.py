"""Run a program in some hundred surroundings, with and without recording, and compare.

    python -m tests.capture.surroundings [--only WORD]

The program launches through a small library that the package of docs/contributing/package.md
records, so that any Python with pyarrow will do. Its exit status, standard output and standard
error have to be the same, and each launch is in the trace. It ends with 1 if they are not.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from kvtrace.capture.hot_choice import compiled_part
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate

ROOT = Path(__file__).parents[2]
LIBRARY = """
class Array:
    def __init__(self, *shape):
        self.shape = shape

def run(kernel, grid, array):
    return kernel(grid, array)
"""
PROGRAM = """
def blur(grid, array):
    return grid

def launch(count=20):
    for number in range(count):
        if stencils.run(blur, (2, 2), stencils.Array(number % 4 + 1, 4)) != (2, 2):
            raise SystemExit("wrong")

import sys, threading, time
import stencils
"""
#: What the program does before its launches: name, code.
BEFORE = {
    "plain": "",
    "error-warnings": "import warnings; warnings.simplefilter('error')",
    "no-stderr": "sys.stderr = None",
    "no-stdout": "sys.stdout = None",
    "stderr-is-stdout": "sys.stderr = sys.stdout",
    "recursion-limit": "sys.setrecursionlimit(120)",
    "switch-interval": "sys.setswitchinterval(1e-5)",
    "no-collector": "import gc; gc.disable()",
    "collector-always": "import gc; gc.set_threshold(1, 1, 1)",
    "deleted-folder": "import os, tempfile; d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)",
    "umask": "import os; os.umask(0o777 - 0o700)",
    "threads-replaced": "import _thread; _thread.start_new_thread = None",
    "events-replaced": "import threading; threading.Event = threading.Thread = None",
    "subprocess-replaced": "import subprocess; subprocess.Popen = subprocess.run = None",
    "imports-refused": "sys.meta_path.insert(0, type('R', (), {'find_spec': staticmethod("
    "lambda n, *a: (_ for _ in ()).throw(ImportError(n)))})())",
    "few-files": "launch(3)\nimport resource as r; r.setrlimit(r.RLIMIT_NOFILE, (64, 64))\n"
    "files = []\ntry:\n    while True: files.append(open('/dev/null'))\nexcept OSError: pass",
    "no-environment": "import os; os.environ.clear()",
    "path-cleared": "sys.path.clear()",
    "argv-none": "sys.argv = None",
    "logging": "import logging; logging.basicConfig(level=0); logging.info('said')",
    "alarm": "import signal; signal.signal(signal.SIGALRM, lambda *a: print('alarm'));"
    " signal.setitimer(signal.ITIMER_REAL, .01); time.sleep(.1)",
    "excepthook": "sys.excepthook = lambda *a: print('hooked', a[0].__name__)",
    "profile": "sys.setprofile(lambda *a: None)",
    "trace": "sys.settrace(lambda *a: None)",
    "tracemalloc": "import tracemalloc; tracemalloc.start()",
    "faulthandler": "import faulthandler; faulthandler.enable()",
    "dont-write-bytecode": "sys.dont_write_bytecode = True",
    "stack-size": "import threading; threading.stack_size(1 << 20)",
    "encoding": "sys.stdout.reconfigure(encoding='ascii', errors='replace')",
    "audit": "sys.addaudithook(lambda event, args: None)",
}
#: What it does with its launches.
WITH = {
    "exit": "launch(); print('right')",
    "thread": "import threading; t = threading.Thread(target=launch); t.start(); t.join();"
    " print(threading.active_count())",
    "fork": "import os\nlaunch(10)\np = os.fork()\nif not p: launch(10); os._exit(3)\n"
    "print(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))",
    "exception": "launch(); raise ValueError('the program')",
    "status": "launch(); sys.exit(7)",
    "exit-now": "import os; launch(); os._exit(5)",
    "sigterm": "import os, signal; launch(); sys.stdout and sys.stdout.flush();"
    " os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)",
    "interrupt": "launch(); raise KeyboardInterrupt",
}
#: Shell redirections and the options of Python, each with the plain program.
SHELL = ("2>&-", ">&-", "<&-", ">/dev/full", "2>/dev/full", ">&- 2>&- <&-")
OPTIONS = ("-I", "-O", "-OO", "-u", "-Werror", "-Xdev", "-B", "-Xutf8=0", "-q", "-s", "-bb")
#: What only C keeps: launches before a SIGTERM, and descriptors below a lowered limit.
WITH_C = ("sigterm", "few-files")


def cases():
    """Yield (name, options, code, redirection): preludes by turns with all endings, then others."""
    names = [*WITH]
    for index, (before, code) in enumerate(BEFORE.items()):
        for ending in (
            names
            if before == "plain"
            else {names[0], names[1 + index % 7], names[1 + index * 3 % 7]}
        ):
            if not (ending == "fork" and before == "trace"):
                yield f"{before}+{ending}", (), f"{PROGRAM}{code}\n{WITH[ending]}\n", ""
    for shell in SHELL:
        yield f"shell {shell}", (), f"{PROGRAM}{WITH['exit']}\n", shell
    for option in OPTIONS:
        yield f"python {option}", (option,), f"{PROGRAM}{WITH['exit']}\n", ""


def plain(text: str) -> str:
    """Return an output without what differs between two processes: addresses, process ids."""
    text = re.sub(r"pid=\d+|0x[0-9a-f]+|\d+(?=\.\d+ s)", "N", text)
    return re.sub(r'File ".*?"', "File", text)


def run(folder: Path, site: Path, options, code: str, shell: str, out: Path | None):
    """Run code; with `out` recorded. Return exit code, output and errors."""
    path = f"import sys; sys.path[:0] = [{str(site)!r}, {str(ROOT)!r}]\n"
    start = "import kvtrace._boot\n" if out else "\n"  # tracebacks have the same lines
    (folder / "program.py").write_text(path + start + code)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("KVTRACE")}
    environment |= {"KVTRACE": str(out)} if out else {}
    done = subprocess.run(
        ["sh", "-c", f'"$0" "$@" {shell}', sys.executable, *options, "program.py"],
        cwd=folder, env=environment, capture_output=True, timeout=120,
    )  # fmt: skip
    return done.returncode, *(plain(text.decode()) for text in (done.stdout, done.stderr))


def main() -> int:
    """Run all, print what differs, and return 1 if something does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    text = (ROOT / "docs/contributing/package.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"```python\n# (\w+)\.py: .*?\n(.*?)```", text, re.DOTALL))
    toml = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert toml is not None
    entries = toml[1].replace('project.entry-points."', "").replace('"', "")
    differing = lost = launches = count = 0
    has_c = compiled_part() is not None
    with tempfile.TemporaryDirectory() as top:
        site = Path(top) / "site"
        metadata = site / "kvtrace_stencils-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: stencils\nVersion: 1\n")
        (metadata / "entry_points.txt").write_text(entries)
        for name, module in {"stencils": LIBRARY, **blocks}.items():
            (site / f"{name}.py").write_text(module)
        for number, (name, options, code, shell) in enumerate(cases()):
            if only not in name or (not has_c and any(word in name for word in WITH_C)):
                continue
            count += 1
            folder = Path(top) / str(number)
            folder.mkdir()
            bare = run(folder, site, options, code, shell, None)
            recorded = run(folder, site, options, code, shell, folder / "out")
            if bare != recorded:
                differing += 1
                print(f"{name} differs\n  alone    {bare}\n  recorded {recorded}", flush=True)
            wanted = 23 if name.startswith("few-files") else 20
            try:
                kept = open_trace(folder / "out").table("launches").num_rows
                problems = [
                    p.text for p in validate(folder / "out") if "process is dead" not in p.text
                ]
            except Exception as error:
                kept, problems = 0, [f"{type(error).__name__}: {error}"]
            launches += wanted
            lost += wanted - kept
            if kept != wanted or problems:
                print(f"{name}: {kept} of {wanted} launches; {problems[:1]}", flush=True)
    version = ".".join(map(str, sys.version_info[:3]))
    print(
        f"Python {version}: {count - differing} of {count} surroundings identical, "
        f"{lost} of {launches} launches lost"
    )
    return int(bool(differing or lost))


if __name__ == "__main__":
    sys.exit(main())
