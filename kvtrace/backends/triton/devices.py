"""Properties of accelerators, which queries of programs return on a machine without one.

Sources. NVIDIA: shared memory of one block from "Technical Specifications per Compute Capability"
in the CUDA C++ Programming Guide; multiprocessors, clocks, bus width and second-level cache of one
product of each architecture from its data sheet (A100 SXM4, A10, L40S, H100 SXM5, B200, GeForce RTX
5090, T4, V100 SXM2). AMD: the CDNA white papers and data sheets of MI250X, MI300X and MI355X.
"""

from dataclasses import dataclass
from typing import Final

from kvtrace.schema.errors import BadSetting

_KIB: Final = 1024


@dataclass(frozen=True, slots=True)
class Device:
    """Properties of one product. Clocks in kHz, as drivers report them; bus width in bits.

    `full_name` is the driver's name, by which libraries look up configurations.
    """

    name: str
    full_name: str
    shared_bytes: int
    multiprocessors: int
    core_khz: int
    memory_khz: int
    bus_bits: int
    memory_bytes: int
    warp_size: int = 32
    registers: int = 65536
    threads_per_multiprocessor: int = 2048

    def properties(self, architecture: str) -> dict[str, int | str]:
        """Return the properties in the form of `get_device_properties` of Triton's drivers."""
        return {
            "max_shared_mem": self.shared_bytes,
            "max_num_regs": self.registers,
            "multiprocessor_count": self.multiprocessors,
            "warpSize": self.warp_size,
            "sm_clock_rate": self.core_khz,
            "mem_clock_rate": self.memory_khz,
            "mem_bus_width": self.bus_bits,
            "arch": architecture,
            "max_threads_per_sm": self.threads_per_multiprocessor,
            "cooperativeLaunch": 1,
        }


_GIB: Final = 1024**3

#: Name, full name, shared bytes, multiprocessors, core and memory clock, bus width, memory; then
#: warp size, registers and threads per multiprocessor, where they are not the usual ones.
DEVICES: Final[dict[str, Device]] = {
    "cuda:70": Device(
        "V100", "Tesla V100-SXM2-32GB", 96 * _KIB, 80, 1_530_000, 877_000, 4096, 32 * _GIB
    ),
    "cuda:75": Device(
        "T4", "Tesla T4", 64 * _KIB, 40, 1_590_000, 5_001_000, 256, 16 * _GIB, 32, 65536, 1024
    ),
    "cuda:80": Device(
        "A100", "NVIDIA A100-SXM4-80GB", 163 * _KIB, 108, 1_410_000, 1_593_000, 5120, 80 * _GIB
    ),
    "cuda:86": Device(
        "A10", "NVIDIA A10", 99 * _KIB, 72, 1_695_000, 6_251_000, 384, 24 * _GIB, 32, 65536, 1536
    ),
    "cuda:89": Device(
        "L40S", "NVIDIA L40S", 99 * _KIB, 142, 2_520_000, 9_001_000, 384, 48 * _GIB, 32, 65536, 1536
    ),
    "cuda:90": Device(
        "H100", "NVIDIA H100 80GB HBM3", 227 * _KIB, 132, 1_980_000, 2_619_000, 5120, 80 * _GIB
    ),
    "cuda:100": Device(
        "B200", "NVIDIA B200", 227 * _KIB, 148, 1_965_000, 3_996_000, 8192, 180 * _GIB
    ),
    "cuda:120": Device(
        "RTX 5090", "NVIDIA GeForce RTX 5090", 99 * _KIB, 170, 2_407_000, 14_001_000, 512,
        32 * _GIB, 32, 65536, 1536,
    ),
    "hip:gfx90a": Device(
        "MI250X", "AMD Instinct MI250X", 64 * _KIB, 110, 1_700_000, 1_600_000, 4096, 64 * _GIB, 64
    ),
    "hip:gfx942": Device(
        "MI300X", "AMD Instinct MI300X", 64 * _KIB, 304, 2_100_000, 1_300_000, 8192, 192 * _GIB, 64
    ),
    "hip:gfx950": Device(
        "MI355X", "AMD Instinct MI355X", 160 * _KIB, 256, 2_400_000, 2_000_000, 8192, 288 * _GIB, 64
    ),
    "hip:gfx1250": Device(
        "MI455X", "AMD Instinct MI455X", 320 * _KIB, 256, 2_400_000, 2_000_000, 24_576, 432 * _GIB
    ),
}  # fmt: skip

#: Bytes of the second-level cache, as the driver reports them, where known.
CACHES: Final[dict[str, int]] = {
    "cuda:70": 6144 * _KIB, "cuda:75": 4096 * _KIB, "cuda:80": 40_960 * _KIB,
    "cuda:86": 6144 * _KIB, "cuda:89": 98_304 * _KIB, "cuda:90": 51_200 * _KIB,
    "cuda:120": 98_304 * _KIB, "hip:gfx90a": 8192 * _KIB, "hip:gfx942": 4096 * _KIB,
    "hip:gfx950": 4096 * _KIB,
}  # fmt: skip


def device_of(target: str) -> Device:
    """Return the device of a target, `backend:architecture`.

    Raises:
        BadSetting: the table has no device for the target.

    """
    device = DEVICES.get(target)
    if device is None:
        raise BadSetting(
            f"kvtrace has no device for the target {target!r}; KVTRACE_TARGET can be one of "
            f"{', '.join(DEVICES)}."
        )
    return device
