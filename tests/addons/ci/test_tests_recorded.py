"""`pytest --kvtrace out/` on a suite of 30 tests with 3 defects, plain and with workers."""

import ast
import xml.etree.ElementTree as ET

import duckdb
import pytest

from kvtrace.schema.trace import open_trace
from tests.addons.ci.programs import clean_environment, run
from tests.support.warm_python import warm_python

KERNELS = """import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + tl.load(y_ptr + offsets, mask=mask), mask=mask)

@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n, other=0))
"""
#: 24 tests of kernels, 3 of them with a defect that their assertions miss: `copy` stores past the
#: end. Two tests launch the same call; a third launches that in a fixture. 6 tests launch nothing.
SUITE = """import pytest, torch, triton
from kernels import add, copy

@pytest.mark.parametrize("n", range(100, 120))
def test_add(n):
    x, out = torch.ones(n), torch.empty(n)
    add[(triton.cdiv(n, 64),)](x, x, out, n, BLOCK=64)
    assert out.eq(2).all()

def copied(n):
    x, out = torch.ones(n), torch.empty(n)
    copy[(triton.cdiv(n, 64),)](x, out, n, BLOCK=64)
    return out

@pytest.mark.parametrize("n", [128])
def test_copy(n):
    assert copied(n).eq(1).all()

def test_copy_past_the_end():
    assert copied(100).eq(1).all()

def test_copy_past_the_end_again():
    assert copied(100).eq(1).all()

@pytest.fixture
def prepared():
    return copied(100)

def test_what_a_fixture_launches(prepared):
    assert prepared.eq(1).all()

@pytest.mark.parametrize("n", range(6))
def test_nothing(n):
    assert n < 6
"""
DEFECTS = {
    "test_copy_past_the_end", "test_copy_past_the_end_again", "test_what_a_fixture_launches",
}  # fmt: skip
WORKERS = {"plain": (), "two workers": ("-n", "2")}
OURS = ("-q", "-p", "no:cacheprovider", "--junit-xml", "results.xml")


@pytest.fixture
def suite(project):
    (project / "kernels.py").write_text(KERNELS)
    (project / "test_kernels.py").write_text(SUITE)
    return project


def run_pytest(*options, folder, **variables):
    """Run pytest in a process that has imported pytest and torch already."""
    return warm_python(modules=("torch", "pytest")).run(
        "-c", "import sys, pytest; sys.exit(pytest.console_main())", *options, folder=folder,
        environment=clean_environment() | variables,
    )  # fmt: skip


def results_of(file):
    """Yield each test's name, whether it failed, and its properties by name."""
    for case in ET.parse(file).getroot().iter("testcase"):
        properties = {}
        for property_ in case.iter("property"):
            properties.setdefault(property_.get("name"), []).append(property_.get("value"))
        failed = case.find("failure") is not None or case.find("error") is not None
        yield case.get("name"), failed, properties


@pytest.mark.process
@pytest.mark.parametrize("workers", WORKERS.values(), ids=WORKERS)
def test_tests_with_a_violation_fail_and_launches_are_attributed_to_tests(suite, workers):
    result = run_pytest(*OURS, *workers, "--kvtrace", "out", "--kvtrace-fail=violation",
               folder=suite)  # fmt: skip
    assert result.returncode == 1, result.stdout + result.stderr
    assert "3 failed, 27 passed" in result.stdout
    assert "24 tests launched 2 kernels 24 times, recorded in out" in result.stdout
    assert "3 tests launched a kernel with a defect" in result.stdout
    assert "kernels.py:14:33: error[out-of-bounds]" in result.stdout
    assert (
        result.stdout.count(" and 2 more tests: error[out-of-bounds]: store of out_ptr in copy")
        == 1
    )
    results = list(results_of(suite / "results.xml"))
    assert {name for name, failed, _ in results if failed} == DEFECTS
    for name, failed, properties in results:
        launched = not name.startswith("test_nothing")
        assert properties.get("kvtrace.launches") == (["1"] if launched else None), name
        kernel = "add" if name.startswith("test_add") else "copy"
        assert properties.get("kvtrace.kernels") == ([kernel] if launched else None)
        assert ("kvtrace.finding" in properties) == failed
    # every launch lies in the mark of its test, in the run of its process, all of one group
    trace = open_trace(suite / "out")
    runs = trace.select()
    assert len(runs) == len(trace.runs) == (2 if workers else 1)
    marks = trace.table("marks", runs, ["attributes"]).to_pylist()
    assert [row["attributes"] for row in marks] == [[("pytest", "test")]] * 30
    assert launches_in_marks(trace, runs) == 24


def launches_in_marks(trace, runs):
    with duckdb.connect() as database:
        database.register("marks", trace.table("marks", runs))
        database.register("launches", trace.table("launches", runs))
        query = """SELECT count(*) FROM launches l JOIN marks m ON l.run = m.run
                   AND l.enter BETWEEN m.begin AND m."end" """
        return database.execute(query).fetchone()[0]


@pytest.mark.process
def test_without_fail_option_defects_are_reported_and_tests_pass(suite):
    result = run_pytest(*OURS, "--kvtrace", "out", folder=suite)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "30 passed" in result.stdout
    assert "3 tests launched a kernel with a defect" in result.stdout


@pytest.mark.process
def test_without_the_option_nothing_is_recorded(suite):
    result = run_pytest(*OURS, "-k", "nothing", folder=suite)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "kvtrace" not in result.stdout
    assert not (suite / "out").exists()
    assert [
        properties for _, _, properties in results_of(suite / "results.xml") if properties
    ] == []


@pytest.mark.process
def test_collecting_alone_records_nothing(suite):
    result = run_pytest(*OURS, "--collect-only", "--kvtrace", "out", folder=suite)
    assert result.returncode == 0, result.stdout + result.stderr
    assert not (suite / "out").exists()


@pytest.mark.process
def test_suite_without_kernels_is_reported(suite):
    result = run_pytest(*OURS, "-k", "nothing", "--kvtrace", "out", folder=suite)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "no test launched a kernel that was recorded in out" in result.stdout


@pytest.mark.process
def test_outer_recording_continues_around_the_suite(suite):
    """`kvtrace gate -- pytest --kvtrace …`: one run, judged test by test."""
    options = (*OURS, "-k", "copy", "--kvtrace", "mine", "--kvtrace-fail=violation")
    result = run_pytest(*options, folder=suite, KVTRACE="around")
    assert result.returncode == 1, result.stdout + result.stderr
    assert "2 failed, 1 passed" in result.stdout
    assert not (suite / "mine").exists()
    assert open_trace(suite / "around").table("launches").num_rows == 3


@pytest.mark.process
def test_suppressed_finding_does_not_fail_a_test(suite):
    kernels = KERNELS.replace("other=0))", "other=0))  # kvtrace: ignore[out-of-bounds] padded")
    (suite / "kernels.py").write_text(kernels)
    result = run_pytest(*OURS, "-k", "copy", "--kvtrace", "out", "--kvtrace-fail=violation",
               folder=suite)  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.process
def test_importing_the_plugin_imports_no_other_module():
    program = (
        "import sys, pytest; before = set(sys.modules); import kvtrace.pytest_plugin; "
        "print(sorted(set(sys.modules) - before))"
    )
    result = run("-c", program, folder=".")
    assert set(ast.literal_eval(result.stdout)) <= {"kvtrace", "kvtrace.pytest_plugin"}
