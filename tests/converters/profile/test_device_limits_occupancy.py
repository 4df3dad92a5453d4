"""Occupancy against figures worked out by hand from the limits of the guide."""

import pytest

from kvtrace.converters.profile.device_limits import Occupancy, occupancy


@pytest.mark.parametrize(
    ("target", "warps", "registers", "shared", "expected"),
    [
        ("cuda:90", 4, 32, 0, Occupancy(64, 64, "warps")),
        # 128 registers: 4,096 a warp, 16 warps fit
        ("cuda:90", 4, 128, 0, Occupancy(16, 64, "registers")),
        # 100 KiB and 1 KiB kept: two blocks in 228 KiB
        ("cuda:90", 8, 32, 100 * 1024, Occupancy(16, 64, "shared memory")),
        # 82 KiB and 1 KiB kept: one block in 164 KiB
        ("cuda:80", 8, 32, 82 * 1024, Occupancy(8, 64, "shared memory")),
        ("cuda:80", 1, 16, 0, Occupancy(32, 64, "blocks")),
        ("cuda:86", 4, 40, 0, Occupancy(48, 48, "warps")),
    ],
)
def test_occupancy_follows_from_warps_registers_and_shared_memory(
    target: str, warps: int, registers: int, shared: int, expected: Occupancy
) -> None:
    assert occupancy(target, warps, registers, shared) == expected


def test_occupancy_is_unknown_without_limits_or_registers() -> None:
    assert occupancy("hip:gfx942", 4, 32, 0) is None
    assert occupancy("cuda:61", 4, 32, 0) is None
    assert occupancy("cuda:90", 4, None, 0) is None
    assert occupancy(None, 4, 32, 0) is None
