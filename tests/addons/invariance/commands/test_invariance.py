"""`kvtrace invariance`: what it prints, and its exit codes."""

import contextlib
import inspect
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st

import kvtrace
from kvtrace.addons.invariance.results import invariance_of
from kvtrace.cli import main
from kvtrace.clients.recorded import estimated_costs
from kvtrace.progress import shown_by
from kvtrace.schema.trace import select_runs
from tests.addons.invariance.contracted import broken, kept, launch
from tests.addons.invariance.inputs import tensor
from tests.addons.invariance.planted import PLANTED
from tests.support.free_driver import free_driver
from tests.support.thorough import usually

__all__ = ["free_driver"]

Make = Callable[[str, str], Path]
TILE = "RMS norm, power of the whole tile"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory, free_driver: object) -> Path:
    """Record a kernel at two sizes of the batch."""
    out = tmp_path_factory.mktemp("asked") / "out"
    with kvtrace.capture(out):
        for rows in PLANTED[0].sizes:
            PLANTED[0].launch(PLANTED[0].right, rows)
    return out


@pytest.fixture
def trace_of(tmp_path: Path, free_driver: object) -> Make:
    """Record the right or the wrong kernel of a planted pair."""

    def make(name: str, kind: str) -> Path:
        pair = next(each for each in PLANTED if each.name == name)
        with kvtrace.capture(tmp_path / kind):
            for rows in pair.sizes:
                pair.launch(getattr(pair, kind), rows)
        return tmp_path / kind

    return make


def test_invariance_command_prints_the_scope_of_proofs(
    trace_of: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["invariance", str(trace_of(TILE, "right")), "--strict"]) == 0

    told = " ".join(capsys.readouterr().out.split())
    assert "invariant" in told
    assert "1 invariant, 0 shown to vary" in told
    assert "Assumed: no race between programs" in told


def test_fault_is_printed_with_its_line_and_fails_with_strict(
    trace_of: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = trace_of(TILE, "wrong")

    assert main(["invariance", str(trace)]) == 0
    assert main(["invariance", str(trace), "--strict"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "depends on how many rows there are" in told
    assert "planted.py:" in told


def test_reached_time_limit_is_printed(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["invariance", str(trace), "--seconds", "0", "--strict"]) == 1
    assert "for which 0 s did not suffice" in " ".join(capsys.readouterr().out.split())


def test_progress_is_by_the_estimated_cost_of_a_kernel_and_comes_to_its_end(
    trace: Path, tmp_path: Path
) -> None:
    with kvtrace.capture(tmp_path / "contracts"):
        launch(kept, 3, 5)
    titles: list[str] = []
    reports: list[tuple[float, float]] = []

    @contextlib.contextmanager
    def display(title: str, _: object) -> Iterator[Callable[[float, float], None]]:
        titles.append(title)
        yield lambda done, total: reports.append((done, total))

    with shown_by(display):
        for folder in (trace, tmp_path / "contracts"):
            selection = select_runs(folder)
            invariance_of(selection, seconds=0.0)
            costs = estimated_costs(selection.trace, selection.runs[0])
            assert reports[-1] == (sum(costs.values()), sum(costs.values()))
    assert titles == ["invariance", "invariance"]


def test_json_of_invariance_has_the_content_of_the_text(
    trace_of: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["invariance", str(trace_of(TILE, "wrong")), "--json"]) == 0

    (output,) = json.loads(capsys.readouterr().out)["outputs"]
    assert output["verdict"] == "violation"
    assert len(set(output["witness"]["values"])) == 2
    assert output["deterministic"] == "proven"
    assert {reason["cause"] for reason in output["reasons"]} >= {"size"}


def test_unknown_kernel_name_is_an_error_message(
    trace_of: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["invariance", str(trace_of(TILE, "right")), "--kernel", "nobody"]) == 2

    assert (
        capsys.readouterr().err
        == "kvtrace: --kernel 'nobody' matches none of 1 kernel; the closest: _rms_norm.\n"
    )


def test_over_judges_invariance_over_an_argument(
    tmp_path: Path, free_driver: object, capsys: pytest.CaptureFixture[str]
) -> None:
    with kvtrace.capture(tmp_path / "out"):
        launch(kept, 3, 5)
        launch(broken, 3, 5)
    asked = ["invariance", str(tmp_path / "out"), "--strict"]

    assert main([*asked, "--kernel", "kept", "--over", "M"]) == 0
    assert "kept, y: over M: proven, by its IR as written" in capsys.readouterr().out
    assert main([*asked, "--kernel", "kept", "--over", "N"]) == 1
    assert "kept, y: over N: unknown" in capsys.readouterr().out
    assert main([*asked, "--kernel", "kept", "--over", "grid"]) == 0
    assert main([*asked, "--kernel", "kept", "--over", "x"]) == 1
    assert "x is a tensor" in capsys.readouterr().out
    assert main([*asked, "--json"]) == 1
    answers = json.loads(capsys.readouterr().out)["over"]
    assert {(each["kernel"], each["verdict"]) for each in answers} == {
        ("kept", "proven"),
        ("broken", "violation"),
    }


@triton.jit
def scaled(x, y, out, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < N
    left, right = tl.load(x + at, mask=mask), tl.load(y + at, mask=mask)
    tl.store(out + at, left * right + left, mask=mask)


@pytest.mark.parametrize("fused", [True, False])
def test_fma_in_only_one_variant_is_found_in_ptx(
    fused: bool, tmp_path: Path, free_driver: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tree is one, and its bits are not where the compiler joined them at one size alone."""
    with kvtrace.capture(tmp_path / "out"):
        for rows in (2, 40):
            x, y, out = (tensor(rows, 60, seed=seed) for seed in range(3))
            scaled[(rows,)](x, y, out, 60, BLOCK=64, enable_fp_fusion=fused or rows == 2)
    source, first = inspect.getsourcelines(scaled.fn)
    line = first + next(n for n, text in enumerate(source) if "left * right" in text)

    assert main(["invariance", str(tmp_path / "out"), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["variants"]
    assert found["other_arithmetic"] == ([] if fused else [line])
    assert main(["invariance", str(tmp_path / "out")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    said = "scaled, out: other instructions on floats at another size of the batch, for line"
    assert (f"{said} {line}: bits may differ" in told) is not fused
    assert "What is behind that IR is not analyzed: FMA contraction, ptxas" in told


@given(
    over=st.one_of(st.text(max_size=8), st.sampled_from(("M", "rows", "grid", "x", "BLOCK_M"))),
    kernel=st.one_of(st.none(), st.text(max_size=8), st.just("_product")),
)
@settings(max_examples=usually(6, thorough=200))
def test_any_arguments_give_an_answer_or_an_error_message(
    trace: Path, over: str, kernel: str | None
) -> None:
    words = [f"--over={over}", *([] if kernel is None else [f"--kernel={kernel}"])]
    said, complaint = io.StringIO(), io.StringIO()

    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaint):
        code = main(["invariance", str(trace), *words])

    assert code in (0, 2)
    # Beside an answer a note says which kernels are shown.
    assert code == 0 or complaint.getvalue().strip()
    assert code == 2 or said.getvalue().strip()
    assert "Traceback" not in complaint.getvalue()
