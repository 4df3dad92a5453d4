"""`kvtrace.check_kernel`: one launch, judged on copies of its arguments."""

import pytest
import torch

import kvtrace
from kvtrace.addons.agents.kernel_check import CannotCheck
from tests.support.checked_kernels import double, double_past_the_end


def test_a_right_kernel_gives_its_results_and_figures():
    x, out = torch.randn(1000), torch.zeros(1000)

    checked = kvtrace.check_kernel(double, [x, out, 1000], (4,), BLOCK=256, device="H100 PCIe")

    assert checked.ok
    assert checked.defects == ()
    assert torch.equal(checked.results["out"], 2 * x)
    assert torch.equal(out, torch.zeros(1000))
    assert checked.written == ("out",)
    assert (checked.figures.unique_bytes, checked.figures.flops) == (8000, 1024)
    assert checked.figures.device == "H100 PCIe"
    assert checked.figures.best_ns == pytest.approx(8000 / 2000)
    assert checked.figures.bound == "memory"


def test_a_kernel_that_leaves_its_tensor_is_not_ok_and_shows_where():
    checked = kvtrace.check_kernel(
        double_past_the_end, [torch.randn(1000), torch.zeros(1000), 1000], (4,), BLOCK=256
    )

    assert not checked.ok
    assert [(d.rule, d.arg, d.line) for d in checked.defects] == [("out-of-bounds", "out", 16)]
    assert repr(checked).startswith("double_past_the_end: errors; writes out; ")
    assert "error[out-of-bounds]" in repr(checked)
    assert "out=fp32[1000]" in repr(checked)


def test_views_of_one_storage_stay_views_of_one():
    whole = torch.arange(2000.0)

    checked = kvtrace.check_kernel(double, [whole[:1000], whole[1000:], 1000], (4,), BLOCK=256)

    assert checked.written == ("out",)
    assert torch.equal(checked.results["out"], 2 * torch.arange(1000.0))


def test_rules_are_chosen_by_their_ids():
    checked = kvtrace.check_kernel(
        double_past_the_end, [torch.randn(1000), torch.zeros(1000), 1000], (4,), BLOCK=256,
        rules=["race"],
    )  # fmt: skip
    assert checked.ok


def test_check_during_a_recording_is_refused(tmp_path):
    with kvtrace.capture(tmp_path / "out"), pytest.raises(CannotCheck, match="has a recording"):
        kvtrace.check_kernel(double, [torch.zeros(4), torch.zeros(4), 4], (1,), BLOCK=4)


def test_object_that_launches_nothing_is_an_error():
    class Silent:
        def __getitem__(self, grid):
            return lambda *args, **meta: None

    with pytest.raises(CannotCheck, match="no launch was recorded"):
        kvtrace.check_kernel(Silent(), [torch.zeros(4)], (1,))
