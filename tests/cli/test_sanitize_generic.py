"""`kvtrace sizes`: conditions, calls compared with them, exit codes, bad input."""

import json
import re
import shutil
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kvtrace.cli import main

FIXTURE = Path(__file__).parents[1] / "fixtures" / "h200" / "train"
#: Numbers of a matmul, and of the cross entropy, an address of which hangs on data.
TWO = (1, 5)
#: Of seconds: all kernels of the trace, or two sizes of two of them.
DEAR = pytest.mark.costly("many sizes of a training step; two of its kernels are judged by day")


#: How the matmul's tensors, strides and grid follow from its arguments, as no text says.
TIES = [
    f"--tie={tie}"
    for tie in (
        "left.shape[0] = rows", "out.shape[0] = rows", "grid_x = cdiv(rows, 32)",
        "out.shape[1] = columns", "right.shape[1] = columns", "grid_y = cdiv(columns, 32)",
        "left.shape[1] = inner", "right.shape[0] = inner", "bias.shape[0] = columns",
        "left_row = inner", "right_inner = columns",
    )
]  # fmt: skip


#: The grid of the paged kernel, and extents, of which its program has literals alone.
PAGES = [
    f"--tie={tie}"
    for tie in (
        "grid_x = 3", "grid_y = 4", "cache.shape[1] = 4", "cache.shape[2] = 72", "out.shape[0] = 3",
        "out.shape[1] = 4", "out.shape[2] = 64", "table.shape[0] = 3",
    )
]  # fmt: skip


