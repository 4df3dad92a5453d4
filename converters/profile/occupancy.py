"""Occupancy of kernels: warps that fit on a multiprocessor at once, from the compiler's resources.

Limits by compute capability: CUDA C++ Programming Guide 12.9, table "Technical Specifications per
Compute Capability". Allocation: registers by warp in units of 256, warps in units of 4 (one for
each scheduler), shared memory in units of 128 bytes with 1 KiB kept by the system from 8.0 on, as
NVIDIA's occupancy calculator counts. Capabilities that are not listed give no figure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_REGISTERS: Final = 65_536
_REGISTER_UNIT: Final = 256
_WARP_UNIT: Final = 4
_SHARED_UNIT: Final = 128
_KIB: Final = 1024


@dataclass(frozen=True, slots=True)
class _Multiprocessor:
    warps: int
    blocks: int
    shared_bytes: int
    reserved_bytes: int


_LIMITS: Final = {
    70: _Multiprocessor(64, 32, 96 * _KIB, 0),
    75: _Multiprocessor(32, 16, 64 * _KIB, 0),
    80: _Multiprocessor(64, 32, 164 * _KIB, _KIB),
    86: _Multiprocessor(48, 16, 100 * _KIB, _KIB),
    87: _Multiprocessor(48, 16, 164 * _KIB, _KIB),
    89: _Multiprocessor(48, 24, 100 * _KIB, _KIB),
    90: _Multiprocessor(64, 32, 228 * _KIB, _KIB),
    100: _Multiprocessor(64, 32, 228 * _KIB, _KIB),
}


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Warps of a kernel that fit on a multiprocessor at once, of the `of` that it can hold.

    `limited_by` names the resource that limits them.
    """

    warps: int
    of: int
    limited_by: str

    @property
    def share(self) -> float:
        """Occupied share of a multiprocessor's warps, between 0 and 1."""
        return self.warps / self.of

    def blocks(self, warps: int) -> int:
        """Return how many blocks of `warps` warps run on a multiprocessor at once."""
        return self.warps // warps


def occupancy(
    target: str | None, warps: int | None, registers: int | None, shared_bytes: int | None
) -> Occupancy | None:
    """Return the occupancy of a kernel, or None if a figure or the device's limits are missing.

    `target` is as in the table `kernels` (cuda:90), `warps` are those of one block, `registers`
    those of one thread.
    """
    limits = _limits(target)
    if limits is None or not warps or registers is None or shared_bytes is None:
        return None
    shared_per_block = _rounded_up(shared_bytes + limits.reserved_bytes, _SHARED_UNIT)
    registers_per_warp = _rounded_up(registers * 32, _REGISTER_UNIT)
    blocks_by_resource = {
        "warps": limits.warps // warps,
        "blocks": limits.blocks,
        "registers": _REGISTERS // registers_per_warp // _WARP_UNIT * _WARP_UNIT // warps
        if registers_per_warp
        else limits.blocks,
        "shared memory": limits.shared_bytes // shared_per_block
        if shared_per_block
        else limits.blocks,
    }
    limited_by = min(blocks_by_resource, key=lambda what: blocks_by_resource[what])
    return Occupancy(blocks_by_resource[limited_by] * warps, limits.warps, limited_by)


def occupancy_of(kernel: Mapping[str, Any]) -> Occupancy | None:
    """Return the occupancy of a row of `kernels`, or None if a column is missing."""
    columns = ("target", "num_warps", "registers", "shared_bytes")
    return occupancy(*(kernel.get(name) for name in columns))


def _limits(target: str | None) -> _Multiprocessor | None:
    backend, _, capability = (target or "").partition(":")
    if backend != "cuda" or not capability.isdigit():
        return None
    return _LIMITS.get(int(capability))


def _rounded_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
