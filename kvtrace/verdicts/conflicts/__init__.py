"""Two actors, programs of a launch or lanes of one program, that touch a byte in no order.

Three rules: `race.py` is about programs, `race_within.py` about lanes of one (whose pairs are in
`lane_pairs.py`), `lane_conflict.py` about lanes of one store. The first two are one loop,
`pairs.py`: all pairs that clash, the outcome of each by formulas, and of what stays open by an
evaluation. They share with the third:

- one way from outcomes to verdicts, also in `pairs.py`
- who may meet: `sharers.py`, the accesses to what a launch writes; `parts.py`, what conflicts
- one search of a pair, `search.py`: `digits.py` of addresses, then two `copies.py` of everything,
  by `read_indices.py` where contents decide, and what `data.py` says of contents
- why it does no harm: `same_values.py`, and for programs `exclusion.py` (counters, locks)
- what orders threads: `order.py` and `barriers.py` between ops, `threads.py` that do them,
  `releases.py` of atomics
- one set of `outcomes.py`, and the `messages.py` made of them

What an evaluation is asked differs, and so do the algorithms. Between programs, of each byte the
smallest and the largest program (`sweep.py`), and whether atomics order them, in several orders
(`clocks.py`): `race_evaluated.py`. Within a program, the bytes of each program and each trip:
`race_within.py`. A violation is run before it is shown. Two programs race if both are seen to touch
a byte (`race_replay.py`); two lanes if two orders of them leave two results (`lane_replay.py` in
`lane_orders.py`, `two_orders.py` for one store).
"""
