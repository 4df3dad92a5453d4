"""Counts of loads in printed IR: whether passes removed loads that the source has.

Triton prints a kernel's IR as its frontend writes it, where calls of device functions are calls,
and again after the passes that inline these, fold `x * 0` and remove loads whose result is not
used. A removed load is not in the IR that is judged.
"""

import re
from collections import defaultdict
from typing import Final

_OP: Final = re.compile(
    r'tt\.(?:func (?:public |private )?@(?P<function>"[^"]+"|[\w.$-]+)'
    r'|call @(?P<callee>"[^"]+"|[\w.$-]+)|load |descriptor_(?:load|gather)\b)'
)


def has_removed_loads(source: str, judged: str) -> bool:
    """Return whether the IR that is judged has another number of loads than the frontend's IR."""
    return _load_count(source) != _load_count(judged)


def _load_count(text: str) -> int:
    """Return the loads of a module's first function, with those of the functions that it calls."""
    loads: dict[str, int] = defaultdict(int)
    callees: dict[str, list[str]] = defaultdict(list)
    function = ""
    for op in _OP.finditer(text):
        if op["function"]:
            function = op["function"]
            loads[function] += 0
        elif op["callee"]:
            callees[function].append(op["callee"])
        else:
            loads[function] += 1
    totals: dict[str, int] = {}

    def total(name: str) -> int:
        if name not in totals:
            totals[name] = loads[name]  # of a function that calls itself, which Triton has none of
            totals[name] += sum(map(total, callees[name]))
        return totals[name]

    return total(next(iter(loads), ""))
