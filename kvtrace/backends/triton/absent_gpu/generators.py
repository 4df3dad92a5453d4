"""Random numbers of the GPU that is not there: drawn on the CPU, from its own generator."""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch

from kvtrace.backends.replacements import Replacements

_plain: Final[Any] = torch.Generator


#: The device's generators by where torch has them: operators get another object of Python's.
_of_device: Final["weakref.WeakValueDictionary[int, Any]"] = weakref.WeakValueDictionary()


class DeviceGenerator(_plain):  # type: ignore[misc]
    """A generator of the CPU that says it is on the GPU."""

    def __init__(self) -> None:
        """Make one with the seed that every new one has."""
        _of_device[self._cdata] = self

    @property
    def device(self) -> torch.device:
        """The device that it reports."""
        return torch.device("cuda", 0)


#: What draws where a program names no generator.
DEVICE_GENERATOR: Final = DeviceGenerator()


def is_of_device(generator: Any) -> bool:
    """Whether a generator, as an operator gets it, draws for the device."""
    return generator._cdata in _of_device


@contextmanager
def seeds_of_device() -> Iterator[None]:
    """Have operators that take no generator draw from the device's."""
    before = torch.default_generator.get_state()
    torch.default_generator.set_state(DEVICE_GENERATOR.get_state())
    try:
        yield
    finally:
        DEVICE_GENERATOR.set_state(torch.default_generator.get_state())
        torch.default_generator.set_state(before)


def install_generators(replaced: Replacements) -> None:
    """Make the device's generators where they are asked for."""
    kind: Any = type(_plain)

    class Meta(kind):  # type: ignore[misc]
        def __instancecheck__(self, instance: object) -> bool:
            return isinstance(instance, _plain)

        def __call__(self, device: Any = "cpu") -> Any:
            there = torch.device(device).type == "cuda"
            return DeviceGenerator() if there else _plain(device=device)

    replaced.put(torch, "Generator", Meta("Generator", (_plain,), {"__doc__": _plain.__doc__}))
    replaced.put(torch.cuda, "default_generators", (DEVICE_GENERATOR,))
