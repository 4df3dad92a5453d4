"""Search for the steps of a program in the sequence of all that its host requested.

A step's work is much the same each time, so a short window of requests that occurs once a step (an
*anchor*) cuts the sequence into segments of equal content. Contents are compared as numbers of
requests by kind, without order, since threads interleave; a segment may differ from the typical one
by a twentieth, as where a program logs. Of two layers of a model and a step, both repeat, but the
segments that do not fit tell them apart: after the last layer of each step comes the head, again
and again. So an anchor whose exceptions recur at equal distances is refused, and of the others the
most frequent ones are taken that cover nearly as much as any, of these those whose segments differ
least, and of these the one with the longest pause before it: a program waits between its steps.

Training is certain: where each segment has the same number of requests of an optimizer, it is a
step, whatever recurs beside it (logging, evaluation, checkpoints), and where some have none it is
not, as with accumulated gradients. It ends with the optimizer, also where contents differ too much
to be compared (sequences of many lengths). Copies and fills count for nothing.

Example: (a b c c) × 20, where each fourth step has one d more: `a` cuts it into 20 segments of 4 or
5 requests; the exceptions recur, so the step is (a b c c)³ a b c c d. With 40 further requests a
step, the d is a twentieth, and each of the 20 segments is a step.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from kvtrace.figures.columns import Integers

Hashes = npt.NDArray[np.uint64]

#: Numbers of requests, the last ones: in which anchors are searched, and which are cut by the best.
_MOST_SEARCHED: Final = 1 << 16
MOST_REQUESTS: Final = 1 << 18
#: Fewest requests of all steps, and fewest steps.
_LEAST_REQUESTS: Final = 50
_LEAST_STEPS: Final = 4
#: Numbers of consecutive requests of a thread that may be an anchor.
_WIDTHS: Final = (1, 2, 4, 8, 16, 32)
#: Frequencies of anchors that are tried: those that explain most requests.
_FREQUENCIES: Final = 16
#: Mean squares of distances between occurrences, over the least ones, that count as even.
_AS_EVEN: Final = 1.1
#: Part of the typical content by which a step may differ from it.
_TOLERANCE: Final = 0.05
#: Least part of the work that steps with typical content have, of that between the first and the
#: last of them, and of all.
_LEAST_REGULAR: Final = 0.6
_LEAST_OF_ALL: Final = 0.5
#: A longer step is taken only if the typical content of a shorter one covers less of the requests.
_NEARLY: Final = 0.9
#: Part of the requests by which segments may differ from the typical one more than others.
_AS_LITTLE: Final = 0.005
#: Requests by which the begin of a step is recognized.
_OPENING: Final = 4
#: Part of the distances between exceptions that are equal where exceptions recur.
_RECURRING: Final = 0.75


class Requests(Struct, frozen=True):
    """Requests of a program's host, sorted by time.

    Attributes:
        time: When each was made, in ns since 1970.
        kind: What was requested, as numbers from 0 on: a kernel, a graph, a kind of copy.
        thread: The thread that made it.
        work: How many executions it asked for: those of all nodes of a graph, else one.
        counted: Of each kind, whether it is part of a step's content: copies and fills are not.
        optimizing: Of each kind, whether optimizers alone request it.

    """

    time: Integers
    kind: Integers
    thread: Integers
    work: Integers
    counted: npt.NDArray[np.bool_]
    optimizing: npt.NDArray[np.bool_]

    def rows(self, rows: slice | npt.NDArray[np.bool_]) -> "Requests":
        """Return some of the requests."""
        columns = {name: getattr(self, name)[rows] for name in ("time", "kind", "thread", "work")}
        return replace(self, **columns)

    @property
    def done(self) -> Integers:
        """The work of all requests before each one, and of all."""
        return np.append(0, np.cumsum(self.work))


class _Cut(Struct, frozen=True):
    """A sequence of requests cut into steps at the occurrences of an anchor.

    Attributes:
        begins: Position of the first request of each step, and of the first one after the last.
        width: Number of requests in the anchor.
        anchor: Position of an occurrence of the anchor.
        ahead: How many requests after the begin of the anchor a step begins.
        trains: Whether each step has the same number of requests of an optimizer, and some.
        regular: Part of the requests between them in steps with the typical content.
        differing: Requests by which steps differ from the typical content, as part of all of them.
        pause_ns: Median time between a step's first request and the one before.

    """

    begins: Integers
    width: int
    anchor: int
    ahead: int
    trains: bool
    regular: float
    differing: float
    pause_ns: float


def step_bounds(requests: Requests) -> Integers | None:
    """Return when each step began and the last one ended, in ns since 1970; None without steps."""
    requests = requests.rows(slice(-MOST_REQUESTS, None))
    last = requests.rows(slice(-_MOST_SEARCHED, None))
    if last.time.size < _LEAST_REQUESTS:
        return None
    cuts = [
        cut
        for width, positions in _anchors(last)
        for ahead in (0, width)  # a step begins with an anchor, or behind one
        if (cut := _cut(last, positions, width, ahead))
    ]
    if not cuts:
        return _by_optimizers(requests)
    training = [cut for cut in cuts if cut.trains]
    enough = _NEARLY * max(cut.regular for cut in cuts)
    cuts = training or [cut for cut in cuts if cut.regular >= enough]
    most = _NEARLY * max(cut.begins.size for cut in cuts)
    cuts = [cut for cut in cuts if cut.begins.size >= most]
    little = min(cut.differing for cut in cuts) + _AS_LITTLE
    best = max((cut for cut in cuts if cut.differing <= little), key=lambda cut: cut.pause_ns)
    begins = _of_all(requests, best, requests.time.size - last.time.size)
    if not best.trains:
        return _bounds(requests, begins)
    optimizing = np.flatnonzero(requests.optimizing[requests.kind])
    first, last = np.searchsorted(optimizing, begins[[0, -1]])
    number, rest = divmod(int(last - first), begins.size - 1)
    if rest:
        return _bounds(requests, begins)
    # The optimizer of the step before may be there, too.
    reach = begins[0] - 2 * np.diff(begins).max()
    first -= number if first >= number and optimizing[first - number] >= reach else 0
    return _bounds(requests, _behind(optimizing[first:], number), number)


def _behind(optimizing: Integers, number: int) -> Integers:
    """Return where steps of training begin, of each of which an optimizer made `number` requests.

    That is where the optimizer of the step before has ended: where most requests lie between two of
    its own, which are at the positions `optimizing`.
    """
    distances = np.diff(optimizing)
    last = max(range(number), key=lambda place: float(np.median(distances[place::number])))
    begins: Integers = optimizing[last::number] + 1
    return begins


def _by_optimizers(requests: Requests) -> Integers | None:
    """Return steps of training whose contents differ, as `step_bounds` does.

    Between two requests of an optimizer in one step lie few others. None where their number is not
    the same in each step, but the first.
    """
    optimizing = np.flatnonzero(requests.optimizing[requests.kind])
    if optimizing.size < _LEAST_STEPS:
        return None
    if optimizing[-1] - optimizing[0] < max(_LEAST_REQUESTS, _LEAST_OF_ALL * requests.time.size):
        return None
    distances = np.diff(optimizing)
    shortest, longest = float(distances.min()), float(distances.max())
    is_last = np.append(distances >= max(np.sqrt(shortest * longest), longest / 8), True)
    begins = optimizing[is_last] + 1
    numbers = np.diff(np.flatnonzero(is_last))
    if numbers.size < _LEAST_STEPS or np.ptp(numbers):
        return None
    return _bounds(requests, begins, int(numbers[0]))


def _pause_before(requests: Requests, begins: Integers) -> float:
    """Return the median time between the first request of a step and that before."""
    return float(np.median(requests.time[begins[1:-1]] - requests.time[begins[1:-1] - 1]))


def _of_all(requests: Requests, cut: _Cut, skipped: int) -> Integers:
    """Return where steps begin in all requests, of a cut of those after `skipped` ones."""
    if not skipped:
        return cut.begins
    hashes = next(hashes for width, hashes in _windows(requests) if width == cut.width)
    positions = np.flatnonzero(hashes == hashes[cut.anchor + skipped])
    whole = _cut(requests, positions, cut.width, cut.ahead)
    return cut.begins + skipped if whole is None else whole.begins


def _bounds(requests: Requests, begins: Integers, number: int = 0) -> Integers:
    """Return the times of steps that begin at positions, with more at each end that are whole.

    In each of them an optimizer made `number` requests.
    """
    lengths = np.diff(begins)
    begins = begins if number else _from_first(requests, begins)
    after = int(begins[-1] + np.median(lengths))
    times = np.append(requests.time, requests.time[-1] + 1)
    if after < times.size and _regular_segments(requests, np.append(begins, after))[0][-1]:
        begins = np.append(begins, after)
    elif not number and requests.time.size - begins[-1] in lengths:
        begins = np.append(begins, requests.time.size)
    for begin in _earlier(requests, begins, trains=number > 0):
        is_whole = _regular_segments(requests, np.append(begin, begins))[0][0]
        optimizing = requests.optimizing[requests.kind[begin : begins[0]]].sum()
        if not is_whole and not 0 < optimizing <= number:
            break
        begins = np.append(begin, begins)
    bounds: Integers = times[begins]
    return bounds


def _from_first(requests: Requests, begins: Integers) -> Integers:
    """Return steps of one length from where the first began, if one more is whole then.

    A program pauses inside its steps, too, but the first one begins where start-up ends.
    """
    length, kind = int(begins[1] - begins[0]), requests.kind
    repeats = np.append(kind[:-length] == kind[length:], False)
    ahead = int(np.argmin(np.append(repeats[: begins[0]][::-1], False)))
    behind = int(np.argmin(repeats[begins[-2] :]))
    is_whole = np.ptp(np.diff(begins)) == 0 and ahead < length <= ahead + behind
    return begins - ahead if is_whole and ahead < begins[0] else begins


def _earlier(requests: Requests, begins: Integers, *, trains: bool) -> list[int]:
    """Return where steps may begin before the others, with the same requests as these, last first.

    If steps have these inside, too, as for each batch, it is at the usual length. A first step of
    training may be longer: an optimizer makes its tensors in it.
    """
    hashes = next(hashes for width, hashes in _windows(requests) if width == _OPENING)
    openings, numbers = np.unique(hashes[begins[:-1]], return_counts=True)
    same = np.flatnonzero(hashes == openings[np.argmax(numbers)])
    is_inside = (same >= begins[0]) & (same < begins[-1])
    lengths, same = np.diff(begins), same[same < begins[0]]
    if _NEARLY * is_inside.sum() > begins.size:
        usual = same[same == begins[0] - int(np.median(lengths))]
        near = same[same >= begins[0] - 2 * lengths.max()]
        same = usual if usual.size or not trains else near[:1]
    return list(same[::-1].tolist())


def _anchors(requests: Requests) -> Iterator[tuple[int, Integers]]:
    """Yield width and positions of anchors, of the frequencies that explain most requests.

    Of each frequency and width it is the one with the longest pauses before it, of those that are
    nearly as evenly spaced as any: a program waits between its steps.
    """
    anchors: dict[int, list[tuple[int, Integers]]] = {}
    explained: dict[int, int] = {}
    done = requests.done
    pause = np.log1p(np.diff(requests.time, prepend=requests.time[:1]))
    for width, hashes in _windows(requests):
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        edges = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        numbers = np.diff(np.append(edges, ordered.size))
        ends = edges + numbers - 1
        span, distances = order[ends] - order[edges], np.maximum(numbers - 1, 1)
        fits = (numbers > _LEAST_STEPS) & (ordered[edges] != 0)
        work = done[order[ends]] - done[order[edges]]
        fits &= work >= _LEAST_OF_ALL * done[-1] * distances / numbers
        # Mean squares of distances between occurrences, group by group, over squares of means.
        squares = np.append(0, np.cumsum(np.diff(order).astype(np.float64) ** 2))
        unevenness = (squares[ends] - squares[edges]) * distances / np.maximum(span, 1) ** 2
        pauses = np.add.reduceat(pause[order], edges) / numbers
        for number in np.unique(numbers[fits]).tolist():
            groups = np.flatnonzero(fits & (numbers == number))
            even = groups[unevenness[groups] <= _AS_EVEN * unevenness[groups].min()]
            best = even[np.argmax(pauses[even])]
            anchors.setdefault(number, []).append((width, order[edges[best] : ends[best] + 1]))
            explained[number] = explained.get(number, 0) + number * groups.size
    for number in sorted(explained, key=lambda n: -explained[n])[:_FREQUENCIES]:
        yield from anchors[number]


def _windows(requests: Requests) -> Iterator[tuple[int, Hashes]]:
    """Yield widths and hashes of the windows at each request (0: none), each from its halves."""
    random = np.random.default_rng(0)
    value = random.integers(1, 1 << 63, int(requests.kind.max()) + 1, np.uint64) | np.uint64(1)
    hashes = value[requests.kind]
    by_thread = [np.flatnonzero(requests.thread == t) for t in np.unique(requests.thread)]
    for width in _WIDTHS:
        yield width, hashes
        doubled = np.zeros_like(hashes)
        for rows in by_thread:
            if rows.size <= width:
                continue
            first, second = hashes[rows[:-width]], hashes[rows[width:]]
            mixed = (first * np.uint64(0x9E3779B97F4A7C15)) ^ (second >> np.uint64(7)) ^ second
            doubled[rows[:-width]] = np.where((first == 0) | (second == 0), 0, mixed | np.uint64(1))
        hashes = doubled


def _cut(requests: Requests, positions: Integers, width: int, ahead: int) -> _Cut | None:
    """Return the steps that begin `ahead` of the positions, None if too few are regular."""
    anchor = int(positions[0])
    positions = positions[positions + ahead < requests.time.size] + ahead
    is_regular, trains, differing = _regular_segments(requests, positions)
    exceptions = np.flatnonzero(~is_regular)
    if is_regular.sum() < _LEAST_STEPS or (not trains and _recur(exceptions)):
        return None
    first, last = _with_exceptions(np.diff(positions), is_regular)
    begins = positions[first : last + 2]
    done = requests.done
    work = np.diff(done[begins])
    regular = float(work[is_regular[first : last + 1]].sum() / work.sum())
    least = max(_LEAST_REQUESTS, _LEAST_OF_ALL * done[-1])
    if regular < _LEAST_REGULAR or work.sum() + np.median(work) < least:
        return None
    less = float(differing[first : last + 1].sum() / (begins[-1] - begins[0]))
    pause_ns = _pause_before(requests, begins)
    return _Cut(begins, width, anchor, ahead, trains, regular, less, pause_ns)


def _with_exceptions(lengths: Integers, is_regular: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Return the first and last segment that is a step.

    They are regular, or as long as an exception between regular ones, as a prefill is.
    """
    first, last = np.flatnonzero(is_regular)[[0, -1]].tolist()
    others = np.flatnonzero(~is_regular & ~np.isin(lengths, lengths[first : last + 1]))
    before, after = others[others < first], others[others > last]
    return int(before.max(initial=-1)) + 1, int(after.min(initial=lengths.size)) - 1


