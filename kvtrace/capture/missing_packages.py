"""Settings that ask for more than is installed: recording alone needs pyarrow and nothing else."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Final

from kvtrace.schema.errors import PACKAGES
from kvtrace.settings import Settings, added_settings

#: (setting, does its value ask for more, what it is in place of that, what that needs)
_NEEDS: Final[tuple[tuple[str, Callable[[Any], bool], Any, tuple[str, ...]], ...]] = (
    ("mode", "timeline".__eq__, "launch", ("numpy",)),
    ("mode", "ops".__eq__, "launch", ("numpy", "ml_dtypes", "z3")),
    ("sanitize", "off".__ne__, "off", ("numpy", "ml_dtypes", "z3")),
    ("device", "cpu".__eq__, "none", ("numpy", "ml_dtypes")),
)


def missing(packages: Iterable[str]) -> str | None:
    """Say which of some packages are not installed, and how they are; None where all are."""
    lacking = [name for name in packages if not _is_there(name)]
    if not lacking:
        return None
    named = " ".join(PACKAGES[name] for name in lacking)
    are = "is" if len(lacking) == 1 else "are"
    return f"{' and '.join(lacking)}, which {are} not installed (pip install {named})"


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:  # what a finder of the program's says
        return False
    except ValueError:  # a module of that name was imported by none
        return True


def possible_here(settings: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Return settings that what is installed suffices for, and a sentence on each that was not."""
    told = []
    for name, asks, instead, packages in _NEEDS:
        value = getattr(settings, name)
        lacking = missing(packages) if asks(value) else None
        if lacking is not None:
            settings = replace(settings, **{name: instead})
            told.append(f"KVTRACE_{name.upper()}={value} needs {lacking}")
    asked = dict(settings.added)
    for name, setting in added_settings() if asked else ():
        lacking = missing(setting.needs) if asked.get(name) else None
        if lacking is not None:
            told.append(f"KVTRACE_{name.upper()}={asked.pop(name)} needs {lacking}")
            settings = replace(settings, added=tuple(asked.items()))
    return settings, tuple(f"{each}; launches are recorded without it" for each in told)
