"""Errors of judged files: one line each, as early as possible."""

from dataclasses import replace

import pytest

from kvtrace.addons.judge.judge_file import judge_file
from kvtrace.addons.judge.request import CannotJudge, Place, Request
from tests.addons.judge.labeled import FOLDER

SOURCE = (FOLDER / "kernels" / "right" / "relu.py").read_text(encoding="utf-8")
REFERENCE = 'import torch\n\n\ndef relu(x: "f32[M, N]"):\n    return torch.relu(x)\n'
pytestmark = pytest.mark.process


def request(tmp_path, source=SOURCE, reference=REFERENCE):
    (tmp_path / "candidate.py").write_text(source)
    (tmp_path / "reference.py").write_text(reference)
    candidate, other = (
        Place(tmp_path / f"{name}.py", "relu") for name in ("candidate", "reference")
    )
    return Request(candidate, other, views=False)


@pytest.mark.parametrize("at", ["source", "reference"])
def test_missing_import_is_an_error_before_anything_runs(tmp_path, at):
    source = {"source": SOURCE, "reference": REFERENCE}[at]
    files = {at: source.replace("import torch\n", "import torch\nimport no_such_module\n", 1)}
    with pytest.raises(
        CannotJudge, match=r":\d+ imports no_such_module, which is neither installed"
    ):
        judge_file(request(tmp_path, **files))


def test_optional_imports_and_files_beside_are_accepted(tmp_path):
    (tmp_path / "beside.py").write_text("")
    optional = "try:\n    import no_such_module\nexcept ImportError:\n    pass\n"
    judgment = judge_file(request(tmp_path, f"import beside\n{optional}{SOURCE}")).object
    assert judgment["verdict"] == "right", judgment["findings"]


def test_missing_inputs_are_an_error_before_anything_runs(tmp_path):
    with pytest.raises(CannotJudge, match="it is not known what the inputs are"):
        judge_file(request(tmp_path, reference=REFERENCE.replace(': "f32[M, N]"', "")))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("import torch\n", "import torch\n\n1 / 0\n", "ZeroDivisionError: division by zero"),
        ("torch.empty_like", "torch.empty_likes", "has no attribute 'empty_likes'"),
        ("tl.load(", "tl.lead(", "has no attribute 'lead'"),
        ("def relu(x):", "def relu(x, y):", "missing 1 required positional argument: 'y'"),
    ],
)
def test_candidate_that_raises_is_reported_in_one_line_with_its_place(tmp_path, old, new, message):
    assert old in SOURCE
    judgment = judge_file(request(tmp_path, SOURCE.replace(old, new, 1))).object
    assert judgment["verdict"] == "wrong"
    (finding,) = judgment["findings"]
    assert finding["rule"] == "raises"
    assert message in finding["message"]
    assert "\n" not in finding["message"]
    assert (finding["line"] is None) == ("missing" in message)
    assert judgment["cases"] == []


def test_failing_reference_is_unjudged_with_its_error(tmp_path):
    reference = REFERENCE.replace("torch.relu", "torch.relux")
    (finding,) = judge_file(request(tmp_path, reference=reference)).object["findings"]
    assert (finding["rule"], finding["severity"]) == ("reference", "unjudged")
    assert finding["message"].startswith("the reference fails on x=f32[")


def test_plainest_case_is_reported_for_failures_at_one_place(tmp_path):
    """The kernel ignores strides, and doubles small inputs, which is the plainer failure."""
    reads = "    x = x.contiguous()\n"
    assert reads in SOURCE
    source = SOURCE.replace(reads, "").replace(
        "x.numel(), BLOCK", "x.numel(), 1 + (x.numel() < 999), BLOCK"
    )
    source = source.replace("n, BLOCK: tl.constexpr", "n, factor, BLOCK: tl.constexpr")
    source = source.replace("tl.maximum(", "factor * tl.maximum(")
    findings = judge_file(replace(request(tmp_path, source), views=True)).object["findings"]
    (wrong,) = [finding for finding in findings if finding["rule"] == "wrong-result"]
    assert wrong["case"].startswith(("197 → ", "130 → "))
