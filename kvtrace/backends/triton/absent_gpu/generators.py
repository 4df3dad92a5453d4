"""Random numbers of the simulated GPU: drawn on the CPU, from states like a GPU's.

A CUDA generator's state is a seed and an offset, 8 bytes each: its numbers are a function of both,
and an operator that draws increases the offset. Libraries read and set the offset (DTensor sets one
for each shard), so generators here have the same state: each operator draws from a CPU generator
that is seeded by both numbers, and equal states give equal numbers.
"""

import struct
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch

from kvtrace.backends.replacements import Replacements
from kvtrace.forks import Lock

_plain: Final[Any] = torch.Generator

#: A state: seed and offset, as torch packs them.
_STATE: Final = struct.Struct("=QQ")
#: Numbers of a Philox counter: each draw advances the offset by a multiple of this.
_COUNTER: Final = 4
#: The seed of a generator that was not seeded: torch's `default_rng_seed_val`.
_UNSEEDED: Final = 67280421310721
_WORD: Final = 1 << 64

#: The device's generators by address of torch's C++ object: operators get another Python object.
_of_device: Final["weakref.WeakValueDictionary[int, Any]"] = weakref.WeakValueDictionary()


class DeviceGenerator(_plain):  # type: ignore[misc]
    """A generator that reports the device "cuda", with a state like that of a CUDA generator."""

    def __init__(self) -> None:
        """Start with torch's default seed, and offset 0."""
        self._seed, self._offset = _UNSEEDED, 0
        self._lock = Lock()
        _of_device[self._cdata] = self

    @property
    def device(self) -> torch.device:
        """The device that the generator reports."""
        return torch.device("cuda", 0)

    def manual_seed(self, seed: int) -> "DeviceGenerator":
        """Set the seed, reset the offset to 0, and return this generator.

        Raises:
            RuntimeError: the seed has more than 64 bits.

        """
        if not -_WORD // 2 <= seed < _WORD:
            raise RuntimeError("Overflow when unpacking long long")
        with self._lock:
            self._seed, self._offset = int(seed) % _WORD, 0
        return self

    def seed(self) -> int:
        """Set a random seed, and return this seed."""
        return int(self.manual_seed(_plain().seed()).initial_seed())

    def initial_seed(self) -> int:
        """Return the seed."""
        return self._seed

    def get_offset(self) -> int:
        """Return the number of random numbers drawn so far, modulo 2**64."""
        return self._offset

    def set_offset(self, offset: int) -> "DeviceGenerator":
        """Set the offset into the seed's numbers, and return this generator.

        Raises:
            RuntimeError: the offset is not a multiple of four.

        """
        if offset % _COUNTER:
            raise RuntimeError("offset must be a multiple of 4")
        with self._lock:
            self._offset = int(offset) % _WORD
        return self

    def get_state(self) -> Any:
        """Return seed and offset, as 16 bytes in the host's memory."""
        # Not a factory function: modes for fake tensors or default devices would take part.
        return torch.frombuffer(bytearray(_STATE.pack(self._seed, self._offset)), dtype=torch.uint8)

    def set_state(self, state: Any) -> "DeviceGenerator":
        """Continue from a state that `get_state` returned.

        Raises:
            TypeError: the state is not a tensor of bytes in the host's memory.
            RuntimeError: the state has another size than a CUDA generator's.

        """
        if not isinstance(state, torch.Tensor) or state.dtype != torch.uint8 or state.is_cuda:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.numel() != _STATE.size:
            raise RuntimeError("RNG state is wrong size")
        seed, offset = _STATE.unpack(bytes(state.tolist()))
        with self._lock:
            self._seed, self._offset = seed, offset
        return self

    def clone_state(self) -> "DeviceGenerator":
        """Return a new generator with a copy of the state."""
        return DeviceGenerator().set_state(self.get_state())

    def draw(self) -> Any:
        """Return a CPU generator for one operator, and advance the offset."""
        with self._lock:
            seed, offset = self._seed, self._offset
            self._offset = (offset + _COUNTER) % _WORD
        return _plain().manual_seed(_mixed(seed, offset))


def _mixed(seed: int, offset: int) -> int:
    """Return a seed for the CPU's generator, which reads 32 bits; at offset 0, the seed itself.

    Constants: SplitMix64, https://doi.org/10.1145/2714064.2660195
    """
    if offset == 0:
        return seed
    word = (seed + offset // _COUNTER * 0x9E3779B97F4A7C15) % _WORD
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB % _WORD
    return word ^ word >> 31


#: The generator of operators that are given none.
DEVICE_GENERATOR: Final = DeviceGenerator()


def device_generator(generator: Any) -> DeviceGenerator | None:
    """Return an operator's argument as device generator (None: the default); None for a CPU's."""
    return _of_device.get(generator._cdata)


@contextmanager
def seeds_of_device() -> Iterator[None]:
    """Make operators without a generator argument draw from the device's generator."""
    before = torch.default_generator.get_state()
    torch.default_generator.set_state(DEVICE_GENERATOR.draw().get_state())
    try:
        yield
    finally:
        torch.default_generator.set_state(before)


def install_generators(replaced: Replacements) -> None:
    """Make `torch.Generator("cuda")` a generator of the device."""
    kind: Any = type(_plain)

    class Meta(kind):  # type: ignore[misc]
        def __instancecheck__(self, instance: object) -> bool:
            return isinstance(instance, _plain)

        def __call__(self, device: Any = "cpu") -> Any:
            is_cuda = torch.device(device).type == "cuda"
            return DeviceGenerator() if is_cuda else _plain(device=device)

    replaced.put(torch, "Generator", Meta("Generator", (_plain,), {"__doc__": _plain.__doc__}))
    replaced.put(torch.cuda, "default_generators", (DEVICE_GENERATOR,))
