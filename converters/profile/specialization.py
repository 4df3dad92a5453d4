"""Specialization of compiled variants: the facts that distinguish variants of a kernel.

`kvtrace info --recompiles` uses these facts for the reason of a compilation, and `kvtrace diff` for
changes between two traces.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_COMPILE_FIELDS: Final = ("target", "warp_size", "num_warps", "num_ctas", "num_stages")
#: Folder of an absolute path, such as that of a library that a kernel is linked with.
_FOLDER: Final = re.compile(
    r"(?<![\w.])(?:[A-Za-z]:)?(?:[/\\]+[^/\\'\"\n]+)+[/\\]+(?=[^/\\'\"\n]+)"
)
#: Options that name an identity rather than a choice, and so differ without meaning; versions are
#: those of the whole run.
_IDENTITIES: Final = frozenset({"hash", "cache_key", "name", "cluster_dims_hash", "triton_version"})


@dataclass(frozen=True, slots=True)
class Change:
    """A fact that differs between two variants: `what`, its value in each; None if one lacks it."""

    what: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"{self.what} {_value_text(self.before)} → {_value_text(self.after)}"


def specialization(kernel: Mapping[str, Any]) -> dict[str, str]:
    """Return a variant's facts by name: types, constants, divisibility, compile options.

    `kernel` is its row of `kernels`. Names read like `constexpr BLOCK`, `type of x`, `divisibility
    of n`, `num_warps` and `option sanitize_overflow`, in the order of the signature. Files in
    options are named without their folders.
    """
    facts: dict[str, str] = {}
    for parameter in kernel["signature"] or ():
        facts.update(_parameter_facts(parameter))
    for field in _COMPILE_FIELDS:
        if kernel[field] is not None:
            facts[field] = str(kernel[field])
    for key, value in sorted(kernel["options"] or ()):
        if key not in _IDENTITIES and value is not None:
            facts[f"option {key}"] = _FOLDER.sub("…/", without_addresses(value))
    return facts


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Change, ...]:
    """Return the facts that differ, in the order of `before`, then those only in `after`."""
    keys: Iterable[str] = dict.fromkeys((*before, *after))
    return tuple(
        Change(key, before.get(key), after.get(key))
        for key in keys
        if before.get(key) != after.get(key)
    )


def without_addresses(text: str) -> str:
    """Return a text with hexadecimal addresses replaced by "0x…" (reprs of functions have them)."""
    return _ADDRESS.sub("0x…", text)


def _parameter_facts(parameter: Mapping[str, Any]) -> dict[str, str]:
    name = parameter["name"]
    if parameter["type"] == "constexpr" or parameter["constexpr"] is not None:
        return {f"constexpr {name}": without_addresses(str(parameter["constexpr"]))}
    facts = {f"type of {name}": str(parameter["type"])}
    if parameter["divisibility"]:
        facts[f"divisibility of {name}"] = str(parameter["divisibility"])
    return facts


def _value_text(value: str | None) -> str:
    return "(none)" if value is None else value
