"""Two lanes of one program at one byte, which `races/search.py` looks for.

`lane_conflict.py` is the rule about lanes of one store, `two_orders.py` runs it, `telling.py` has
its words. `race.py` is the rule about lanes of different ops, or trips: `race_pairs.py` judges two
of them by the barriers between them (`order.py`) and by who does them (`threads.py`), and
`race_replay.py` runs what is left, in `lane_orders.py`; `swept.py` proves
by an evaluation that two touch no byte in common.
"""
