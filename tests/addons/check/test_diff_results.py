"""Launches' results compared by digest: real kernels on the CPU, run twice, with a difference."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import kvtrace  # noqa: E402
from kvtrace.addons.check.diff_results import _paired  # noqa: E402
from kvtrace.addons.check.digested import DigestedLaunch  # noqa: E402
from kvtrace.cli import main  # noqa: E402
from kvtrace.converters.diff import compare, difference_object, headline_text  # noqa: E402
from kvtrace.schema.trace import resolve  # noqa: E402
from tests.backends.compiled_kernels import output_kernels as kernels  # noqa: E402

COUNT = 1000


def launched(kernel, *tensors, count=COUNT):
    kernel[(triton.cdiv(count, 256),)](*tensors, count, BLOCK=256)


def recorded(out, *, planted=None, check="digest", count=COUNT):
    """Three steps; `planted` changes tensors between launches: name of the place → what it does."""
    change = planted or {}
    x, y, z = (torch.arange(1.0, count + 1) / number for number in (3, 5, 7))
    total = torch.zeros(1)
    with kvtrace.capture(out, check=check):
        for step in range(3):
            for name, tensor in ((f"x{step}", x), (f"y{step}", y)):
                if name in change:
                    change[name](tensor)
            launched(kernels.doubled, x, y, count=count)
            if f"between{step}" in change:
                change[f"between{step}"](y)
            launched(kernels.doubled, y, z, count=count)
            launched(kernels.summed, z, total, count=count)
            launched(kernels.inverted, z, count=count)
    return out


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The program as it is, recorded once."""
    return recorded(tmp_path_factory.mktemp("results") / "a")


def difference(before, after):
    return compare(resolve(before), resolve(after))


def flip(place):
    def change(tensor):
        tensor[place] += 1

    return change


@pytest.mark.costly("records twice; differences stay by day")
def test_two_runs_of_a_deterministic_program_have_no_difference(plain, tmp_path):
    found = difference(plain, recorded(tmp_path / "b"))
    assert (found.results.compared, found.results.unpaired) == (12, (0, 0))
    assert (found.results.differing, found.results.first) == (0, None)
    assert found.empty
    assert "results of 12 launches were compared by digest: all are equal" in " ".join(
        line.strip() for line in headline_text(found, width=200)
    )


def test_differing_inputs_are_reported_as_an_upstream_cause(plain, tmp_path):
    planted = {"between1": flip(17)}
    found = difference(plain, recorded(tmp_path / "b", planted=planted))
    first = found.results.first
    assert (first.kernel, first.order, first.launches) == ("doubled", 4, (5, 5))
    assert (first.inputs, first.inputs_differing, first.outputs) == (False, ("x",), ("out",))
    assert first.causes == ()
    assert "since launch 3 of doubled (equal results)" in first.why
    assert "no launch without a digest ran" in first.why
    assert found.results.differing == 2 + 1  # the sum of that step, and that of the next
    assert not found.empty
    (row,) = (row for row in found.headline if row.level == "results")
    assert row.kernel == "doubled"


def test_a_kernel_with_equal_inputs_and_float_atomics_is_named(plain, tmp_path, monkeypatch):
    plant_in(monkeypatch, "summed", launch=2)
    found = difference(plain, recorded(tmp_path / "b"))
    first = found.results.first
    assert (first.kernel, first.order, first.launches) == ("summed", 2, (6, 6))
    assert (first.inputs, first.inputs_differing, first.outputs) == (True, (), ("out",))
    (cause,) = first.causes
    assert "adds floats of several programs to one element" in cause
    assert f"{kernels.__file__}:" in cause
    assert "the kernel is not deterministic" in first.why


def test_nondeterministic_kernel_without_a_cause_in_its_ir_is_reported(
    plain, tmp_path, monkeypatch
):
    plant_in(monkeypatch, "inverted", launch=3)
    found = difference(plain, recorded(tmp_path / "b"))
    first = found.results.first
    assert (first.kernel, first.order, first.inputs, first.causes) == ("inverted", 3, True, ())
    assert "Nothing in its IR depends on the order of programs" in first.why


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [("ab", "xab", "aa2 bb3"), ("xab", "ab", "aa1 bb2"), ("aa", "aaa", "aa1 aa2"),
     ("abc", "axyc", "aa1 bx2 cc4"), ("ab", "cde", "ac1 bd2")],
)  # fmt: skip
def test_launches_are_paired_by_number_and_equal_ones_from_the_end(before, after, pairs):
    sides = (
        [DigestedLaunch(0, {}, (), (), {0: bits}) for bits in side] for side in (before, after)
    )
    assert " ".join(f"{a.digests[0]}{b.digests[0]}{n}" for a, b, n in _paired(*sides)) == pairs


@triton.jit
def _scaled(x, out, factor, n, TWICE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0) * factor
    tl.store(out + at, value * 2 if TWICE else value, mask=at < n)


def _recorded_scaled(out, factor=0.5, *, twice=False):
    x = torch.arange(1.0, 301)
    with kvtrace.capture(out, check="digest"):
        _scaled[(2,)](x, torch.zeros(300), factor, 300, TWICE=twice, BLOCK=256)
    return out


