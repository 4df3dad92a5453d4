"""NKI kernels in profiles and differences: peaks on chip, engines at published rates, no caches."""

from pathlib import Path

import numpy as np
import pytest

import kvtrace
from kvtrace.addons.neuron.views.chip_profile import shortest_ns
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


def test_engines_are_as_busy_as_published_rates_say(traces: list[Path]) -> None:
    profile = kvtrace.open(traces[0]).profile().data

    (chip,) = profile.sections["chips"]
    assert (chip.kernel, chip.target, chip.executed) == ("products", "trn2", 1 + 8 * 5)
    assert (chip.sbuf_peak_bytes, chip.sbuf_bytes) == (2048 + 512, 212_984)
    assert (chip.psum_peak_banks, chip.psum_banks) == (1, 8)
    engines = {share.engine: share for share in chip.engines}
    assert [*engines] == ["tensor", "scalar", "dma"]
    tensor, scalar, dma = engines.values()
    assert tensor.busy_ns == pytest.approx(1e9 * 2 * 128 * 128 * 4096 / 22.6e12)
    assert scalar.busy_ns == pytest.approx(1e9 * 128 * 4096 / 1.2e12)
    moved = 4 * (9 * 128 * 128 + 2 * 128 * 4096)
    assert dma.device_bytes == moved
    assert dma.busy_ns == pytest.approx(1e9 * moved / 362.5e9)
    assert dma.share == 1
    assert tensor.share == pytest.approx(tensor.busy_ns / dma.busy_ns)


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
    assert "GpSimd has none" in output


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


def test_hoisted_loads_are_an_improvement(traces: list[Path]) -> None:
    difference = kvtrace.diff(*map(str, traces)).data

    (kernel,) = difference.kernels
    figures = {figure.name: figure for figure in kernel.figures}
    ops = figures["executed ops"]
    assert (ops.before, ops.after, ops.worse) == (41, 33, "more")
    dma = figures["dma engine, least"]
    assert dma.after < dma.before
    busy = figures["tensor engine busy"]
    assert busy.after > busy.before
    rows = {row.what: row.direction for row in difference.headline}
    assert rows["bytes"] == rows["executed ops"] == rows["dma engine, least"] == "better"
    assert "worse" not in rows.values()


def test_only_published_rates_are_used() -> None:
    limits = limits_for_target("neuron:trn1")
    assert limits is not None

    assert shortest_ns("vector", "bf16", 2300, 0, 0, limits) == pytest.approx(1)
    assert shortest_ns("scalar", None, 1, 2900, 0, limits) == pytest.approx(1)
    assert shortest_ns("tensor", "bf16", 0, 95_000, 0, limits) == pytest.approx(1)
    assert shortest_ns("gpsimd", None, 1, 1, 0, limits) is None


def test_a_profile_omits_caches_that_the_chip_lacks(
    traces: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", str(traces[0]), "--full"]) == 0

    output = capsys.readouterr().out
    assert "Trainium" in output
    assert "reuse" in output
    assert "sector" not in output
    assert "warp" not in output
