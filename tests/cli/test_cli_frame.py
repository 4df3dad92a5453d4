"""The frame of the command line: what it imports, how it ends, what it says of itself."""

import gc
import importlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextvars import Context
from pathlib import Path
from threading import Timer

import duckdb
import pytest

from kvtrace import __version__
from kvtrace.cli import main, own_commands
from kvtrace.cli.commands import EVERYDAY, GROUPS
from kvtrace.cli.own_process import BLAS_THREADS, as_own_process, expect_end
from kvtrace.schema.errors import BadSetting
from tests.support.tree import ROOT

RECORDED = ROOT / "tests" / "fixtures" / "h200" / "planted" / "good"

COMMANDS = own_commands()


def python(*arguments, **settings):
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        **settings,
    )


def headings(text):
    """Return the words of the commands that a help lists, by heading."""
    lists = re.findall(r"^(\S.*):\n((?:  .+\n)+)", text, re.MULTILINE)
    return {
        heading: re.findall(r"^  (\w+) {2}", rows, re.MULTILINE)
        for heading, rows in lists
        if heading != "Options"
    }


def test_help_lists_what_is_wanted_every_day_and_all_of_it_with_all(kvtrace):
    code, out, err = kvtrace("--help")
    everyday = headings(out)
    assert (code, err) == (0, "")
    assert tuple(everyday) == EVERYDAY
    words = [word for listed in everyday.values() for word in listed]
    assert {"run", "profile", "sanitize", "diff"} <= {*words}
    assert len(words) <= 14
    assert len(out.splitlines()) <= 42

    everything = kvtrace("--help", "--all")[1]
    listed = {word for words in headings(everything).values() for word in words}
    assert listed == {name.split()[0] for name, entry in COMMANDS.items() if entry.group}
    for name, entry in COMMANDS.items():
        assert not entry.group or (name.partition(" ")[2] or entry.help) in everything


def test_a_hidden_word_works_and_no_help_or_completion_has_it(kvtrace, sound_trace, monkeypatch):
    assert kvtrace("replay", sound_trace, "--help")[0] == 0
    assert "replay" not in kvtrace("--help", "--all")[1]
    monkeypatch.setenv("_KVTRACE_COMPLETE", "re")
    assert kvtrace()[1].split() == ["report", "repro"]


def test_an_old_word_does_what_replaces_it_and_names_it_on_one_line(kvtrace):
    code, out, err = kvtrace("env", "--json")
    assert (code, out) == kvtrace("doctor", "--settings", "--json")[:2]
    assert err == (
        "kvtrace: kvtrace env is now kvtrace doctor --settings; the old word will be removed in "
        "0.5.\n"
    )
    assert kvtrace("env", "-q")[2] == ""
    assert "env" not in COMMANDS
    assert "  env " not in kvtrace("--help", "--all")[1]


def test_commands_of_two_words_have_an_overview(kvtrace):
    code, out, _ = kvtrace("trace", "--help")
    assert (code, kvtrace("trace")) == (0, (2, out, ""))
    for name, entry in COMMANDS.items():
        first, _, part = name.partition(" ")
        assert first != "trace" or (f"  {part} " in out and entry.help in out)
    code, _, err = kvtrace("trace", "validat")
    assert (code, "did you mean 'validate'?" in err) == (2, True)


@pytest.mark.parametrize("words", ["profile", "gate", "gate save", "trace", "trace validate"])
def test_help_of_a_command_is_printed_as_by_its_option(kvtrace, words):
    shown = kvtrace(*words.split(), "--help")
    assert kvtrace("help", *words.split()) == shown
    assert shown[0] == 0
    assert f"kvtrace {words} " in shown[1]


def test_help_of_no_command_is_an_error_and_help_alone_is_the_overview(kvtrace):
    assert kvtrace("help", "profil") == kvtrace("profil", "--help")
    assert kvtrace("help", "profil")[0] == 2
    assert kvtrace("help") == kvtrace("--help")
    assert kvtrace("help", "--all") == kvtrace("--help", "--all")


