"""Peak rates of devices, from the makers' data sheets; occupancy of kernels, roofline of calls.

All rates are dense (no structured sparsity: sheets that give only sparse figures are halved) and at
boost clock. A device partition (MIG) has no entry, since its share depends on the profile.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from kvtrace import registry
from kvtrace.schema.errors import BadSetting

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run

TERA: Final = 1e12


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """Peak rates of one device: bytes per second, and operations per second by element type.

    `words` must all occur in the name that a driver reports. `matrix` holds the rates of dots
    (tensor or matrix cores), `vector` those of all other ops; types are f64, f32, tf32, f16, bf16,
    f8, f4 and i8. `source` names the data sheet. `has_caches` is false for devices whose memory
    serves every request. `targets` are compile targets that this device is assumed
    for where no device is recorded.
    """

    name: str
    words: tuple[str, ...]
    bandwidth: float
    matrix: Mapping[str, float] = field(hash=False)
    vector: Mapping[str, float] = field(hash=False)
    source: str
    has_caches: bool = True
    targets: tuple[str, ...] = ()

    @property
    def multiprocessors(self) -> int | None:
        """The number of multiprocessors (compute units), or None if unknown."""
        return _MULTIPROCESSORS.get(self.name)

    def dot_rate(self, dtype: str) -> float | None:
        """Return operations per second of dots with factors of an element type, or None if unknown.

        `dtype` is MLIR's name, or an argument's type (fp32). Narrow types without a unit on the
        device have the rate of 16-bit floats, which compilers widen them to, and tf32 that of
        float32. For `tf32x3` and similar types the rate is divided by the number of products.
        """
        name, _, products = _in_mlir(dtype).partition("x")
        kind = _NARROW.get(name[:2], name)
        rate = self.matrix.get(kind)
        if rate is None and kind in ("f8", "f4"):
            rate = self.matrix.get("f16")
        if rate is None and kind == "tf32":
            rate = self.matrix.get("f32", self.vector.get("f32"))
        if rate is None:
            rate = self.vector.get(kind)
        return None if rate is None else rate / int(products or 1)

    def vector_rate(self, dtype: str | None) -> float | None:
        """Return operations per second of elementwise ops, reductions and scans; None if unknown.

        Types without a rate, and None, have that of float32.
        """
        return self.vector.get(_in_mlir(dtype or "f32"), self.vector.get("f32"))


def _in_mlir(dtype: str) -> str:
    """Return MLIR's name of an element type, such as f32 for fp32."""
    return f"f{dtype[2:]}" if dtype.startswith("fp") else dtype


#: Types of 8 bits and less by the start of their name; 6-bit types have the rate of 8 bits.
_NARROW: Final = {"f8": "f8", "f6": "f8", "f4": "f4"}

#: Words in a driver's name that make it a different device from the known one.
_OTHER_MODEL: Final = frozenset({"mig", "laptop", "mobile", "ti", "d", "max", "super"})


def rates(**teras: float) -> dict[str, float]:
    """Return operations per second by element type, from tera-operations per second."""
    return {name: tera * TERA for name, tera in teras.items()}


def _device(
    name: str,
    words: str,
    gigabytes: float,
    source: str,
    matrix: Mapping[str, float],
    vector: Mapping[str, float],
    targets: tuple[str, ...] = (),
) -> DeviceLimits:
    return DeviceLimits(
        name, tuple(words.split()), gigabytes * 1e9, matrix, vector, source, targets=targets
    )


_A100: Final = (
    rates(f64=19.5, tf32=156, f16=312, bf16=312, i8=624),
    rates(f64=9.7, f32=19.5, f16=78, bf16=39),
)
_H100: Final = (
    rates(f64=67, tf32=494.5, f16=989.5, bf16=989.5, f8=1979, i8=1979),
    rates(f64=34, f32=67, f16=134, bf16=134),
)
_H100_NVL: Final = (
    rates(f64=60, tf32=417.5, f16=835.5, bf16=835.5, f8=1670.5, i8=1670.5),
    rates(f64=30, f32=60, f16=120, bf16=120),
)
_MI300: Final = (
    rates(f64=163.4, f32=163.4, tf32=653.7, f16=1307.4, bf16=1307.4, f8=2614.9, i8=2614.9),
    rates(f64=81.7, f32=163.4, f16=326.8, bf16=163.4),
)