def _regular_segments(
    requests: Requests, positions: Integers
) -> tuple[npt.NDArray[np.bool_], bool, npt.NDArray[np.float64]]:
    """Return which segments between consecutive positions have nearly the typical content.

    That has of each kind the median of its numbers in the segments. The second value says whether
    each segment trains: most have requests of an optimizer, and all have as many. The third is by
    how many requests segments differ from the typical one.
    """
    segments, kinds = positions.size - 1, requests.counted.size
    inside = requests.kind[positions[0] : positions[-1]]
    segment = np.repeat(np.arange(segments), np.diff(positions))
    counted = requests.counted[inside]
    cells, counts = np.unique(inside[counted] * segments + segment[counted], return_counts=True)
    kind, segment = np.divmod(cells, segments)
    # The median of a kind's counts, which are 0 in segments that have none of it.
    order = np.lexsort((counts, kind))
    first = np.searchsorted(kind[order], np.arange(kinds))
    rows = np.diff(np.append(first, kind.size))
    middle = (segments - 1) // 2 - (segments - rows)
    typical = np.zeros(kinds, np.int64)
    typical[middle >= 0] = counts[order][(first + middle)[middle >= 0]]
    differs = np.abs(counts - typical[kind]) - typical[kind]
    distance = typical.sum() + np.bincount(segment, differs, segments)
    of_optimizer = requests.optimizing[kind]
    steps = np.bincount(segment[of_optimizer], counts[of_optimizer], segments)
    expected = typical[requests.optimizing].sum()
    same = np.asarray(steps == expected)
    is_regular = (distance <= _TOLERANCE * typical.sum()) & same
    return is_regular, bool(expected and same.all()), distance


def _recur(exceptions: Integers) -> bool:
    """Return whether segments recur at one distance, as the last layers of steps do.

    Consecutive ones are as one: the last layer, and the head.
    """
    exceptions = exceptions[np.diff(exceptions, prepend=-2) > 1]
    if exceptions.size < _LEAST_STEPS:
        return False
    _, numbers = np.unique(np.diff(exceptions), return_counts=True)
    return bool(numbers.max() >= _RECURRING * numbers.sum())
