"""Settings that need packages that are not installed; recording alone needs only pyarrow."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Final

from kvtrace.schema.errors import PACKAGES
from kvtrace.settings import Settings, added_settings

#: (setting, test for values that need packages, value used without these packages, packages)
_NEEDS: Final[tuple[tuple[str, Callable[[Any], bool], Any, tuple[str, ...]], ...]] = (
    ("mode", "timeline".__eq__, "launch", ("numpy",)),
    ("mode", "ops".__eq__, "launch", ("numpy", "ml_dtypes", "z3")),
    ("tensors", "stats".__eq__, "index", ("numpy",)),
    ("sanitize", "off".__ne__, "off", ("numpy", "ml_dtypes", "z3")),
    ("device", "cpu".__eq__, "none", ("numpy", "ml_dtypes")),
)


def missing(packages: Iterable[str]) -> str | None:
    """Return text that names the packages that are not installed; None if all are."""
    lacking = [name for name in packages if not _is_installed(name)]
    if not lacking:
        return None
    install_names = " ".join(PACKAGES[name] for name in lacking)
    are = "is" if len(lacking) == 1 else "are"
    return f"{' and '.join(lacking)}, which {are} not installed (pip install {install_names})"


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:  # raised by a finder of the program
        return False
    except ValueError:  # the program made a module of that name, without a spec
        return True


def without_missing_packages(settings: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Return settings that need no missing package, and a sentence on each changed setting.

    A setting whose packages are not installed gets a value that needs none.
    """
    reasons = []
    for name, needs_packages, fallback, packages in _NEEDS:
        value = getattr(settings, name)
        lacking = missing(packages) if needs_packages(value) else None
        if lacking is not None:
            settings = replace(settings, **{name: fallback})
            reasons.append(f"KVTRACE_{name.upper()}={value} needs {lacking}")
    added = dict(settings.added)
    for name, setting in added_settings() if added else ():
        lacking = missing(setting.needs) if added.get(name) else None
        if lacking is not None:
            reasons.append(f"KVTRACE_{name.upper()}={added.pop(name)} needs {lacking}")
            settings = replace(settings, added=tuple(added.items()))
    return settings, tuple(f"{reason}; launches are recorded without it" for reason in reasons)
