"""Rooflines against arithmetic done by hand, and limits found by the names that drivers give."""

import pytest

from kvtrace.converters.profile.device_limits import (
    Work,
    chosen_device,
    joined,
    known_devices,
    limits_for_target,
    limits_of,
    position,
)
from kvtrace.schema.errors import BadSetting

H200 = limits_of("NVIDIA H200")


@pytest.mark.parametrize(
    ("reported", "name"),
    [
        ("NVIDIA H200", "H200 SXM"),
        ("NVIDIA H200 NVL", "H200 NVL"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM 80GB"),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB"),
        ("NVIDIA A100-PCIE-40GB", "A100 40GB"),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA B200", "B200"),
        ("AMD Instinct MI250X/MI250", "MI250X, one of its two dies"),
        ("AMD Instinct MI300X", "MI300X"),
        ("AMD Instinct MI325X", "MI325X"),
        ("AMD Instinct MI355X", "MI355X"),
        ("AMD Radeon RX 7900 XTX", "RX 7900 XTX"),
        ("Tesla T4", "T4"),
    ],
)
def test_devices_are_found_by_the_names_that_drivers_give(reported, name):
    found = limits_of(reported)
    assert found is not None
    assert found.name == name
    assert found.source


@pytest.mark.parametrize(
    "reported",
    ["NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA A10G", ""],
)
def test_unknown_devices_do_not_match_similar_known_devices(reported):
    assert limits_of(reported) is None


def test_every_known_device_has_complete_and_plausible_limits():
    assert len({known.name for known in known_devices()}) == len(known_devices())
    for known in known_devices():
        assert 0.2e12 < known.bandwidth < 10e12
        # A core of an add-on's may have small vector engines, and tf32 at the rate of 16-bit floats
        assert known.vector["f32"] > (5e12 if known.has_caches else 0.5e12)
        half = known.matrix["f16"]
        assert half >= (2 if known.has_caches else 1) * known.matrix.get("tf32", 0) * 0.98
        assert known.matrix.get("f8", half) >= half


def test_requested_device_takes_precedence_over_the_recorded_one_and_the_target():
    assert chosen_device("h100 pcie", ["NVIDIA H200"], ["cuda:90"]).how == "given"
    recorded = chosen_device(None, ["NVIDIA H200"], ["cuda:80"])
    assert (recorded.how, recorded.limits.name) == ("recorded", "H200 SXM")
    assumed = chosen_device(None, [], ["cuda:80"])
    assert (assumed.how, assumed.limits.name) == ("assumed", "A100 SXM 80GB")
    assert chosen_device(None, ["Some FPGA"], ["cuda:80"]) is None
    assert chosen_device(None, [], ["cuda:999"]) is None
    assert limits_for_target("hip:gfx942").name == "MI300X"


def test_unknown_device_raises_an_error_that_lists_known_devices():
    with pytest.raises(BadSetting, match=r"'Voodoo2' are not known; known devices: .*H200 SXM"):
        chosen_device("Voodoo2", (), ())


def test_a_copy_is_bound_by_memory():
    place = position(Work(9_600_000, 9_600_000, {}, {}), H200)
    assert place.best_ns == pytest.approx(2000)  # 9.6 MB at 4.8 TB/s
    assert (place.bound, place.compute_ns) == ("memory", 0)


def test_large_matmul_is_compute_bound_and_cache_bound_with_more_traffic():
    flops = {"bf16": 2 * 4096**3}
    whole = 3 * 4096 * 4096 * 2
    place = position(Work(whole, 6 * whole, flops, {}), H200)
    assert place.memory_ns == pytest.approx(20_972, rel=1e-4)  # 100.7 MB at 4.8 TB/s
    assert place.compute_ns == pytest.approx(138_897, rel=1e-4)  # 137.4 GFLOP at 989.5 TFLOP/s
    assert place.best_ns == place.compute_ns
    assert place.bound == "compute"
    assert position(Work(whole, 7 * whole, flops, {}), H200).bound == "caches"
    assert position(Work(whole, None, flops, {}), H200).bound == "caches"


def test_each_type_has_its_own_peak_rate():
    def rate(dtype, device=H200):
        return device.dot_rate(dtype) / 1e12

    assert rate("tf32") == 494.5
    assert rate("tf32x3") == pytest.approx(494.5 / 3)
    assert rate("bf16x6") == pytest.approx(989.5 / 6)
    assert rate("f8E4M3FN") == 1979
    assert rate("f4E2M1FN") == 989.5  # widened
    assert rate("f32") == 67  # no matrix unit for it
    assert rate("f8E5M2", limits_of("A100")) == 312  # widened
    assert rate("f32", limits_of("MI300X")) == 163.4
    assert H200.dot_rate("i4") is None
    # Ops of tensor graphs, and of add-ons, name types as arguments do
    assert H200.dot_rate("fp32") == H200.dot_rate("f32")
    assert H200.dot_rate("fp8e4nv") == H200.dot_rate("f8E4M3FN")
    assert H200.vector_rate("bf16") == 134e12
    assert H200.vector_rate("f8E5M2") == H200.vector_rate(None) == 67e12


def test_dots_and_other_ops_can_overlap():
    place = position(Work(0, 0, {"bf16": 989_500_000}, {"f32": 134_000_000}), H200)
    assert place.compute_ns == pytest.approx(2000)  # the vector units take longer


def test_roofline_times_of_launches_and_calls_are_summed():
    one = position(Work(4_800_000, 4_800_000, {}, {}), H200, launches=3)
    other = position(Work(0, 0, {"bf16": 989_500_000}, {}), H200)
    both = joined([one, other])
    assert both.best_ns == pytest.approx(3000 + 1000)
    assert both.bound == "memory"
    assert joined([one, None]) is None
    assert joined([]) is None


def test_unknown_bytes_or_rates_have_no_roofline_position():
    assert position(Work(None, None, {}, {}), H200) is None
    assert position(Work(1, 1, {"i4": 1}, {}), H200) is None