@pytest.mark.parametrize(
    ("factor", "twice", "cause"),
    [
        (0.25, False, "its argument factor is 0.25, was 0.5"),
        (0.5, True, "its code was changed"),
    ],
)
def test_changed_kernel_with_other_results_is_not_reported_as_nondeterministic(
    tmp_path, factor, twice, cause
):
    sides = _recorded_scaled(tmp_path / "a"), _recorded_scaled(tmp_path / "b", factor, twice=twice)

    found = difference(*sides)
    text = " ".join(" ".join(headline_text(found, width=200)).split())

    assert cause in found.results.first.why
    assert "its inputs were equal" in found.results.first.why
    assert "deterministic" not in text
    assert "_scaled, out, by IR: element" in text
    assert found.answers[1].word == "no"


def plant_in(monkeypatch, name, launch):
    """Have one launch of a kernel store another number than its IR says, as a device could."""
    from kvtrace.backends.triton import evaluating_launcher

    evaluate, seen = evaluating_launcher.evaluate, []

    def wrong(module, arguments, grid, **given):
        evaluate(module, arguments, grid, **given)
        if given.get("kernel") == name:
            seen.append(name)
            if len(seen) == launch:
                written = [a for a in arguments if a.name == ("out" if name == "summed" else "x")]
                written[0].storage.data[1] ^= 1

    monkeypatch.setattr(evaluating_launcher, "evaluate", wrong)


def test_integer_atomics_are_not_reported_as_cause_of_differences(tmp_path, monkeypatch):
    def count(out):
        x, total = torch.arange(COUNT), torch.zeros(1, dtype=torch.int64)
        with kvtrace.capture(out, check="digest"):
            launched(kernels.counted, x, total)
        return out

    before = count(tmp_path / "a")
    monkeypatch.setattr(
        "kvtrace.backends.triton.evaluating_launcher.evaluate", lambda *_, **__: None
    )
    first = difference(before, count(tmp_path / "b")).results.first
    assert (first.kernel, first.inputs, first.causes) == ("counted", True, ())


def test_launches_of_other_shapes_are_not_compared(plain, tmp_path):
    found = difference(plain, recorded(tmp_path / "b", count=900))
    assert found.results.compared == 0
    assert found.results.unpaired == (12, 12)
    (text,) = found.results.unlike  # the others are the same for each element
    assert text.startswith("summed had arguments of other shapes")


@triton.jit
def split(x, out, n, SPLIT: tl.constexpr, BLOCK: tl.constexpr):
    """Row sums in as many parts as the caller wants, added up afterwards."""
    lanes = tl.arange(0, BLOCK)
    total = 0.0
    for part in range(SPLIT):
        at = part * BLOCK + lanes
        total += tl.sum(tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=0.0), axis=0)
    tl.store(out + tl.program_id(0), total)


@pytest.mark.costly("compares two runs; nine lighter diffs stay")
def test_split_size_that_depends_on_the_batch_is_reported(tmp_path):
    def run(out, batch):
        x = torch.randn(batch, 256)
        parts = 4 if batch == 1 else 1
        with kvtrace.capture(out, check="digest"):
            split[(batch,)](x, torch.zeros(batch), 256, SPLIT=parts, BLOCK=256 // parts)
        return out

    found = difference(run(tmp_path / "a", 1), run(tmp_path / "b", 3))
    assert found.results.compared == 0
    (text,) = found.results.unlike
    assert "split had arguments of other shapes" in text
    assert "SPLIT 4 → 1; BLOCK 64 → 256" in text
    assert text in " ".join(line.strip() for line in headline_text(found, width=1000))


def test_diff_without_digests_reports_no_results(tmp_path):
    found = difference(recorded(tmp_path / "a", check=""), recorded(tmp_path / "b"))
    assert found.results is None
    assert not any("by digest" in line for line in headline_text(found))


@pytest.mark.costly("compares two runs; nine lighter diffs stay")
def test_json_text_and_markdown_of_diff_contain_the_first_difference(plain, tmp_path, capsys):
    planted = {"x2": flip(0)}
    a, b = plain, recorded(tmp_path / "b", planted=planted)
    assert main(["diff", str(a), str(b), "--no-replay", "--exit-code"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "results of 12 launches were compared by digest: 3 differ" in text
    assert main(["diff", str(a), str(b), "--no-replay", "--json"]) == 0
    form = json.loads(capsys.readouterr().out)["results"]
    assert form["first"]["kernel"] == "doubled"
    assert form["first"]["inputs"] is False
    assert form == json.loads(json.dumps(difference_object(difference(a, b))))["results"]
    assert main(["diff", str(a), str(b), "--no-replay", "--markdown", "-"]) == 0
    assert "#### Results" in capsys.readouterr().out


def test_runs_of_two_ranks_can_be_compared(tmp_path):
    recorded(tmp_path)
    recorded(tmp_path, planted={"between0": flip(3)})
    runs = [run.run_id for run in resolve(tmp_path).trace.runs]
    found = difference(f"{tmp_path}/{runs[0]}", f"{tmp_path}/{runs[1]}")
    assert found.results.first.launches == (1, 1)
