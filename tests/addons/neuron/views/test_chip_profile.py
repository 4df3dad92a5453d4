"""NKI kernels in profiles and differences: peaks on chip, engines at published rates, no caches."""

from pathlib import Path

import numpy as np
import pytest

import kvtrace
from kvtrace.cli import main
from kvtrace.converters.profile.device_limits import Work, limits_for_target, position
from tests.addons.neuron.views.products import products


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Traces of a kernel that loads a tile inside of a loop, and of one that loads it before."""
    folders = []
    for hoist in (False, True):
        folder = tmp_path_factory.mktemp("chip") / "out"
        with kvtrace.capture(folder):
            products(np.ones((128, 128), np.float32), np.ones((128, 4096), np.float32), hoist)
        folders.append(folder)
    return folders


def test_a_device_without_caches_loads_each_byte_again(
    traces: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (kernel,) = kvtrace.open(traces[0]).profile().data.kernels
    assert kernel.roofline is not None
    assert kernel.roofline.bound == "memory"
    assert kernel.roofline.best_ns == kernel.roofline.uncached_ns
    assert kernel.roofline.best_ns == pytest.approx(1e9 * kernel.derived.bytes / 362.5e9)

    assert main(["profile", str(traces[0])]) == 0
    output = capsys.readouterr().out
    assert "cache" not in output
    assert "2.50 KiB of 208 KiB" in output


@pytest.mark.parametrize("requested", [8_000_000, None])
def test_work_on_a_device_without_caches_is_bound_by_memory_or_compute(
    requested: int | None,
) -> None:
    gpu, core = limits_for_target("cuda:90"), limits_for_target("neuron:trn2")
    assert gpu is not None
    assert core is not None
    work = Work(1_000_000, requested, {"bf16": 10**9}, {})

    bounds = [position(work, limits) for limits in (gpu, core)]

    assert [bound is not None and bound.bound for bound in bounds][1] == (
        "memory" if requested else "compute"
    )
    assert gpu.has_caches
    assert not core.has_caches


def test_a_profile_omits_caches_that_the_chip_lacks(
    traces: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", str(traces[0]), "--full"]) == 0

    output = capsys.readouterr().out
    assert "Trainium" in output
    assert "reuse" in output
    assert "sector" not in output
    assert "warp" not in output