_GPUS: Final[tuple[DeviceLimits, ...]] = (
    _device("V100 SXM2", "v100", 900, "NVIDIA V100 data sheet",
            rates(f16=125), rates(f64=7.8, f32=15.7, f16=31.4), targets=("cuda:70",)),
    _device("T4", "t4", 320, "NVIDIA T4 data sheet",
            rates(f16=65, i8=130), rates(f32=8.1, f16=16.2), targets=("cuda:75",)),
    _device("A100 SXM 80GB", "a100", 2039, "NVIDIA A100 data sheet", *_A100, targets=("cuda:80",)),
    _device("A100 PCIe 80GB", "a100 80gb pcie", 1935, "NVIDIA A100 data sheet", *_A100),
    _device("A100 40GB", "a100 40gb", 1555, "NVIDIA A100 data sheet", *_A100),
    _device("A10", "a10", 600, "NVIDIA A10 data sheet",
            rates(tf32=62.5, f16=125, bf16=125, i8=250), rates(f32=31.2), targets=("cuda:86",)),
    _device("A40", "a40", 696, "NVIDIA A40 data sheet",
            rates(tf32=74.8, f16=149.7, bf16=149.7, i8=299.3), rates(f32=37.4)),
    _device("RTX 3090", "rtx 3090", 936, "NVIDIA Ampere GA102 white paper",
            rates(tf32=35.6, f16=71, bf16=71, i8=284), rates(f32=35.6)),
    _device("L4", "l4", 300, "NVIDIA L4 data sheet",
            rates(tf32=60, f16=121, bf16=121, f8=242.5, i8=242.5), rates(f32=30.3)),
    _device("L40", "l40", 864, "NVIDIA L40 data sheet",
            rates(tf32=90.5, f16=181.05, bf16=181.05, f8=362, i8=362), rates(f32=90.5)),
    _device("L40S", "l40s", 864, "NVIDIA L40S data sheet",
            rates(tf32=183, f16=362.05, bf16=362.05, f8=733, i8=733), rates(f32=91.6),
            targets=("cuda:89",)),
    _device("RTX 4090", "rtx 4090", 1008, "NVIDIA Ada white paper (float32 sums)",
            rates(tf32=82.6, f16=165.2, bf16=165.2, f8=330.3, i8=660.6), rates(f32=82.6)),
    _device("H100 SXM", "h100", 3350, "NVIDIA H100 data sheet", *_H100, targets=("cuda:90",)),
    _device("H100 PCIe", "h100 pcie", 2000, "NVIDIA H100 data sheet",
            rates(f64=51, tf32=378, f16=756.5, bf16=756.5, f8=1513, i8=1513),
            rates(f64=26, f32=51, f16=102, bf16=102)),
    _device("H100 NVL", "h100 nvl", 3900, "NVIDIA H100 data sheet", *_H100_NVL),
    _device("GH200 96GB", "gh200", 4000, "NVIDIA GH200 data sheet", *_H100),
    _device("H200 SXM", "h200", 4800, "NVIDIA H200 data sheet", *_H100),
    _device("H200 NVL", "h200 nvl", 4800, "NVIDIA H200 data sheet", *_H100_NVL),
    _device("B200", "b200", 8000, "NVIDIA Blackwell technical brief (HGX B200)",
            rates(f64=40, tf32=1100, f16=2250, bf16=2250, f8=4500, f4=9000, i8=4500),
            rates(f64=40, f32=80, f16=160, bf16=160), targets=("cuda:100",)),
    _device("GB200", "gb200", 8000, "NVIDIA Blackwell technical brief (GB200)",
            rates(f64=45, tf32=1250, f16=2500, bf16=2500, f8=5000, f4=10000, i8=5000),
            rates(f64=45, f32=90, f16=180, bf16=180)),
    _device("RTX 5090", "rtx 5090", 1792, "NVIDIA RTX Blackwell white paper (float32 sums)",
            rates(tf32=104.8, f16=209.5, bf16=209.5, f8=419, f4=1676, i8=838),
            rates(f32=104.8), targets=("cuda:120",)),
    _device("MI250X, one of its two dies", "mi250x", 1638, "AMD Instinct MI250X data sheet, halved",
            rates(f64=47.85, f32=47.85, f16=191.5, bf16=191.5, i8=191.5),
            rates(f64=23.95, f32=23.95, f16=47.9), targets=("hip:gfx90a",)),
    _device("MI300X", "mi300x", 5300, "AMD Instinct MI300X data sheet", *_MI300,
            targets=("hip:gfx942",)),
    _device("MI325X", "mi325x", 6000, "AMD Instinct MI325X data sheet", *_MI300),
    _device("MI350X", "mi350x", 8000, "AMD Instinct MI350X data sheet",
            rates(f64=72.1, f32=144.2, f16=2306.9, bf16=2306.9, f8=4613.7, f4=9227.5, i8=4613.7),
            rates(f64=72.1, f32=144.2, f16=144.2)),
    _device("MI355X", "mi355x", 8000, "AMD Instinct MI355X data sheet",
            rates(f64=78.6, f32=157.3, f16=2516.6, bf16=2516.6, f8=5033.2, f4=10066.3, i8=5033.2),
            rates(f64=78.6, f32=157.3, f16=157.3), targets=("hip:gfx950",)),
    _device("RX 7900 XTX", "7900 xtx", 960, "AMD Radeon RX 7900 XTX product page, RDNA 3 (WMMA)",
            rates(f16=122.8, bf16=122.8, i8=122.8), rates(f32=61.4, f16=122.8),
            targets=("hip:gfx1100",)),
)  # fmt: skip