def test_without_a_command_the_help_is_printed_and_the_exit_code_is_2(kvtrace):
    code, out, _ = kvtrace()
    assert code == 2
    assert out == kvtrace("--help")[1]


def test_option_version_prints_the_version(kvtrace):
    assert kvtrace("--version") == (0, f"kvtrace {__version__}\n", "")


def test_mistyped_command_is_reported_with_the_nearest_name(kvtrace):
    code, _, err = kvtrace("sanitizes")
    assert code == 2
    assert "did you mean 'sanitize'?" in err


@pytest.mark.process
def test_help_imports_nothing_heavy():
    program = (
        "import sys, kvtrace.cli; kvtrace.cli.main(['--help']); "
        "print([m for m in ('argparse', 'pyarrow', 'numpy', 'duckdb', 'z3', 'torch') "
        "if m in sys.modules], file=sys.stderr)"
    )
    assert python("-c", program).stderr.strip() == "[]"


@pytest.mark.process
def test_commands_leave_pandas_to_those_who_ask_for_it(sound_trace):
    pytest.importorskip("pandas")
    program = (
        "import sys, pyarrow, kvtrace.cli; "
        "codes = [kvtrace.cli.main(words.split('|')) for words in sys.argv[1:]]; "
        "print(codes, 'pandas' in sys.modules, file=sys.stderr); "
        "print(list(pyarrow.table({'a': [7]}).to_pandas()['a']), file=sys.stderr)"
    )
    done = python("-c", program, f"info|{sound_trace}", f"diff|{sound_trace}|{sound_trace}")
    assert done.stderr.splitlines()[-2:] == ["[0, 0] False", "[7]"]


@pytest.mark.process
@pytest.mark.costly("starts a Python for each command, whose modules are counted")
@pytest.mark.parametrize(
    ("words", "most"),
    [
        (("info", "TRACE"), 116),
        (("profile", "TRACE", "--no-replay"), 138),
        (("trace", "validate", "TRACE"), 61),
        (("import", "kineto", "FILE", "-o", "OUT"), 80),
    ],
)
def test_a_command_loads_no_more_modules_than_before(words, most, sound_trace, tmp_path):
    """A tenth of a second for each hundred: raise a number only for what the command needs."""
    file = tmp_path / "a.pt.trace.json"
    event = '{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1}'
    file.write_text(f'{{"deviceProperties": [], "traceEvents": [{event}]}}')
    paths = {"TRACE": str(sound_trace), "FILE": str(file), "OUT": str(tmp_path / "out")}
    program = (
        "import sys, kvtrace.cli; code = kvtrace.cli.main(sys.argv[1:]); "
        "loaded = {name: name.partition('.')[0] for name in sys.modules}; "
        "print(code, *loaded.values(), file=sys.stderr)"
    )
    done = python("-c", program, *(paths.get(word, word) for word in words))
    code, *packages = done.stderr.splitlines()[-1].split()
    assert code == "0"
    assert not {"pandas", "torch", "triton", "z3", "subprocess", "ml_dtypes"} & set(packages)
    assert packages.count("kvtrace") <= most


def test_each_command_that_reads_or_writes_a_trace_leaves_pandas():
    """By `select` or at once: pyarrow tries the import at its first array, in any of them."""
    modules = {command.module for commands in GROUPS.values() for command in commands.values()}
    without_arrays = {"", "kvtrace.cli.run", "kvtrace.cli.doctor"}
    leaving = re.compile(r"\b(select|leave_pandas)\(")
    assert [
        module
        for module in sorted(modules - without_arrays)
        if not leaving.search(
            Path(importlib.import_module(module).__file__).read_text(encoding="utf-8")
        )
    ] == []


