"""A recorder has pyarrow and nothing else beside torch and Triton, and records the same."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.converters.info.info import read_overview
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from tests.capture.killed_program import RECORDED_PROGRAM
from tests.support.refused_packages import without
from tests.support.thorough import in_turn
from tests.support.tree import ROOT

pytestmark = pytest.mark.process

LAUNCHING = ROOT / "tests" / "support" / "small_program.py"
STEPS = 30
#: What differs between two recordings of one program, and what tells where it ran.
DIFFERENT = {
    "runs": {
        "run_id", "started", "ended", "pid", "group_id", "parent_run_id", "overhead",
        "self_overhead_ns", "versions",
    },
    "kernels": {
        "compile_begin", "compile_ns", "thread", "load_begin", "load_ns", "load_thread",
    },
    "launches": {"enter", "exit", "thread"},
    "marks": {"begin", "end", "thread"},
    "messages": {"time"},
}  # fmt: skip


def ran(*command, folder, environment, **settings):
    settings = {"TRITON_CACHE_DIR": str(folder / "triton"), **settings}
    done = subprocess.run(
        [sys.executable, *map(str, command)], env=environment | settings, cwd=folder,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def rows_of(trace, run, name):
    left_out = DIFFERENT.get(name, set()) | {"run"}
    rows = trace.table(name, [run])
    kept = [each for each in rows.column_names if each not in left_out]
    plain = plain_rows(rows.select(kept))
    for row in plain if name == "kernels" else ():
        row["stages"] = [(stage["stage"], stage["artifact"]) for stage in row["stages"]]
    return sorted(plain, key=lambda row: json.dumps(row, default=repr, sort_keys=True))


def launch_tables(run):
    return (run.kernels, run.calls, run.launches, run.phases, run.known_contents, run.marks)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same program, recorded with all packages and with pyarrow alone."""
    folder = tmp_path_factory.mktemp("both")
    settings = {"KVTRACE_TENSORS": "all"}
    with_all = without(folder / "with_all", ROOT, refused=())
    small = without(folder / "small", ROOT)
    for name, environment in (("all", with_all), ("alone", small)):
        done = ran(
            LAUNCHING, STEPS, folder=folder, environment=environment,
            KVTRACE=str(folder / name), TRITON_CACHE_DIR=str(folder / f"cache-{name}"), **settings,
        )  # fmt: skip
        assert "kvtrace" not in done.stderr
        loaded = done.stdout.split()[1:]
        assert "pyarrow.compute" not in loaded
        assert name == "all" or loaded == []
    return open_trace(folder / "all"), open_trace(folder / "alone")


def test_tables_recorded_with_pyarrow_alone_are_equal(both):
    assert validate(both[1].path) == []
    for run_of_all, run_alone in zip(both[0].runs, both[1].runs, strict=True):
        for name in set(TABLES) - {"host_events"}:  # what rounds of the recording took
            found, wanted = rows_of(both[1], run_alone, name), rows_of(both[0], run_of_all, name)
            assert found == wanted, name
    assert both[1].table("contents").num_rows > 10


def test_counts_of_info_are_equal_with_and_without_duckdb(both, tmp_path):
    of_all, alone = (read_overview(trace, trace.runs) for trace in both)
    assert [launch_tables(run) for run in of_all.runs] == [launch_tables(run) for run in alone.runs]
    assert sum(kernel.launches + kernel.tuning_launches for kernel in alone.kernels) == sum(
        run.launches for run in alone.runs
    )
    command = ("-m", "kvtrace", "info", both[1].path, "--all")
    environment = without(tmp_path / "small", ROOT)
    done = ran(*command, "--json", folder=tmp_path, environment=environment)
    small, whole = json.loads(done.stdout), json.loads(json.dumps(_object(both[1])))
    assert small["runs"] == whole["runs"]
    assert small["messages"] == whole["messages"]
    assert (small["kernels"], bool(whole["kernels"])) == ([], True)
    text = ran(*command, folder=tmp_path, environment=environment).stdout
    assert "are missing: reading them needs numpy" in " ".join(text.split())


def _object(trace):
    from kvtrace.converters.info.info import overview_object

    return overview_object(read_overview(trace, trace.runs))


@pytest.mark.parametrize(
    ("limits", "launches"),
    [
        ({}, 300),
        ({"KVTRACE_SAMPLE": "1/10"}, 44),
        ({"KVTRACE_LIMIT": "100 launches"}, 100),
        ({"KVTRACE_LIMIT": "ring:1MB"}, 300),
    ],
)
def test_limits_and_samples_import_no_further_modules(limits, launches, tmp_path):
    environment = without(tmp_path / "small", ROOT)
    ran("-c", RECORDED_PROGRAM, "out", folder=tmp_path, environment=environment, **limits)
    trace = open_trace(tmp_path / "out")
    assert trace.table("launches").num_rows == launches
    (run,) = read_overview(trace, trace.runs).runs
    assert run.launches == (100 if "launches" in str(limits) else 300)
    assert validate(trace.path) == []


