"""CUPTI is left to torch's profiler, and comes back: with the real profiler, on the CPU."""

import contextlib
import os
import time
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, schedule

from kvtrace.backends.cupti import library
from kvtrace.backends.cupti.library import CuptiUnavailable


def raise_it(error: Exception) -> None:
    raise error


@pytest.fixture
def cupti_loan() -> "tuple[library.CuptiLoan, list[str]]":
    left: list[str] = []
    made = library.CuptiLoan(lambda: left.append("left"), raise_it, "/lib/libcupti.so.13")
    yield made, left
    made.end()


def test_cupti_is_lent_while_the_profiler_runs(
    cupti_loan: "tuple[library.CuptiLoan, list[str]]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "_RETURN_AFTER", 0.05)
    one, left = cupti_loan
    assert not one.lent
    with profile(activities=[ProfilerActivity.CPU]):
        torch.ones(3).sum()
        assert one.lent
        assert not one.over()
    assert left == ["left"]
    time.sleep(0.1)
    assert one.over()
    assert not one.lent


def test_cupti_is_lent_from_the_profilers_preparation_on(
    cupti_loan: "tuple[library.CuptiLoan, list[str]]",
) -> None:
    one, left = cupti_loan
    with profile(
        activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=1)
    ) as p:
        assert not one.lent
        p.step()
        assert one.lent
        p.step()
        p.step()
    assert left == ["left"]


def test_torchs_functions_are_restored_at_the_end() -> None:
    before = torch.autograd.profiler._prepare_profiler
    one = library.CuptiLoan(lambda: None, raise_it, "/lib/libcupti.so.13")
    assert torch.autograd.profiler._prepare_profiler is not before
    one.end()
    assert torch.autograd.profiler._prepare_profiler is before


def test_cupti_stays_with_a_profiler_loaded_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NSYS_PROFILING_SESSION_ID", "1")
    with pytest.raises(CuptiUnavailable, match="another profiler uses CUPTI"):
        library.CuptiLoan(lambda: None, raise_it, "/lib/libcupti.so.13")


def test_proton_gets_the_copy_of_cupti_that_was_used(
    cupti_loan: "tuple[library.CuptiLoan, list[str]]", monkeypatch: pytest.MonkeyPatch
) -> None:
    native = pytest.importorskip("triton._C.libproton").proton
    monkeypatch.setenv("TRITON_CUPTI_LIB_PATH", "")  # is taken back behind the test
    one, left = cupti_loan
    with contextlib.suppress(RuntimeError):  # there is no GPU, perhaps: it was asked first
        native.start("nothing", "shadow", "tree", "cupti", "")
    assert left == ["left"]
    assert one.lent
    link = Path(os.environ["TRITON_CUPTI_LIB_PATH"]) / "libcupti.so"
    assert link.readlink() == Path("/lib/libcupti.so.13")
    one.end()
    assert not link.parent.exists()
