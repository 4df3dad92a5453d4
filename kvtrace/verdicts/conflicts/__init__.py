"""Two actors, programs of a launch or lanes of one program, that touch a byte in no order.

Three rules: `race.py` is about programs, `race_within.py` about lanes of one (whose pairs are in
`lane_pairs.py`), `lane_conflict.py` about lanes of one store. They share:

- who may meet: `sharers.py`, the accesses to what a launch writes; `parts.py`, what conflicts
- one search of a pair, `search.py`: `digits.py` of addresses, then two `copies.py` of everything,
  by `read_indices.py` where contents decide, and what `data.py` says of contents
- why it does no harm: `same_values.py`, and for programs `exclusion.py` (counters, locks)
- what orders threads: `order.py` and `barriers.py` between ops, `threads.py` that do them,
  `releases.py` of atomics
- one set of `outcomes.py`, and the `messages.py` made of them

What formulas leave open is evaluated, by three algorithms: `race_evaluated.py` (with `sweep.py` and
`clocks.py`), `race_within_evaluated.py`, and in `lane_conflict.py`. A violation is run before it is
shown: `race_replay.py`, `lane_replay.py` (in `lane_orders.py`), `two_orders.py`.
"""