#: Multiprocessors (compute units) from the same sheets, which list cores: 64 or 128 in each.
_MULTIPROCESSORS: Final = {
    "V100 SXM2": 80, "T4": 40, "A100 SXM 80GB": 108, "A100 PCIe 80GB": 108, "A100 40GB": 108,
    "A10": 72, "A40": 84, "RTX 3090": 82, "L4": 58, "L40": 142, "L40S": 142, "RTX 4090": 128,
    "H100 SXM": 132, "H100 PCIe": 114, "H100 NVL": 132, "GH200 96GB": 132, "H200 SXM": 132,
    "H200 NVL": 132, "B200": 148, "RTX 5090": 170, "MI250X, one of its two dies": 110,
    "MI300X": 304, "MI325X": 304, "MI350X": 256, "MI355X": 256, "RX 7900 XTX": 96,
}  # fmt: skip


@cache
def known_devices() -> tuple[DeviceLimits, ...]:
    """Return every device with published limits: GPUs, then add-ons' (entry points `devices`)."""
    return (*_GPUS, *(limits for _, devices in registry.loaded("devices") for limits in devices))


def limits_of(device: str) -> DeviceLimits | None:
    """Return the limits of a device by its driver's name, or a part of it such as "H100 PCIe".

    The device with most matching words is chosen; None if no device matches.
    """
    words = set(re.findall(r"[a-z0-9]+", device.lower()))
    if words & _OTHER_MODEL:
        return None
    matching_limits = [limits for limits in known_devices() if words.issuperset(limits.words)]
    return max(matching_limits, key=lambda limits: len(limits.words), default=None)


def limits_for_target(target: str | None) -> DeviceLimits | None:
    """Return the limits to assume for a compile target such as `cuda:90`; None if unknown."""
    return next((limits for limits in known_devices() if target in limits.targets), None)


@dataclass(frozen=True, slots=True)
class ChosenDevice:
    """The device that figures are compared with; `reported` is its name in the trace, if recorded.

    `how` is "recorded" in the trace, "given" by the user, or "assumed" from a compile target.
    """

    limits: DeviceLimits
    how: str
    reported: str | None


def recorded_names(runs: Sequence["Run"]) -> list[str]:
    """Return the names of the runs' devices, each once."""
    names = [str(device["name"]) for run in runs for device in run.devices or () if device["name"]]
    return list(dict.fromkeys(names))


def chosen_device(
    requested: str | None, recorded: Sequence[str], targets: Sequence[str]
) -> ChosenDevice | None:
    """Return the device that the user `asked` for, else the first recorded, else one for a target.

    `targets` are compile targets; the first with known limits counts. None if no limits are known.

    Raises:
        BadSetting: no such device is known.
    """
    if requested is not None:
        limits = limits_of(requested)
        if limits is None:
            names = "; ".join(entry.name for entry in known_devices())
            raise BadSetting(
                f"the limits of a device {requested!r} are not known; known devices: {names}"
            )
        return ChosenDevice(limits, "given", None)
    if recorded:
        limits = limits_of(recorded[0])
        return None if limits is None else ChosenDevice(limits, "recorded", recorded[0])
    limits = next(filter(None, map(limits_for_target, targets)), None)
    return None if limits is None else ChosenDevice(limits, "assumed", None)