@pytest.fixture(scope="module")
def sizes_output():
    """Exit code, output and complaints of `kvtrace sizes` on a trace from a GPU."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = main(["sizes", str(FIXTURE), "--full", *TIES])
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """The same trace with the calls of two of its kernels: one access is unknown."""
    out = tmp_path_factory.mktemp("two") / "out"
    shutil.copytree(FIXTURE, out)
    (part,) = (out / "calls").rglob("*.parquet")
    rows = pq.ParquetFile(part).read()
    is_chosen = pc.is_in(rows["kernel_id"], pa.array(TWO, rows["kernel_id"].type))
    pq.write_table(rows.filter(is_chosen), part)
    return out


@pytest.fixture(scope="module")
def strictly(two):
    """Exit code and JSON of `kvtrace sizes --strict` on two of its kernels."""
    with redirect_stdout(StringIO()) as out:
        code = main(["sizes", str(two), "--strict", "--json", *TIES])
    return code, json.loads(out.getvalue())["kernels"]


@pytest.fixture(scope="module")
def trace_of_two_launches(tmp_path_factory):
    """Two launches of one kernel: the second is told of one element more than there are."""
    if find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    import torch

    import kvtrace
    from tests.verdicts import generic_kernels as kernels

    out = tmp_path_factory.mktemp("generic") / "out"
    with kvtrace.capture(out):
        for n in (1000, 1001):
            x, y, result = (torch.zeros(1000) for _ in range(3))
            kernels.add[(1,)](x, y, result, n, BLOCK=1024)
    return out


@DEAR
def test_conditions_of_a_trace_from_a_gpu(sizes_output):
    code, out, err = sizes_output

    text = " ".join(out.split())
    assert (code, err) == (0, "")
    assert "min(64, columns) + (grid_x - 1) * columns <= extent(x)" in text
    assert "unknown: load of logits in line" in text
    assert "its address depends on what target holds" in text
    assert "unique calls of" in text


def test_sizes_fails_for_a_call_outside_the_conditions_and_prints_it(
    kvtrace, trace_of_two_launches
):
    code, out, _ = kvtrace("sizes", trace_of_two_launches, "--full")

    text = " ".join(out.split())
    assert code == 1
    assert "min(n, 1024 * grid_x) <= extent(x) (load of x in line" in text
    assert "2 unique calls: 1 outside (judged alone: a violation), 1 within the conditions" in text
    assert "add[(1, 1, 1)](x=fp32[1000], y=fp32[1000], result=fp32[1000], n=1001" in text
    assert "violation: load ends 4 bytes past the end of x" in text


def test_json_has_the_same_conditions_as_the_text(kvtrace, trace_of_two_launches):
    code, out, _ = kvtrace("sizes", trace_of_two_launches, "--json")

    (kernel,) = json.loads(out)["kernels"]
    assert code == 1
    assert (kernel["kernel"], kernel["calls"], kernel["inside"]) == ("add", 2, 1)
    assert [access["exact"] for access in kernel["accesses"]] == [True] * 3
    assert kernel["assumptions"] == ["n >= 0"]
    (other,) = kernel["others"]
    assert other["outside"]
    assert other["verdict"] == "violation"


def test_strict_fails_on_unknown_verdicts(strictly):
    # without --strict it is 0: see test_conditions_of_a_trace_from_a_gpu
    assert strictly[0] == 1


# -- the size envelope ----------------------------------------------------------------------------


@DEAR
def test_the_table_of_sizes_says_where_a_kernel_ends(sizes_output):
    text = " ".join(sizes_output[1].split())

    base = "with columns = 240, inner = 60, the narrowest of 5"
    assert f"rows (was 198, {base}): first bad 8,947,850: row[:, None] * columns does not" in text
    # on a busy machine the time to decide it may be over
    assert "grid_y is 65,536, and CUDA launches 1 to 65,535" in text or re.search(
        r"columns \(was \d+, .{,80}\): proven for .{,300} beyond that unknown: ", text
    )
    assert 'record a launch with another columns, or state it as --tie "grid_x = …"' in text
    assert "grid_x = cdiv(rows, 32)" in text


@DEAR
def test_the_documentation_shows_the_printed_conditions(sizes_output):
    document = " ".join((Path(__file__).parents[2] / "docs" / "generic.md").read_text().split())
    example = document[document.index("rows (was 198,") : document.index("``` A row is of a")]

    text = " ".join(sizes_output[1].split())

    assert example.strip() in re.sub(r"\(\S*/matmul.py", "(matmul.py", text)


def test_json_has_the_table_of_sizes(strictly):
    _, kernels = strictly

    matmul = next(kernel for kernel in kernels if kernel["kernel"] == "matmul_kernel")
    row = next(row for row in matmul["envelope"] if row["quantity"] == "rows")
    # The last row starts at (rows - 1) * 180 of 32 bits.
    assert row["first_bad"] == (2**31 - 1) // 180 + 2
    assert (row["kind"], row["line"]) == ("overflow", 50)
    assert row["contract"] == "0 <= rows <= 11,930,465"
    assert (row["low"], row["high"], row["last_bad"]) == (0, 11_930_465, None)
    assert row["basis"] == "3 recorded launches, all of one size"
    assert matmul["at"] is None


@DEAR
def test_a_size_is_judged_without_running_it(kvtrace, two):
    code, out, err = kvtrace("sizes", two, "--full", "--at", "rows=20_000_000", *TIES)

    text = " ".join(out.split())
    assert (code, err) == (1, "")
    assert "at rows = 20000000; follows: left.shape[0] = rows, out.shape[0] = rows" in text
    assert "; other sizes, at worst: columns = " in text
    assert "violation: overflow: row[:, None] * columns is" in text

    assert kvtrace("sizes", two, "--at", "rows=2000, columns=300", *TIES)[0] == 0


def test_sizes_at_which_no_kernel_could_be_judged_are_not_passed(kvtrace, two):
    """The trace is of a version that kept no text of launching functions."""
    code, out, _ = kvtrace("sizes", two, "--at", "rows=2000")

    assert code == 2
    text = " ".join(out.split())
    assert "at rows = 2000: not judged: " in text
    assert "and how it grows with rows is not known: record a launch with another rows" in text


@pytest.mark.parametrize("sizes", ["rows", "rows=x", "=3", "rows=--1"])
def test_invalid_sizes_are_refused(kvtrace, sizes):
    code, _, err = kvtrace("sizes", FIXTURE, "--at", sizes)

    assert code == 2
    assert '--at needs sizes such as "batch=64, seq=131072"' in err


@pytest.mark.parametrize(
    ("tie", "text"),
    [
        ("rows", "'rows' is not a tie such as part.shape[0] = n // 32."),
        ("rows = 7 * columns", "'rows = 7 * columns' does not hold in a recorded launch of matmul"),
        ("rows = batch", "no kernel has all numbers of the tie 'rows = batch'."),
    ],
)
def test_a_tie_that_fits_no_kernel_is_refused(kvtrace, two, tie, text):
    code, out, err = kvtrace("sizes", two, "--tie", tie)

    assert (code, out) == (2, "")
    assert text in err


def test_a_size_name_that_no_kernel_has_is_refused(kvtrace, two):
    code, _, err = kvtrace("sizes", two, "--at", "batch=3")

    assert code == 2
    assert "no kernel has a scalar named batch" in err


def record_paged_kernel(out, name):
    """One launch of a kernel that reads five pages of a small cache."""
    if find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    import torch

    import kvtrace
    from tests.verdicts import envelope_kernels as kernels

    with kvtrace.capture(out, tensors="int"):
        table = torch.tensor([0, 2, 4], dtype=torch.int32)
        getattr(kernels, name)[(3, 4)](
            torch.zeros(5, 4, 72), table, torch.zeros(3, 4, 64), 288, 72, PAGE=4, WIDTH=64
        )
    return out


@pytest.fixture(scope="module")
def paged(tmp_path_factory):
    return record_paged_kernel(tmp_path_factory.mktemp("paged") / "out", "paged")


def test_a_contract_is_checked_and_a_proof_names_it(kvtrace, paged, tmp_path):
    contracts = tmp_path / "contracts.txt"
    contracts.write_text("# of the scheduler\n0 <= page < cache.shape[0]\n")

    code, out, err = kvtrace("sizes", paged, "--full", "--assume", contracts, *PAGES)

    text = " ".join(out.split())
    assert (code, err) == (0, "")
    assert "cache.shape[0] (was 5): first bad 7,456,541" in text
    assert "assuming 0 <= page < cache.shape[0], other sizes as recorded" in text


def test_a_launch_that_breaks_a_contract_fails(kvtrace, paged, tmp_path):
    contracts = tmp_path / "contracts.txt"
    contracts.write_text("0 <= table < 4\n")

    code, out, _ = kvtrace("sizes", paged, "--assume", contracts)

    assert code == 1
    assert "a launch violates the contract 0 <= table < 4: table holds 4" in " ".join(out.split())


def test_a_file_without_valid_contracts_is_refused(kvtrace, paged, tmp_path):
    contracts = tmp_path / "contracts.txt"
    contracts.write_text("pages are few\n")

    code, _, err = kvtrace("sizes", paged, "--assume", contracts)

    assert code == 2
    assert "'pages are few' is not a contract" in err


def test_a_comment_in_the_kernel_is_a_contract(kvtrace, tmp_path):
    out = record_paged_kernel(tmp_path / "out", "paged_assumed")

    code, text, err = kvtrace("sizes", out, "--full", *PAGES)

    text = " ".join(text.split())
    assert (code, err) == (0, "")
    assert "cache.shape[0] (was 5): first bad 7,456,541" in text
    assert "assuming 0 <= page < cache.shape[0]" in text


def test_a_broken_contract_in_a_comment_fails_and_an_invalid_one_is_reported(kvtrace, tmp_path):
    out = record_paged_kernel(tmp_path / "out", "paged_wrongly")

    code, text, err = kvtrace("sizes", out)

    output = " ".join((text + err).split())
    assert code == 1
    assert "a launch violates the contract 0 <= page < 4: table holds 4" in output
    assert "a comment in paged_wrongly: 'pages are few' is not a contract such as" in output