def test_the_readme_names_every_command():
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    named = {name.split()[0] for name, entry in COMMANDS.items() if entry.group}
    assert [name for name in named if f"kvtrace {name}" not in readme] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_commands_help_has_an_example_and_fits_80_columns(kvtrace, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = kvtrace(*command.split(), "--help")
    assert code == 0, err
    assert "Example" in out
    assert f"kvtrace {command} " in out.partition("Example")[2]
    assert [line for line in out.splitlines() if len(line) > 80] == []
    assert "\x1b" not in out


@pytest.mark.process
@pytest.mark.parametrize("command", COMMANDS)
def test_a_commands_module_imports_nothing_heavy(command):
    program = (
        f"import sys, {COMMANDS[command].module}; "
        "print([m for m in ('pyarrow', 'numpy', 'duckdb', 'z3', 'jinja2', 'triton', 'torch') "
        "if m in sys.modules])"
    )
    assert python("-c", program).stdout.strip() == "[]"


def replaced_command(monkeypatch, behavior):
    """Make `kvtrace trace validate TRACE` do something else for a test."""
    module = importlib.import_module(COMMANDS["trace validate"].module)

    def command(trace: str) -> None:
        behavior(trace)

    monkeypatch.setattr(module, "command", command)


def raising(error):
    def behavior(trace):
        raise error

    return behavior


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (BadSetting("line one\nof a \x1b[31mhostile\x1b[0m name."),
         "line one of a \\x1b[31mhostile\\x1b[0m name."),
        (ZeroDivisionError("by\nnothing"),
         "unexpected error ZeroDivisionError: by (KVTRACE_DEBUG=1 shows the traceback)."),
    ],
)  # fmt: skip
def test_an_error_is_one_sentence(kvtrace, monkeypatch, error, sentence):
    replaced_command(monkeypatch, raising(error))
    assert kvtrace("trace", "validate", "x") == (2, "", f"kvtrace: {sentence}\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_query_that_a_signal_interrupts_is_no_error(kvtrace, monkeypatch, number):
    def behavior(_trace):
        Timer(0.1, os.kill, (os.getpid(), number)).start()
        duckdb.execute("SELECT sum(sqrt(range)) FROM range(1000000000)").fetchall()

    before = signal.signal(number, signal.default_int_handler)
    try:
        replaced_command(monkeypatch, behavior)
        assert kvtrace("trace", "validate", "x") == (128 + number, "", "")
    finally:
        signal.signal(number, before)


def test_traceback_is_printed_with_kvtrace_debug(kvtrace, monkeypatch):
    monkeypatch.setenv("KVTRACE_DEBUG", "1")
    replaced_command(monkeypatch, raising(ZeroDivisionError("by nothing")))
    code, _, err = kvtrace("trace", "validate", "x")
    assert code == 2
    assert "Traceback" in err
    assert "in behavior" in err


@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt(), 130), (KeyboardInterrupt(signal.SIGHUP), 129), (MemoryError(), 2)],
)
def test_exits_and_memory_errors_become_exit_codes(kvtrace, monkeypatch, error, code):
    replaced_command(monkeypatch, raising(error))
    code_returned, _, err = kvtrace("trace", "validate", "x")
    assert code_returned == code
    assert "Traceback" not in err


def test_the_result_of_a_command_is_the_exit_code(kvtrace, monkeypatch):
    module = importlib.import_module(COMMANDS["trace validate"].module)
    monkeypatch.setattr(module, "command", lambda: 1)
    assert kvtrace("trace", "validate")[0] == 1


