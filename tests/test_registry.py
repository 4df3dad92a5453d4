"""What is registered: kvtrace's own entries, and the package of the documentation, installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kvtrace
from kvtrace import registry
from kvtrace.capture.backends import Backend
from kvtrace.schema.trace import open_trace
from tests.capture.surroundings import LIBRARY

ROOT = Path(__file__).resolve().parents[1]

PROGRAM = """
import stencils

def blur(grid, array):
    return grid

def main():
    for rows in (4, 4, 8):
        assert stencils.run(blur, (2, 2), stencils.Array(rows, 4)) == (2, 2)

main()
"""


@pytest.fixture
def no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_in_folders", {})
    monkeypatch.setattr(registry, "_failed", set())


def install(folder: Path, package: str, entries: str, **modules: str) -> None:
    """Write what installing a package leaves in a folder of `sys.path`."""
    metadata = folder / f"{package}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entries)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)


def section() -> str:
    return (ROOT / "docs/contributing/package.md").read_text(encoding="utf-8")


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The documented package, installed in a folder beside the library and a program."""
    toml = re.search(r"```toml\n(.*?)```", section(), re.DOTALL)
    assert toml
    entries = toml[1].replace('project.entry-points."', "").replace('"', "")
    blocks = re.findall(r"```python\n# (\w+)\.py: .*?\n(.*?)```", section(), re.DOTALL)
    install(tmp_path / "site", "kvtrace_stencils", entries, stencils=LIBRARY, **dict(blocks))
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def run(
    folder: Path, *command: str, code: int = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KVTRACE")}
    path = os.pathsep.join([str(folder / "site"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=clean | {"PYTHONPATH": path} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.process
@pytest.mark.parametrize("extra", ["", "\n[kvtrace.libraries]\nstencils=kvtrace_stencils:BACKEND"])
def test_a_backend_of_another_package_records_by_the_variable_alone(
    example: Path, extra: str
) -> None:
    entries = next((example / "site").glob("*.dist-info")) / "entry_points.txt"
    entries.write_text(entries.read_text() + extra)

    done = run(example, "program.py", KVTRACE="out")

    # on a busy machine a line says that sealing takes a while
    assert [line for line in done.stderr.splitlines() if "is being sealed" not in line] == []
    trace = open_trace(example / "out")
    assert trace.table("kernels")["name"].to_pylist() == ["blur"]
    assert trace.table("launches").num_rows == 3
    assert trace.table("calls")["grid_y"].to_pylist() == [2, 2]


@pytest.mark.process
def test_it_is_imported_only_with_its_library_where_that_is_named(example: Path) -> None:
    program = "import sys, pip; print('kvtrace_stencils' in sys.modules)"
    entries = next((example / "site").glob("*.dist-info")) / "entry_points.txt"
    assert run(example, "-c", program, KVTRACE="out").stdout == "True\n"
    entries.write_text(
        entries.read_text() + "[kvtrace.libraries]\nstencils = kvtrace_stencils:BACKEND\n"
    )
    assert run(example, "-c", program, KVTRACE="out").stdout == "False\n"


@pytest.mark.process
def test_a_backend_that_imports_its_library_leaves_it_one_module(example: Path) -> None:
    module = example / "site" / "kvtrace_stencils.py"
    module.write_text("import stencils\n" + module.read_text())
    (example / "site" / "stencils.py").write_text("print('imported')\n" + LIBRARY)
    program = PROGRAM + "import sys\nassert stencils.__spec__.loader.name == 'stencils'\n"
    (example / "program.py").write_text(program)

    assert run(example, "program.py", KVTRACE="out").stdout == "imported\n"
    assert open_trace(example / "out").table("launches").num_rows == 3


@pytest.mark.process
def test_a_backend_that_cannot_be_imported_is_one_line_and_the_program_goes_on(
    example: Path,
) -> None:
    (example / "site" / "kvtrace_stencils.py").write_text("import not_there\n")

    done = run(example, "program.py", KVTRACE="out")

    problem, closing = done.stderr.splitlines()
    assert "stencils = kvtrace_stencils:BACKEND cannot be loaded: ModuleNotFoundError" in problem
    assert "no kernel was launched" in closing


@pytest.mark.process
def test_the_example_converter_folds_stacks(example: Path) -> None:
    run(example, "program.py", KVTRACE="out")

    run(example, "-m", "kvtrace", "convert", "folded", "out", "-o", "folded.txt")

    assert (example / "folded.txt").read_text() == "<module>;main 3\n"


@pytest.mark.process
def test_the_example_importer_reads_times(example: Path) -> None:
    (example / "times.csv").write_text("kernel,begin_ns,end_ns\nadded,1000,6250\n")

    run(example, "-m", "kvtrace", "import", "times.csv", "-o", "out")

    trace = open_trace(example / "out")
    assert [run.source for run in trace.runs] == ["timed"]
    (row,) = trace.table("gpu_kernels", columns=["name"]).to_pylist()
    assert row["name"] == "added"
    (example / "times.csv").write_text("kernel,begin_ns,end_ns\nadded,1000\n")
    failed = run(example, "-m", "kvtrace", "import", "times.csv", "-o", "out", code=2)
    assert "line 2: no name and two numbers" in failed.stderr


@pytest.mark.process
def test_a_package_adds_a_command(tmp_path: Path) -> None:
    module = "def command(times: int = 1) -> int:\n    'Count to a number.'\n    return times\n"
    entries = "[kvtrace.commands]\ncount = counting:command\n"
    install(tmp_path / "site", "counting", entries, counting=module)

    listed = run(tmp_path, "-m", "kvtrace", "--help", "--all").stdout
    assert "\n  count         Count to a number.\n" in listed
    assert run(tmp_path, "-m", "kvtrace", "count", "--times", "3", code=3).stdout == ""


def test_functions_of_add_ons_are_names_of_kvtrace() -> None:
    for entry in registry.own_entries("api"):
        assert getattr(kvtrace, entry.name) is entry.load()
    with pytest.raises(AttributeError, match="has no attribute 'not_there'"):
        kvtrace.not_there  # noqa: B018


def test_every_entry_of_kvtrace_and_its_add_ons_is_there() -> None:
    registry.own_entries("backends")
    assert registry._own
    for entry in registry._own:
        assert entry.load() is not None, entry


def test_libraries_are_those_that_their_backends_wait_for() -> None:
    listed: dict[str, set[str]] = {}
    for group in ("libraries", "libraries_without_gpu"):
        for entry in registry.own_entries(group):
            listed.setdefault(entry.place, set()).add(entry.name)
    for entry in (*registry.own_entries("libraries"), *registry.own_entries("backends")):
        backend: Backend = entry.load()
        assert set(backend.libraries) == listed[entry.place], entry


@pytest.mark.usefixtures("no_packages")
def test_the_first_of_two_packages_of_a_name_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("one", "two"):
        entries = f"[other]\nx = y:z\n\n[kvtrace.converters]\n# a remark\nx = {folder}:X [extra]\n"
        install(tmp_path / folder, "Some_Package", entries)
    monkeypatch.setattr(sys, "path", [str(tmp_path / name) for name in ("one", "two", "none")])

    found = registry.installed_entries("converters")

    assert [(each.name, each.place) for each in found] == [("x", "one:X")]
    assert registry.entry("converters", "perfetto") is not None
    assert registry.entry("converters", "nothing") is None


@pytest.mark.usefixtures("no_packages")
def test_what_another_package_cannot_load_is_said_once_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, "broken", "[kvtrace.rules]\nbroken = not_there:RULES\n")
    monkeypatch.syspath_prepend(tmp_path)

    for _ in range(2):
        assert "broken" not in dict(registry.loaded("rules"))
    assert capsys.readouterr().err.count("cannot be loaded") == 1


@pytest.mark.process
def test_the_registry_imports_nothing() -> None:
    program = (
        "import os, sys; before = set(sys.modules); import kvtrace.registry as r; "
        "r.entries('backends'); print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "['kvtrace', 'kvtrace.registry']\n"


PACING = """
from kvtrace.settings import AddedSetting

PACE = AddedSetting("pace", "slow", "how fast it goes", str, ("slow|fast", "How fast it goes"))

def pace(trace):
    return len(trace.run_ids)
"""
PACING_ENTRIES = """
[kvtrace.settings]
pace = pacing:PACE

[kvtrace.trace_methods]
pace = pacing:pace
"""


@pytest.mark.process
def test_a_package_adds_a_setting_and_a_method_of_traces(example: Path) -> None:
    install(example / "site", "pacing", PACING_ENTRIES, pacing=PACING)
    run(example, "program.py", KVTRACE="out", KVTRACE_PACE="fast")
    assert dict(open_trace(example / "out").runs[0].settings)["pace"] == "fast"

    asked = "import kvtrace; trace = kvtrace.open('out'); print(trace.pace(), 'pace' in dir(trace))"
    assert run(example, "-c", asked).stdout == "1 True\n"
    told = run(example, "-m", "kvtrace", "doctor", "--settings", KVTRACE_PACE="fast").stdout
    assert "KVTRACE_PACE=fast  (environment; default slow)\n" in told
    assert "How fast it goes" in run(example, "-m", "kvtrace", "run", "--help").stdout
    shown = "import kvtrace; kvtrace.open('out').space()"
    assert "has no attribute 'space'" in run(example, "-c", shown, code=1).stderr


@pytest.mark.process
def test_a_setting_that_cannot_be_loaded_is_one_line_and_the_program_goes_on(example: Path) -> None:
    install(example / "site", "pacing", PACING_ENTRIES, pacing="import not_there")
    done = run(example, "program.py", KVTRACE="out", KVTRACE_PACE="fast")
    assert "pace = pacing:PACE cannot be loaded: ModuleNotFoundError" in done.stderr
    assert "loaded; ignored" in done.stderr
    assert open_trace(example / "out").table("launches").num_rows == 3


def test_dir_of_the_package_has_public_names_alone() -> None:
    names = dir(kvtrace)
    assert {"capture", "diff", "mark", "start", "stop", "testing"} <= set(names)
    assert not {"schema", "converters", "sys", "_HOMES"} & set(names)
    assert all(getattr(kvtrace, name) is not None for name in names)
