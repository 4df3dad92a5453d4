"""What is said of names that the public interfaces have and ours does not."""

from collections.abc import Callable
from typing import NoReturn


def says_missing(module: str) -> Callable[[str], NoReturn]:
    """Make the `__getattr__` of a module of an interface."""

    def missing(name: str) -> NoReturn:
        raise AttributeError(
            f"{module}.{name} is not there: kvtrace runs kernels of NKI with what it has "
            "implemented of it (docs/nki.md)"
        )

    return missing