@pytest.mark.process
def test_ctrl_c_ends_the_program_with_130():
    program = (
        "import sys, time, kvtrace.cli.info as info, kvtrace.cli\n"
        "def command(trace: str) -> None:\n"
        "    print('ready', flush=True)\n"
        "    while True:\n"
        "        time.sleep(0.1)  # a signal may come as a sleep begins, and acts after it\n"
        "info.command = command\n"
        "sys.exit(kvtrace.cli.main(['info', 'x']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in err


@pytest.mark.process
def test_closed_pipe_prints_no_error(sound_trace):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        done = subprocess.run(
            [sys.executable, "-m", "kvtrace", "info", str(sound_trace)],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
            cwd=ROOT,
        )
    assert done.stderr == ""
    assert done.returncode == 141


@pytest.mark.process
def test_output_works_on_a_terminal_with_ascii_only(sound_trace):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = python("-m", "kvtrace", "info", str(sound_trace), env=environment)
    assert done.returncode == 0
    assert "matmul_kernel" in done.stdout


@pytest.mark.process
def test_the_shell_can_complete_commands():
    environment = {
        **os.environ,
        "_KVTRACE_COMPLETE": "sa",
    }
    done = python("-m", "kvtrace", env=environment)
    assert done.stdout.split() == ["sanitize"]


def test_main_reads_sys_argv_by_default(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["kvtrace", "--version"])
    assert main() == 0
    assert __version__ in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_ended_removes_its_temporary_folders(tmp_path, number):
    def ended():
        with as_own_process(), tempfile.TemporaryDirectory(dir=tmp_path):
            # To this thread: another of this process would leave the handler to a later moment,
            # perhaps within a callback, which swallows what it raises.
            signal.raise_signal(number)

    before = signal.signal(number, signal.SIG_DFL)  # nohup ignores SIGHUP
    try:
        with pytest.raises(KeyboardInterrupt) as interrupt:
            ended()
        assert interrupt.value.args == (number,)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert not [*tmp_path.iterdir()]


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with as_own_process():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_no_collection_of_all_objects_before_the_process_ends():
    def threshold_after_command(*, ends):
        gc.set_threshold(900, 9, 9)
        if ends:
            expect_end()
        with as_own_process():
            assert gc.get_threshold() == (100_000, 50, 1_000)
        return gc.get_threshold()

    before = gc.get_threshold()
    try:
        assert Context().run(threshold_after_command, ends=True) == (100_000, 50, 1_000)
        assert Context().run(threshold_after_command, ends=False) == (900, 9, 9)
    finally:
        gc.set_threshold(*before)


@pytest.mark.process
def test_a_forked_process_is_ended_without_cleaning_up_for_the_command(tmp_path):
    with as_own_process(), tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        child = os.fork()
        if child == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
        assert Path(folder).is_dir()


PROGRAM = """
import atexit, sys
from kvtrace import cli
class Slow:
    def __del__(self):
        print("freed")
kept = Slow()
atexit.register(print, "at exit")
sys.argv[1:] = {words!r}
sys.exit(cli.main({argument}))
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "argument", "expected"),
    [
        (["info", "TRACE"], "", (0, "at exit")),
        (["info", "none"], "", (2, "at exit")),
        (["info", "TRACE"], "sys.argv[1:]", (0, "freed")),
    ],
)
def test_the_process_of_a_command_ends_without_freeing_objects(tmp_path, words, argument, expected):
    """A process that runs a command by `main` ends as any process of Python's."""
    (tmp_path / "program.py").write_text("")
    words = [str(RECORDED) if word == "TRACE" else word for word in words]
    (tmp_path / "caller.py").write_text(PROGRAM.format(words=words, argument=argument))

    done = subprocess.run(
        [sys.executable, "caller.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout.splitlines()[-1]) == expected


@pytest.mark.process
@pytest.mark.parametrize(("settings", "told"), [({}, "[1] None"), ({BLAS_THREADS: "2"}, "[2] 2")])
def test_a_command_starts_no_threads_for_products(tmp_path, settings, told):
    """The variable is for NumPy alone: a command may start programs of the user's."""
    (tmp_path / "caller.py").write_text(
        "import atexit, os, sys\nfrom kvtrace import cli\n@atexit.register\ndef tell():\n"
        "    from threadpoolctl import threadpool_info as libraries\n"
        "    print([x['num_threads'] for x in libraries() if x['user_api'] == 'blas'],"
        f" os.environ.get('{BLAS_THREADS}'))\nsys.exit(cli.main())\n"
    )
    environment = {**os.environ, **settings}
    done = python(tmp_path / "caller.py", "info", RECORDED, env=environment)
    assert done.stdout.splitlines()[-1] == told