# -- occupancy: warps that fit on a multiprocessor at once, from the compiler's resources ----------
# Limits by compute capability: CUDA C++ Programming Guide 12.9, table "Technical Specifications per
# Compute Capability". Allocation: registers by warp in units of 256, warps in units of 4 (one for
# each scheduler), shared memory in units of 128 bytes with 1 KiB kept by the system from 8.0 on, as
# NVIDIA's occupancy calculator counts. Capabilities that are not listed give no figure.


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


# -- roofline: the shortest time that a device could need for bytes and FLOPs (derived) ------------
# The roofline time (also called best time) is the longest of three: distinct bytes over memory
# bandwidth (with cold caches, each byte is moved at least once), dots over the matrix units' peak,
# all other FLOPs over the vector units' peak. The units can overlap, so the three are not added.
# A device without caches takes the time of all requested bytes over the bandwidth.
#
# Example: a launch that reads 4 MB once at 2 TB/s takes at least 2 µs for memory; its 1 GFLOP of
# dots at 312 TFLOP/s takes 3.2 µs, so the roofline time is 3.2 µs.


Bound = Literal["memory", "caches", "compute"]


@dataclass(frozen=True, slots=True)
class Work:
    """Bytes and FLOPs of one launch of a call; None where unknown.

    `unique_bytes`: distinct bytes read plus distinct bytes written, by buffer; a lower bound where
    some access is not known. `bytes`: all bytes that programs request, None if an access is not
    known. `dots` has the FLOPs of dots by element type, `others` those of all other ops.
    """

    unique_bytes: int | None
    bytes: int | None
    dots: Mapping[str, int] = field(hash=False)
    others: Mapping[str, int] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Position:
    """Position of launches on a device's roofline; times in nanoseconds, over all launches.

    `bound` is `memory` if even the distinct bytes take longer than the arithmetic, `compute` if the
    arithmetic takes longer than all requested bytes, and `caches` in between, where cache hits
    decide. `best_ns` is the attainable time; `achieved` is `best_ns` over the measured time, at
    most 1, or None without a device timeline.
    """

    memory_ns: float
    uncached_ns: float | None
    compute_ns: float
    best_ns: float
    bound: Bound
    achieved: float | None = None


def position(work: Work, limits: DeviceLimits, launches: int = 1) -> Position | None:
    """Return the roofline position of `launches` launches that each do `work`.

    None if the distinct bytes are unknown, or the device's rate for an element type.
    """
    compute_s = _compute_seconds(work, limits)
    if work.unique_bytes is None or compute_s is None:
        return None
    memory_s = work.unique_bytes / limits.bandwidth
    uncached_s = None if work.bytes is None else work.bytes / limits.bandwidth
    if not limits.has_caches:
        memory_s = uncached_s = memory_s if uncached_s is None else uncached_s
    to_ns = 1e9 * launches
    return _position_of(
        memory_s * to_ns, None if uncached_s is None else uncached_s * to_ns, compute_s * to_ns,
        max(memory_s, compute_s) * to_ns,
    )  # fmt: skip


def joined(positions: Iterable[Position | None]) -> Position | None:
    """Return one position for the launches of several calls, whose times are added.

    None if one of the calls has no position, or if there are no calls.
    """
    all_positions = list(positions)
    known_positions = [p for p in all_positions if p is not None]
    if not known_positions or len(known_positions) < len(all_positions):
        return None
    uncached_ns = [p.uncached_ns for p in known_positions if p.uncached_ns is not None]
    return _position_of(
        sum(p.memory_ns for p in known_positions),
        sum(uncached_ns) if len(uncached_ns) == len(known_positions) else None,
        sum(p.compute_ns for p in known_positions),
        sum(p.best_ns for p in known_positions),
    )


def _position_of(memory: float, uncached: float | None, compute: float, best: float) -> Position:
    bound: Bound = "memory"
    if compute > memory:
        bound = "caches" if uncached is None or uncached > compute else "compute"
    return Position(memory, uncached, compute, best, bound)


def _compute_seconds(work: Work, limits: DeviceLimits) -> float | None:
    dot_seconds = other_seconds = 0.0
    for dtype, flops in work.dots.items():
        rate = limits.dot_rate(dtype)
        if rate is None:
            return None
        dot_seconds += flops / rate
    for dtype, flops in work.others.items():
        rate = limits.vector_rate(dtype)
        if rate is None:
            return None
        other_seconds += flops / rate
    return max(dot_seconds, other_seconds)
