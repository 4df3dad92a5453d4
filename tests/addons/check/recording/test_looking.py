"""What is found in every launch's outputs: NaNs, infinities and digests; and what is kept of it."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import kvtrace
from kvtrace.addons.check.first_bad import first_bad
from kvtrace.addons.check.kept import checked_launches
from kvtrace.addons.check.recording import outputs
from kvtrace.addons.check.recording.host_kernels import digest
from kvtrace.backends.compiled_kernels.around import around_launches
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from tests.backends.compiled_kernels import output_kernels as kernels
from tests.backends.compiled_kernels.output_kernels import launched

COUNT = 1000


def rows(out, table):
    trace = open_trace(out)
    assert validate(out) == []
    for row in plain_rows(trace.table("messages")):
        assert row["code"] not in ("capture-failure", "check-failed"), row["text"]
    return plain_rows(trace.table(table))


def flags(out):
    """Which launches have which flags: (seq, argument, when) → (a NaN, an infinity)."""
    found = rows(out, "non_finite")
    return {(r["seq"], r["arg"], r["when"]): (r["nan"], r["infinity"]) for r in found}


def memory(out, dtype=np.float32):
    """What was kept: (seq, argument, when) → numbers."""
    trace = open_trace(out)
    return {
        (row["seq"], row["arg"], row["when"]): np.frombuffer(trace.artifact(row["artifact"]), dtype)
        for row in plain_rows(trace.table("checked_memory"))
    }


def numbers(*first, count=COUNT, dtype=torch.float32):
    x = torch.ones(count, dtype=dtype)
    x[: len(first)] = torch.tensor(first, dtype=dtype)
    return x


class TestFinite:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
    def test_only_launches_with_nan_or_infinite_outputs_are_reported(self, tmp_path, dtype):
        out = torch.zeros(COUNT, dtype=dtype)
        with kvtrace.capture(tmp_path, check="finite"):
            for first in ((), (float("inf"),), (float("nan"), float("-inf")), ()):
                launched(kernels.doubled, numbers(*first, dtype=dtype), out)
        assert flags(tmp_path) == {(1, 1, "after"): (False, True), (2, 1, "after"): (True, True)}
        assert rows(tmp_path, "checked_launches") == []  # their inputs had some

    def test_first_launch_that_makes_a_nan_is_recorded_with_its_inputs(self, tmp_path):
        good, bad = numbers(), numbers(4.0, -1.0)
        out = torch.zeros(COUNT)
        with kvtrace.capture(tmp_path, check="finite"):
            launched(kernels.logarithms, good, out)
            launched(kernels.logarithms, bad, out)
            launched(kernels.doubled, out, good)
            launched(kernels.logarithms, numbers(-3.0), out)
        assert set(flags(tmp_path)) == {(1, 1, "after"), (2, 1, "after"), (3, 1, "after")}
        (kept,) = rows(tmp_path, "checked_launches")
        assert (kept["seq"], kept["why"], kept["programs"]) == (1, "finite", None)
        held = memory(tmp_path)
        assert set(held) == {(1, 0, "before"), (1, 1, "after")}
        assert held[1, 0, "before"].tolist() == [4.0, -1.0] + [1.0] * (COUNT - 2)
        assert np.isnan(held[1, 1, "after"]).nonzero()[0].tolist() == [1]
        assert kept["bytes"] == 8 * COUNT

    def test_launches_skipped_by_sampling_are_counted_in_messages(self, tmp_path):
        out, other, bad = torch.zeros(COUNT), torch.zeros(COUNT), numbers(float("nan"))
        with kvtrace.capture(tmp_path, check="finite:3,digest:2"):
            for _ in range(7):
                launched(kernels.doubled, bad, out)
            launched(kernels.logarithms, numbers(-1.0), other)
        assert {seq for seq, _, _ in flags(tmp_path)} == {0, 3, 6, 7}
        assert {row["seq"] for row in rows(tmp_path, "digests")} == {0, 2, 4, 6, 7}
        assert [row["seq"] for row in rows(tmp_path, "checked_launches")] == [7]
        said = {}
        for row in rows(tmp_path, "messages"):
            if row["code"] == "check-sampled":
                said[row["text"]] = said.get(row["text"], 0) + row["count"]
        (judged,) = (count for text, count in said.items() if "not checked" in text)
        (digested,) = (count for text, count in said.items() if "no digests" in text)
        assert (judged, digested) == (4, 3)

    def test_tensors_of_other_sizes_at_the_same_address_are_distinguished(self, tmp_path):
        x, out = torch.ones(64, 32), torch.zeros(64 * 32)
        x[9, 3] = float("nan")
        with kvtrace.capture(tmp_path, check="finite"):
            for _ in range(2):
                launched(kernels.doubled, x[:5].flatten(), out[:160])
                launched(kernels.doubled, x.view(-1), out)
                out.zero_()
        assert set(flags(tmp_path)) == {(1, 1, "after"), (3, 1, "after")}

    def test_launches_that_make_infinities_are_recorded_separately_from_nans(self, tmp_path):
        out = torch.zeros(COUNT)
        with kvtrace.capture(tmp_path, check="finite"):
            launched(kernels.logarithms, numbers(0.0), out)
            launched(kernels.logarithms, numbers(-1.0), out)
            launched(kernels.doubled, numbers(float("-inf")), out)
        assert [row["seq"] for row in rows(tmp_path, "checked_launches")] == [0, 1]

    def test_nan_from_infinities_is_an_origin_but_infinity_from_nan_is_not(self, tmp_path):
        x = numbers(float("inf"))
        with kvtrace.capture(tmp_path, check="finite"):
            launched(kernels.inverted, x)
        (kept,) = rows(tmp_path, "checked_launches")
        assert kept["seq"] == 0
        assert flags(tmp_path) == {
            (0, 0, "after"): (True, False),
            (0, 0, "before"): (False, True),
        }

    def test_tensor_changed_in_place_is_recorded_from_before_the_launch(self, tmp_path):
        x = numbers(3.0, 0.0)
        with kvtrace.capture(tmp_path, check="finite"):
            launched(kernels.inverted, x)
        assert x[1].isnan()
        assert memory(tmp_path)[0, 0, "before"][:3].tolist() == [3.0, 0.0, 1.0]

    def test_large_tensor_changed_in_place_is_left_out_with_a_message(self, tmp_path):
        x = numbers(0.0, count=(1 << 18) + 1)
        with kvtrace.capture(tmp_path, check="finite"):
            launched(kernels.inverted, x)
        assert flags(tmp_path) == {(0, 0, "after"): (True, False)}
        assert [row["seq"] for row in rows(tmp_path, "checked_launches")] == [0]
        assert set(memory(tmp_path)) == {(0, 0, "after")}
        codes = {row["code"] for row in rows(tmp_path, "messages")}
        assert "check-in-place" in codes

    def test_only_the_first_launches_that_make_a_nan_are_recorded(self, tmp_path, monkeypatch):
        monkeypatch.setattr(outputs, "MOST_KEPT", 1)
        with kvtrace.capture(tmp_path, check="finite"):
            launched(kernels.logarithms, numbers(-1.0), torch.zeros(COUNT))
            launched(kernels.inverted, numbers(0.0))
        assert [row["seq"] for row in rows(tmp_path, "checked_launches")] == [0]
        assert len(flags(tmp_path)) == 2

    def test_launch_beyond_the_byte_budget_is_flagged_but_not_recorded(self, tmp_path):
        with kvtrace.capture(tmp_path, check="finite", check_bytes=7999):
            launched(kernels.logarithms, numbers(-1.0), torch.zeros(COUNT))
        assert rows(tmp_path, "checked_launches") == []
        assert len(flags(tmp_path)) == 1

    def test_settings_finite_digest_first_and_contents_can_be_combined(self, tmp_path):
        with kvtrace.capture(tmp_path, check="finite,digest,first", tensors="all"):
            launched(kernels.logarithms, numbers(-1.0), torch.zeros(COUNT))
        whys = sorted(row["why"] for row in rows(tmp_path, "checked_launches"))
        assert whys == ["finite", "first"]
        assert len(rows(tmp_path, "contents")) == 2
        assert len(rows(tmp_path, "digests")) == 2


def digests(out):
    return {
        (row["seq"], row["arg"], row["when"]): (row["digest"] % (1 << 64), row["lines"])
        for row in rows(out, "digests")
    }


def of(tensor, lines=1):
    return digest(tensor.numpy().view(np.uint8), lines, tensor.data_ptr()), lines


class TestDigest:
    def test_outputs_after_and_inputs_before_every_launch(self, tmp_path):
        x, out = numbers(3.0), torch.zeros(COUNT)
        wanted = {}
        with kvtrace.capture(tmp_path, check="digest"):
            for seq in range(3):
                x[seq] = seq + 5
                launched(kernels.doubled, x, out)
                wanted |= {(seq, 0, "before"): of(x), (seq, 1, "after"): of(out)}
        assert digests(tmp_path) == wanted
        assert len({digest for digest, _ in wanted.values()}) == 6

    def test_a_tensor_changed_in_place_has_digests_before_and_after(self, tmp_path):
        x = torch.arange(1, COUNT + 1) / 3
        before = of(x)
        with kvtrace.capture(tmp_path, check="digest"):
            launched(kernels.inverted, x)
        assert digests(tmp_path) == {(0, 0, "before"): before, (0, 0, "after"): of(x)}

    def test_large_inputs_are_sampled_and_outputs_are_not(self, tmp_path):
        count = (1 << 18) + 64
        x, out = torch.randn(count), torch.zeros(count)
        with kvtrace.capture(tmp_path, check="digest"):
            launched(kernels.doubled, x, out)
        assert digests(tmp_path) == {(0, 0, "before"): of(x, 16), (0, 1, "after"): of(out)}

    def test_views_of_one_storage_have_one_digest(self, tmp_path):
        both = torch.arange(2 * COUNT, dtype=torch.float32)
        with kvtrace.capture(tmp_path, check="digest"):
            before = of(both)
            launched(kernels.doubled, both[:COUNT], both[COUNT:])
        assert digests(tmp_path) == {(0, 0, "before"): before, (0, 0, "after"): of(both)}


def test_tensors_behind_descriptors_are_examined(tmp_path):
    rows_of, roots = torch.ones(64, 32), torch.zeros(64, 32)
    rows_of[40, 3] = -1.0
    with kvtrace.capture(tmp_path, check="finite,digest"):
        kernels.root_of_rows[(2,)](
            TensorDescriptor.from_tensor(rows_of, [32, 32]),
            TensorDescriptor.from_tensor(roots, [32, 32]),
            BLOCK=32,
        )
    assert roots[40, 3].isnan()
    told = [(row["arg"], row["when"]) for row in rows(tmp_path, "digests")]
    places = {arg for arg, _ in told}
    assert told == [(min(places), "before"), (max(places), "after")]
    assert flags(tmp_path) == {(0, max(places), "after"): (True, False)}
    assert [row["seq"] for row in rows(tmp_path, "checked_launches")] == [0]
    (run,) = open_trace(tmp_path).runs
    (found,) = map(first_bad, checked_launches(open_trace(tmp_path), run))
    assert (found.program, found.lane) == (1, (8, 3))


@triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.log(tl.load(x + lanes, mask=lanes < n)), mask=lanes < n)


def test_trial_launches_of_autotuners_are_not_examined(tmp_path):
    x, out = numbers(-1.0), torch.zeros(COUNT)
    with kvtrace.capture(tmp_path, check="finite,digest"):
        tuned[lambda meta: (triton.cdiv(COUNT, meta["BLOCK"]),)](x, out, COUNT)
    launches = rows(tmp_path, "launches")
    runs = {row["seq"] for row in launches if row["phase"] == "run"}
    assert {seq for seq, _, _ in flags(tmp_path)} == runs
    assert {seq for seq, _, _ in digests(tmp_path)} == runs


def test_only_recorded_kernels_are_examined(tmp_path):
    with kvtrace.capture(tmp_path, check="finite,digest", kernels="doubled"):
        launched(kernels.logarithms, numbers(-1.0), torch.zeros(COUNT))
        launched(kernels.doubled, numbers(float("nan")), torch.zeros(COUNT))
    assert set(flags(tmp_path)) == {(0, 1, "after")}


def test_error_in_an_examination_does_not_reach_the_program(tmp_path, monkeypatch):
    def broken(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr("kvtrace.addons.check.recording.outputs.Outputs._search_outputs", broken)
    out = torch.zeros(COUNT)
    with kvtrace.capture(tmp_path, check="finite"):
        launched(kernels.doubled, numbers(2.0), out)
        launched(kernels.doubled, numbers(2.0), out)
    assert out[:2].tolist() == [4.0, 2.0]
    trace = open_trace(tmp_path)
    assert trace.table("launches").num_rows == 2
    assert any("broken" in row["text"] for row in plain_rows(trace.table("messages")))


def test_without_the_setting_nothing_is_loaded(tmp_path):
    with kvtrace.capture(tmp_path) as session:
        launched(kernels.doubled, numbers(), torch.zeros(COUNT))
    assert not around_launches(session)
    assert rows(tmp_path, "digests") == rows(tmp_path, "non_finite") == []
