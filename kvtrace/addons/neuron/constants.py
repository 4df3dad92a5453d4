"""Sizes and enumerations that both interfaces offer: `tile_size`, engines, versions, modes."""

from enum import Enum, IntEnum

import numpy as np

from kvtrace.addons.neuron import targets
from kvtrace.addons.neuron.machine import current_or_none
from kvtrace.addons.neuron.targets import Target, target_named


class _TileSize:
    """The object `nl.tile_size`: limits of tiles, and sizes of the target's memories."""

    pmax = targets.PARTITIONS
    psum_fmax = psum_bank_fmax = targets.PSUM_FREE
    psum_fmax_bytes = psum_bank_fmax_bytes = targets.PSUM_BANK_BYTES
    psum_num_banks = targets.PSUM_BANKS
    gemm_stationary_fmax = targets.STATIONARY_FREE
    gemm_moving_fmax = targets.MOVING_FREE
    psum_min_align = 4
    sbuf_min_align = 1

    @property
    def total_available_sbuf_size(self) -> int:
        """Bytes of a partition of SBUF that kernels may use."""
        return _target().sbuf_usable_bytes

    @property
    def sbuf_fmax_bytes(self) -> int:
        """Bytes of a partition of SBUF that kernels may use, by the newer name."""
        return self.total_available_sbuf_size


def _target() -> Target:
    """Return the running kernel's target; outside of kernels, that of the environment."""
    run = current_or_none()
    return target_named() if run is None else run.target


tile_size = _TileSize()


class engine(Enum):  # noqa: N801 - the public name
    """Engines of a NeuronCore."""

    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    dma = 4
    vector = 5
    sync = 6


class nc_version(IntEnum):  # noqa: N801 - the public name
    """Versions of NeuronCores, in order."""

    gen2 = 2
    gen3 = 3
    gen4 = 4


def get_nc_version() -> nc_version:
    """Return the NeuronCore version of the kernel's target."""
    return nc_version(_target().generation)


class reduce_cmd(Enum):  # noqa: N801 - the public name
    """Commands of an instruction to the accumulation registers."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class dge_mode(Enum):  # noqa: N801 - the public name
    """Generators of DMA descriptors: software, hardware or none."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class fp32:  # noqa: N801 - the public name
    """`nl.fp32`: the smallest and the largest float32."""

    min = float(np.finfo(np.float32).min)
    max = float(np.finfo(np.float32).max)
