"""Ranges that are said to be fine, of random kernels, from small launches."""

import gc
import re
from collections import Counter

import pytest

from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.sizes.envelope import envelope
from kvtrace.verdicts.sizes.launch_numbers import call_with, launch_at, numbers_of
from kvtrace.verdicts.sizes.relations import Relations
from tests.support.thorough import usually
from tests.verdicts.mutants import evaluated
from tests.verdicts.sized_kernels import drawn_kernels, module_of

SECTION = "conditions for all shapes"
SMALL = 1 << 11
"""Lanes up to which a launch is run as a whole."""

LARGE = 1 << 24
"""A size from which on a launch may hold much memory."""


def fine(row):
    """Both ends of the values that a row says are proven."""
    only = re.fullmatch(r".* = ([\d,-]+)", row.contract)
    if only:
        return (int(only[1].replace(",", "")),) * 2
    found = re.fullmatch(r"(?:([\d,-]+) <= )?(\S+|values of \S+) <= ([\d,-]+)", row.contract)
    low, _, high = found.groups()
    return (int(low.replace(",", "")) if low else 1), int(high.replace(",", ""))


def spread(low, high, count):
    """Values of a range: those around its ends, small ones, and some between, far apart."""
    near = range(low, min(high, low + count // 2) + 1)
    ends = range(max(low, high - 5), high + 1)
    steps = (low + (high - low) * i // count for i in range(count + 1))
    doubled = (low + 2**i for i in range(62) if low + 2**i <= high)
    found = dict.fromkeys((*ends, *near, *doubled, *steps))
    return sorted(list(found)[:count])


def defects(one):
    """The rules that a launch breaks: those of sizes, and all by evaluating it, if it is small."""
    found = [f"{rule} (run)" for rule, _ in evaluated(one).broken] if lanes(one) <= SMALL else []
    found += [v.rule for v in judge(one, None, Budget(lanes=0)) if v.verdict == "violation"]
    return sorted({*found} - {"mask-always-false"})


def size_of(kernel, first, number):
    """The size of the wrapper that a number of the launch is; None: it is made of others."""
    before = numbers_of(first)[number]
    for name, size in kernel.sizes.items():
        more = numbers_of(kernel.at(first, {**kernel.sizes, name: size + 1}))
        if size == before and more[number] == before + 1:
            return name
    return None


def lanes(one):
    return BoundCall(one).lanes


def recorded(kernel, first):
    """The numbers of launches that change each size of the wrapper alone."""
    odd = ({**kernel.sizes, name: 2 * size + 1} for name, size in kernel.sizes.items())
    return [numbers_of(kernel.at(first, sizes)) for sizes in odd]


def launches(kernel, first, relations, row, count):
    """Launches in the range of a row: by the wrapper, and by each reading that differs."""
    size = relations.number(row.quantity)
    own = size_of(kernel, first, size)
    for value in spread(*fine(row), count):
        if value > LARGE:
            gc.collect()  # contents of the last launch, of gigabytes, lie in a cycle
        all_numbers = [launch_at(relations, {size: value})[0]]
        if own:
            yield value, kernel.at(first, {**kernel.sizes, own: value})
            wrapped = numbers_of(kernel.at(first, {**kernel.sizes, own: value}))
            all_numbers = [numbers for numbers in all_numbers if numbers != wrapped]
        yield from ((value, call_with(first, numbers)) for numbers in all_numbers)


@pytest.mark.sweep
@pytest.mark.timeout(7200)
def test_no_proven_size_is_bad(tmp_path, say):
    count, sizes = usually(10, thorough=100), usually(12, thorough=200)
    kernels = drawn_kernels(count)
    module = module_of(kernels, tmp_path)
    counts, wrong = Counter(), []
    for kernel in kernels:
        first = kernel.first(module)
        relations = Relations(first, recorded(kernel, first))
        rows = [row for row in envelope(relations) if row.contract]
        rows = [row for row in rows if not row.quantity.startswith("values of")]
        broken = defects(first)
        assert not (broken and rows), (kernel.name, broken, rows)
        counts["kernels"] += 1
        counts["kernels that are bad as recorded"] += bool(broken)
        counts["kernels with a range"] += bool(rows)
        for row in rows:
            for value, one in launches(kernel, first, relations, row, sizes // len(rows)):
                counts["launches in it"] += 1
                bad = defects(one)
                wrong += [(kernel.name, row.quantity, value, bad)] if bad else []
        counts["launches of them that are bad"] = len(wrong)
    say(SECTION, ", ".join(f"{number} {what}" for what, number in counts.items()))

    assert wrong == []
    assert counts["kernels with a range"] >= len(kernels) / 4
    assert counts["kernels that are bad as recorded"] >= len(kernels) / 5
