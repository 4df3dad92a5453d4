"""Races by what atomics return, in the orders that a few runs do not show."""

from itertools import permutations, product

import pytest
import triton
import triton.language as tl

from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts import all_orders
from kvtrace.verdicts.judge import judge
from tests.verdicts.calls import call, ids, tensor
from tests.verdicts.slot_kernels import zeros


@triton.jit
def by_number(counter, x, FIRST: tl.constexpr, SECOND: tl.constexpr):
    p = tl.program_id(0)
    old = tl.atomic_add(counter, 1)
    if ((p == 0) & (old == FIRST)) | ((p == 2) & (old <= SECOND)):
        tl.store(x, p + 1)


@triton.jit
def by_update(place, x, UPDATE: tl.constexpr):
    p = tl.program_id(0)
    if UPDATE == "max":
        old = tl.atomic_max(place, p + 1)
    if UPDATE == "max of any":
        old = tl.atomic_max(place, p)
    if UPDATE == "swap":
        old = tl.atomic_cas(place, 0, p + 1)
    if UPDATE == "lists":
        old = tl.atomic_xchg(place, p + 1)
    if UPDATE == "lists" or old == 0:
        tl.store(x + old, p + 1)


@triton.jit
def announced(flags, x, SEM: tl.constexpr, USED: tl.constexpr):
    p = tl.program_id(0)
    own = tl.atomic_add(flags + p, 1, sem=SEM)
    other = tl.atomic_add(flags + 1 - p, 1, sem=SEM)
    if (other == 0) & (own >= 0 if USED else True):
        tl.store(x, p + 1)


@triton.jit
def permits(free, x):
    seen = tl.atomic_add(free, -1)
    while seen <= 0:
        tl.atomic_add(free, 1)
        seen = tl.atomic_add(free, -1)
    tl.store(x, tl.load(x) * 3 + tl.program_id(0))
    tl.debug_barrier()
    tl.atomic_add(free, 1)


def verdicts(kernel, programs, **arguments):
    judged = judge(call(kernel, (programs,), x=tensor(8, dtype="i32"), **arguments), ["race"])
    return {verdict.verdict for verdict in judged if verdict.access == "store"}


@pytest.mark.parametrize(("first", "second"), [*product(range(3), range(-1, 3))])
def test_two_programs_race_if_any_order_lets_both_store(first, second):
    both = any(
        order.index(0) == first and order.index(2) <= second for order in permutations(range(3))
    )
    found = verdicts(by_number, 3, counter=zeros(1), FIRST=first, SECOND=second)

    assert found == {"violation" if both else "proven"}


@pytest.mark.parametrize(
    ("update", "start", "answer"),
    [
        ("max", 0, "proven"),
        ("max of any", 0, "violation"),  # 0 and 1 see 0 if they come first, in that order
        ("swap", 0, "proven"),
        ("lists", 5, "proven"),
        ("lists", 1, "violation"),  # the first program and the one after program 0 see 1
    ],
)
def test_places_that_follow_from_what_an_update_replaced(update, start, answer):
    assert verdicts(by_update, 4, place=ids(start), UPDATE=update) == {answer}


@pytest.mark.parametrize("sem", ["relaxed", "acquire", "release", "acq_rel"])
def test_updates_of_two_places_have_no_one_order_unless_both_acquire_and_release(sem):
    answers = [verdicts(announced, 2, flags=zeros(2), SEM=sem, USED=used) for used in (True, False)]
    assert answers == [{"proven" if sem == "acq_rel" else "unknown"}, {"unknown"}]


@pytest.mark.parametrize(("free", "answer"), [(1, "proven"), (2, "violation")])
def test_programs_that_wait_for_a_permit_let_others_run(free, answer):
    """Each takes a permit and gives it back meanwhile, which wakes the others for ever."""
    assert verdicts(permits, 3, free=ids(free)) == {answer}


@triton.jit
def handed_over(flag, x, y, FIRST: tl.constexpr, GIVES: tl.constexpr, TAKES: tl.constexpr):
    if tl.program_id(0) == 0:
        if FIRST:
            tl.atomic_xchg(flag, 1)
        tl.store(x, 5)
        tl.atomic_xchg(flag, 1, sem=GIVES)
    else:
        while tl.atomic_add(flag, 0, sem=TAKES) == 0:
            pass
        tl.store(y, tl.load(x))


@pytest.mark.parametrize(
    ("first", "gives", "takes", "cause"),
    [
        (False, "release", "acquire", None),
        (False, "relaxed", "acquire", "does not release what comes before it"),
        (False, "release", "relaxed", "does not acquire what others released"),
        (True, "relaxed", "acquire", "does not release what comes before it"),
    ],
)
def test_a_race_says_what_its_atomics_lack(first, gives, takes, cause):
    handed = {"flag": zeros(1), "x": zeros(1), "y": zeros(1)}
    options = {"FIRST": first, "GIVES": gives, "TAKES": takes}
    found = judge(call(handed_over, (2,), **handed, **options), ["race"])
    texts = [verdict.message for verdict in found if verdict.verdict == "violation"]
    assert [cause in text for text in texts] == ([True] if cause else [])


@triton.jit
def tickets(counter, x, o):
    ticket = tl.atomic_add(counter, 1)
    tl.store(x + ticket, tl.load(o + ticket) + tl.program_id(0))


def test_the_search_compares_programs_with_equal_histories_once(monkeypatch):
    asked = []
    shares = all_orders._Touch.shares
    monkeypatch.setattr(
        all_orders._Touch, "shares", lambda self, other: asked.append(0) or shares(self, other)
    )
    counts = []
    for programs in (3, 6):
        asked.clear()
        given = {"counter": zeros(1), "x": tensor(8, dtype="i32"), "o": tensor(8, dtype="i32")}
        bound = BoundCall(call(tickets, (programs,), **given))
        stores = [op.index for op in bound.call.module.ops if op.name == "tt.store"]
        assert all_orders.races_in_all_orders(bound, [(stores[0], stores[0])]) == {}
        counts.append(len(asked))
    # Of 6 and 720 last states: two programs with their tickets, and each store with the counter.
    assert counts == [3 * (3 * 2) + 3 * 3, 15 * (6 * 5) + 6 * 6]
