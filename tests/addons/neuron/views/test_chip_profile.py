"""NKI kernels in profiles and differences: peaks on chip, engines at published rates, no caches."""

from pathlib import Path

import numpy as np
import pytest

import kvtrace
from kvtrace.addons.neuron.views.engine_times import least_ns
from kvtrace.cli import main
from kvtrace.converters.profile.device_limits import limits_for_target
from kvtrace.converters.profile.roofline import Work, position
from tests.addons.neuron.views.products import products


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The kernel as it loads in the loop, and as it loads before."""
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
    engines = {each.engine: each for each in chip.engines}
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
    told = capsys.readouterr().out
    assert "cache" not in told
    assert "2.50 KiB of 208 KiB" in told
    assert "none for GpSimd" in told


@pytest.mark.parametrize("asked", [8_000_000, None])
def test_work_on_a_device_without_caches_is_bound_by_memory_or_compute(asked: int | None) -> None:
    gpu, core = limits_for_target("cuda:90"), limits_for_target("neuron:trn2")
    assert gpu is not None
    assert core is not None
    work = Work(1_000_000, asked, {"bf16": 10**9}, {})

    bounds = [position(work, limits) for limits in (gpu, core)]

    assert [each is not None and each.bound for each in bounds][1] == (
        "memory" if asked else "compute"
    )
    assert gpu.has_caches
    assert not core.has_caches


def test_loads_out_of_a_loop_read_as_better(traces: list[Path]) -> None:
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

    assert least_ns("vector", "bf16", 2300, 0, 0, limits) == pytest.approx(1)
    assert least_ns("scalar", None, 1, 2900, 0, limits) == pytest.approx(1)
    assert least_ns("tensor", "bf16", 0, 95_000, 0, limits) == pytest.approx(1)
    assert least_ns("gpsimd", None, 1, 1, 0, limits) is None


def test_a_profile_says_nothing_of_what_the_chip_has_not(
    traces: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", str(traces[0]), "--full"]) == 0

    told = capsys.readouterr().out
    assert "Trainium" in told
    assert "reuse" in told
    assert "sector" not in told
    assert "warp" not in told
