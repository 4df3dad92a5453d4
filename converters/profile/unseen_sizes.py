"""Sizes of arguments for which a launch would still compile, by classes of Triton's key.

Arguments that follow one size in all recorded calls are bundled with it: a stride that is always 4
times n, pages that are always n / 16 rounded up, a BLOCK that is always n rounded up to a power of
two. Each size from 1 on then has one combination of classes and constants. Example: n was 5, 7 and
64, with BLOCK 8, 8 and 64; n = 1, n = 2 and BLOCK 2, …, n = 48 and BLOCK 64 would compile.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Final

import numpy as np

from kvtrace.converters.profile.argument_classes import Parameter, RecordedCall
from kvtrace.figures.columns import Integers

#: Sizes and combinations beyond these are not enumerated.
_MOST_SIZES: Final = 1 << 20
_MOST_COMBINATIONS: Final = 4096
#: Sizes that must be recorded before another argument counts as following them.
_FEWEST: Final = 3


@dataclass(frozen=True, slots=True)
class UnseenSizes:
    """Sizes of a kernel's arguments that no launch had, and that compile another variant.

    `constants` are those that tell apart variants of the kernel; `follows`, arguments that follow a
    size in all calls; `sizes`, ranges of one size, and `combinations`, of several that each were
    recorded with others. Unless `certain`, arguments may be declared not to be specialized.
    """

    kernel: str
    constants: str
    follows: tuple[str, ...]
    sizes: tuple[str, ...]
    combinations: tuple[str, ...]
    certain: bool


@dataclass(frozen=True, slots=True)
class _Size:
    """An argument, its values by call, and what follows it: forms by name of argument."""

    name: str
    values: Integers
    follows: dict[str, tuple[str, Callable[[Integers], Integers]]]

    def signatures(self, sizes: Integers, parameters: Mapping[str, Parameter]) -> Integers:
        """Return a row of numbers for each size: two sizes with equal rows share a variant."""
        columns = {self.name: sizes} | {
            name: function(sizes) for name, (_, function) in self.follows.items()
        }
        classes = (
            parameters[name].classes(values) if name in parameters else values
            for name, values in columns.items()
        )  # fmt: skip
        return np.stack(list(classes), axis=1)


def unseen_sizes(
    kernel: str, calls: Sequence[RecordedCall], parameters: Mapping[str, Parameter]
) -> Iterator[UnseenSizes]:
    """Yield the unseen sizes of a kernel, for each set of constants that sizes do not decide."""
    calls = [call for call in calls if call.integers.keys() == parameters.keys()]
    sizes = list(_sizes(calls, parameters))
    names = {name for size in sizes for name in (size.name, *size.follows)}
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for number, call in enumerate(calls if sizes else ()):
        pairs = call.facts.items()
        rest = tuple(pair for pair in pairs if pair[0].removeprefix("constexpr ") not in names)
        groups.setdefault(rest, []).append(number)
    shared = set.intersection(*(set(facts) for facts in groups)) if groups else set()
    specialized = [parameters[name] for name in names & parameters.keys()]
    for facts, members in groups.items():
        singles, combinations = _unseen(sizes, members, list(groups.values()), parameters)
        if singles or combinations:
            yield UnseenSizes(
                kernel,
                ", ".join(" ".join(pair) for pair in facts if pair not in shared),
                tuple(f"{n} is {text}" for size in sizes for n, (text, _) in size.follows.items()),
                tuple(singles),
                tuple(combinations),
                all(None not in (parameter.one, parameter.aligned) for parameter in specialized),
            )


def _sizes(calls: Sequence[RecordedCall], parameters: Mapping[str, Parameter]) -> Iterator[_Size]:
    """Yield the arguments that vary and follow no other, with what follows them."""
    facts = dict.fromkeys(fact for call in calls for fact in call.facts)
    columns = {name: [str(call.integers[name]) for call in calls] for name in parameters} | {
        fact.removeprefix("constexpr "): [call.facts.get(fact, "") for call in calls]
        for fact in facts
        if fact.startswith("constexpr ")
    }
    numbers = {
        name: np.array(texts, np.int64)
        for name, texts in columns.items()
        if texts and all(text.isdigit() and len(text) < 19 for text in texts)
    }
    divisors = {int(values[0]) for values in numbers.values() if not np.ptp(values)}
    rest = {name: values for name, values in numbers.items() if np.ptp(values)}
    while bases := [name for name in rest if name in parameters and rest[name].min() > 0]:
        base = max(bases, key=lambda name: len(np.unique(rest[name])))
        sizes = rest.pop(base)
        forms = {name: _form(base, sizes, values, divisors) for name, values in rest.items()}
        follows = {name: form for name, form in forms.items() if form is not None}
        rest = {name: values for name, values in rest.items() if name not in follows}
        yield _Size(base, sizes, follows)


def _form(
    base: str, sizes: Integers, values: Integers, divisors: set[int]
) -> tuple[str, Callable[[Integers], Integers]] | None:
    """Return how values follow sizes in all calls, as text and function; None if they do not."""
    if len(np.unique(sizes)) < _FEWEST:
        return (base, np.array) if np.array_equal(sizes, values) else None
    low, high = int(sizes.argmin()), int(sizes.argmax())
    slope = int(values[high] - values[low]) // int(sizes[high] - sizes[low])
    offset = int(values[low]) - slope * int(sizes[low])
    forms: dict[str, Callable[[Integers], Integers]] = {
        f"{slope} × {base} + {offset}": lambda n: slope * n + offset,
        f"{base} rounded up to a power of two": lambda n: 1 << np.ceil(np.log2(n)).astype(np.int64),
    }
    for divisor in sorted(divisors - {0, 1}):
        forms[f"{base} / {divisor} rounded up"] = lambda n, d=divisor: -(-n // d)  # type: ignore[misc]
    return next((form for form in forms.items() if np.array_equal(form[1](sizes), values)), None)


def _unseen(
    sizes: Sequence[_Size],
    members: Sequence[int],
    groups: Sequence[Sequence[int]],
    parameters: Mapping[str, Parameter],
) -> tuple[list[str], list[str]]:
    """Return texts of unseen classes of a size, and of unseen combinations of seen ones."""
    seen: list[list[tuple[int, ...]]] = []
    texts: list[dict[tuple[int, ...], str]] = []
    for size in sizes:
        candidates = _candidates(size, members, groups)
        rows = size.signatures(candidates, parameters)
        classes, firsts, numbers = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        texts.append({
            tuple(classes[k].tolist()): _range_text(size.name, candidates[numbers.ravel() == k])
            for k in np.argsort(firsts)
        })  # fmt: skip
        recorded = size.signatures(size.values[list(members)], parameters)
        seen.append([tuple(row) for row in recorded.tolist()])
    singles = [
        text
        for by_class, rows_seen in zip(texts, seen, strict=True)
        for row, text in by_class.items()
        if row not in set(rows_seen)
    ]
    kinds = [dict.fromkeys(rows_seen) for rows_seen in seen]
    if len(sizes) < 2 or np.prod([len(rows) for rows in kinds]) > _MOST_COMBINATIONS:
        return singles, []
    together = set(zip(*seen, strict=True))
    unseen = (rows for rows in product(*kinds) if rows not in together)
    return singles, [
        " with ".join(by_class[row] for by_class, row in zip(texts, rows, strict=True))
        for rows in unseen
        if all(row in by_class for by_class, row in zip(texts, rows, strict=True))
    ]


def _candidates(size: _Size, members: Sequence[int], groups: Sequence[Sequence[int]]) -> Integers:
    """Return the sizes that the constants of a group may stand for.

    Where no two groups have sizes in the same range, sizes are taken to choose the group.
    """
    parts = [size.values[list(group)] for group in groups]
    bounds = sorted((int(part.min()), int(part.max())) for part in parts)
    apart = all(last < first for (_, last), (first, _) in pairwise(bounds))
    chosen = size.values[list(members)] if apart else size.values
    lowest, highest = int(chosen.min()), int(chosen.max())
    lowest = 1 if lowest == bounds[0][0] else lowest
    if highest == int(size.values.max()):
        highest = 1 << (highest - 1).bit_length()
    return np.arange(lowest, min(highest, lowest + _MOST_SIZES) + 1)


def _range_text(name: str, values: Integers) -> str:
    first, last = int(values[0]), int(values[-1])
    every = np.arange(first, last + 1)
    ranges = {
        f"{first} to {last}" if first < last else f"{first}": every,
        f"multiples of 16 from {first} to {last}": every[every % 16 == 0],
        f"{first} to {last} but for multiples of 16": every[every % 16 != 0],
    }
    some = f"{len(values)} sizes from {first} to {last}"
    text = next((text for text, whole in ranges.items() if np.array_equal(whole, values)), some)
    return f"{name} {text}"
