"""Conflicts in memory: two programs, or two lanes of one program, that access a byte in no order.

Programs and lanes are called *actors* here; two actors *meet* where they touch the same byte.

Three rules: `race.py` compares programs, `race_within.py` lanes of one program (their pairs are in
`lane_pairs.py`), `lane_conflict.py` lanes of one store. The first two share a loop, `pairs.py`: it
lists all pairs of accesses that clash and decides each by formulas; an evaluation of the grid
decides the pairs that formulas leave open. All three share:

- the verdicts made of outcomes, also in `pairs.py`
- the accesses to storages that a launch writes: `sharers.py`; which kinds conflict: `parts.py`
- one search of a pair, `search.py`: by the digits of both addresses, then by two `copies.py` of all
  formulas, then by `read_indices.py` where recorded contents decide, by the numbers or by the
  spans of single rows; `data.py` names these contents
- reasons why a meeting does no harm: `same_values.py`, and for programs `releases.py` (counters,
  locks)
- the order of threads: `barriers.py` between ops and in pipelined loops, with the orders that they
  leave to a pair, `threads.py` that execute the ops, `releases.py` of atomics
- one set of `outcomes.py`, and the `messages.py` made of outcomes

The rules evaluate the grid differently. Between programs, `race_evaluated.py` finds the bytes that
two of them touch. `clocked_runs.py` finds out whether atomics order two accesses: in several orders
of the programs (`clocks.py`) unless others may decide (`drawn_numbers.py`), or by one order what
all have in common (`fixed_waits.py`). Within a program, `race_within.py` compares the bytes of its
trips. Both keep the smallest and the largest actor of each byte (`kvtrace/evaluate/touches.py`). A
violation is replayed before it is reported: two programs race if both are seen to touch a byte
(`race_replay.py`); two lanes race if two orders of the lanes leave two results (`lane_replay.py`,
with the runs of `lane_orders.py`), or if one store writes two values (`lane_replay.py`).
"""
