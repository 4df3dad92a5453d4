"""Figures of calls and kernels: sums and medians of launches and executions, each defined once.

`part_figures.open_figures` is the door: all figures of a part of some runs, of which nobody behind
it asks whether they are stored. `times.py` has sums and medians of calls and kernels, as tables.
`views.py` defines in SQL which launches count, for DuckDB and for Spark; `scans.py` makes views of
a trace's files for both.

Only these views decide which launches count and what they add up to; `kernels.py` has the sums, and
a figure of its table with `further` is named nowhere else: profile, report and diff show it.
`identity.py` says which rows of `kernels` are one kernel (`key_of` in Python, `SOURCE` in SQL).
`tables.py` opens a database in which runs are numbers, once for an opened trace of sealed runs.
Whatever groups executions by name takes `names.shown_names`, in which no two functions share a
name. `causes.py` has the rules by which executions are joined to launches in order, for the
recording, `kvtrace import --into` and importers alike.

What the launches and executions of a long sealed run add up to is stored at first use:
`sums_building.add_up` writes the tables of the pass "sums" from the definitions above,
`stored.stored_settings` says whether they are of the files that the run has now, and
`sums_reading.at_rest` of which runs they are read, and of which runs launches are to be added.
`stored.py` keeps figures of many runs, too. Counts and sums are exact either way; medians of stored
times are those of bins (`medians.py`, within 1/64).
"""