@pytest.mark.parametrize(
    ("setting", "value", "packages"),
    # Every setting takes a program of its own, and seconds.
    in_turn(
        [
            ("MODE", "timeline", "numpy"),
            ("MODE", "ops", "numpy and ml_dtypes and z3"),
            ("SANITIZE", "raise", "numpy and ml_dtypes and z3"),
            ("CHECK", "first", "numpy"),
            ("DEVICE", "cpu", "numpy and ml_dtypes"),
        ],
        5,
    ),
)
def test_setting_that_needs_missing_packages_is_reported_once_and_ignored(
    setting, value, packages, tmp_path
):
    done = ran(
        LAUNCHING, 2, folder=tmp_path, environment=without(tmp_path / "small", ROOT),
        KVTRACE=str(tmp_path / "out"), **{f"KVTRACE_{setting}": value},
    )  # fmt: skip
    said = f"kvtrace: KVTRACE_{setting}={value} needs {packages}, which "
    assert done.stderr.count(said) == 1
    assert done.stderr.count("kvtrace: ") == 1
    trace = open_trace(tmp_path / "out")
    assert trace.table("launches", [trace.runs[0]]).num_rows == 8
    codes = trace.table("messages", [trace.runs[0]])["code"].to_pylist()
    assert codes.count("missing-package") == 1


WITHOUT_GPU = """
import torch, triton
import triton.language as tl

@triton.jit
def doubled(x, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)

try:
    doubled[(1,)](torch.ones(8), 8, BLOCK=8)
except RuntimeError as error:
    print(error)
"""


def test_without_a_gpu_the_program_gets_triton_s_own_error(tmp_path):
    environment = without(tmp_path / "small", ROOT)
    (tmp_path / "program.py").write_text(WITHOUT_GPU)
    out = str(tmp_path / "out")
    done = ran("program.py", folder=tmp_path, environment=environment, KVTRACE=out)
    assert done.stdout.startswith("0 active drivers")
    assert "evaluator, which needs numpy and ml_dtypes, which are not installed" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["sanitize", "TRACE"],
        ["profile", "TRACE"],
        ["sql", "TRACE", "SELECT 1"],
        ["diff", "TRACE", "TRACE"],
        ["report", "TRACE", "-o", "page.html"],
        ["convert", "perfetto", "TRACE"],
        ["info", "TRACE", "--recompiles"],
        ["top", "TRACE", "--once"],
    ],
    ids=lambda words: words[0],
)
def test_command_that_needs_missing_packages_prints_how_to_install_them(command, both, tmp_path):
    words = [str(both[1].path) if word == "TRACE" else word for word in command]
    done = subprocess.run(
        [sys.executable, "-m", "kvtrace", *words], env=without(tmp_path / "small", ROOT),
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"kvtrace: {command[0]} needs ")
    assert line.endswith(" which is not installed here; pip install kvtrace installs it.")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("trace", "validate", "out"), "out is fine"),
        (("trace", "recover", "out"), "nothing to recover in out"),
        (("trace", "compact", "out"), ""),
        (("doctor",), "analysis"),
        (("doctor", "--settings"), "KVTRACE_MODE=launch"),
        (("run", "--help"), "--sample 1/N"),
        (("--help",), "Usage: kvtrace COMMAND"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_commands_of_a_recording_machine_need_only_pyarrow(command, said, both, tmp_path):
    (tmp_path / "out").symlink_to(both[1].path) if command[:2] != ("trace", "compact") else None
    if command[:2] == ("trace", "compact"):
        import shutil

        shutil.copytree(both[1].path, tmp_path / "out")
    environment = without(tmp_path / "small", ROOT)
    done = subprocess.run(
        [sys.executable, "-m", "kvtrace", *command], env=environment,
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert said in done.stdout


def test_kvtrace_run_records_with_pyarrow_alone(tmp_path):
    environment = without(tmp_path / "small", ROOT)
    ran(
        "-m", "kvtrace", "run", "-o", "out", "--sample", "1/2", LAUNCHING, 3,
        folder=tmp_path, environment=environment,
    )  # fmt: skip
    trace = open_trace(tmp_path / "out")
    assert [run.launches for run in read_overview(trace, trace.runs).runs] == [12, 2]


def test_journal_of_a_killed_process_is_sealed_with_pyarrow_alone(tmp_path):
    environment = without(tmp_path / "small", ROOT)
    begun = RECORDED_PROGRAM.partition("kvtrace.stop()")[0]
    killed = f"{begun}session.flush()\nimport os, signal; os.kill(os.getpid(), signal.SIGKILL)\n"
    command = [sys.executable, "-c", killed, "out"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, timeout=300)
    assert done.returncode == -signal.SIGKILL
    done = ran("-m", "kvtrace", "trace", "recover", "out", folder=tmp_path, environment=environment)
    assert done.stdout.startswith("sealed ")
    trace = open_trace(tmp_path / "out")
    assert trace.table("launches").num_rows == 300
    assert validate(Path(trace.path)) == []
