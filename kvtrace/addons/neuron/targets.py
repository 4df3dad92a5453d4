"""Targets: the machines that kernels are written for, with their sizes and sources.

Sources, all public documentation of AWS Neuron:
(a) "Trainium/Inferentia2 architecture guide for NKI": engines, SBUF 24 MiB, PSUM 2 MiB, 128
    partitions, PSUM banks of 2 KiB.
(b) "Trainium2 architecture guide for NKI": the same for NeuronCore-v3, SBUF 28 MiB a core pair
    as published per partition (224 KiB).
(c) "Trainium3 architecture guide for NKI": NeuronCore-v4, SBUF 256 KiB a partition.
(d) reference of `nki.isa`: limits of single instructions.
(e) `nki.language.tile_size.total_available_sbuf_size`: bytes of each partition of SBUF that the
    compiler leaves to kernels.
"""

import os
from typing import Final

from msgspec import Struct

from kvtrace.addons.neuron.errors import NkiError

#: Partitions of SBUF and of PSUM, and so the longest partition dimension of a tile (a).
PARTITIONS: Final = 128

#: Largest stationary tile of a matrix multiplication: rows are partitions (d).
STATIONARY_FREE: Final = 128

#: Maximum elements per partition of the moving tile of a matrix multiplication (d).
MOVING_FREE: Final = 512

#: PSUM: banks of a partition, and bytes of a bank (a).
PSUM_BANKS: Final = 8
PSUM_BANK_BYTES: Final = 2048

#: Maximum float32 elements per partition of a matrix multiplication's result: one bank (a, d).
PSUM_FREE: Final = 512

KIB: Final = 1024


class Target(Struct, frozen=True):
    """A generation of Neuron devices.

    Attributes:
        name: trn1, trn2 or trn3.
        generation: version of the NeuronCore, as in `nki.isa.nc_version` (gen2 …).
        sbuf_bytes: size of one partition of SBUF (a, b, c).
        sbuf_usable_bytes: bytes of one partition of SBUF that kernels may use (e).
    """

    name: str
    generation: int
    sbuf_bytes: int
    sbuf_usable_bytes: int


#: Bandwidths and rates for rooflines are in `kvtrace.converters.profile.device_limits`.
TARGETS: Final = {
    target.name: target
    for target in (
        Target("trn1", 2, 192 * KIB, 180_224),
        Target("trn2", 3, 224 * KIB, 212_984),
        Target("trn3", 4, 256 * KIB, 245_752),
    )
}

_ALIASES: Final = {"gen2": "trn1", "inf2": "trn1", "gen3": "trn2", "gen4": "trn3"}

#: The environment variable that Neuron itself reads, and kvtrace's default.
VARIABLE: Final = "NEURON_PLATFORM_TARGET_OVERRIDE"
DEFAULT: Final = "trn2"


def target_named(name: str | None = None) -> Target:
    """Return the target of a name, by default that of the environment variable, else trn2.

    Raises:
        NkiError: no target has that name.
    """
    lowered = (name or os.environ.get(VARIABLE) or DEFAULT).lower()
    target = TARGETS.get(_ALIASES.get(lowered, lowered))
    if target is None:
        raise NkiError(f"{lowered!r} is not a Neuron target; choose one of {', '.join(TARGETS)}")
    return target
