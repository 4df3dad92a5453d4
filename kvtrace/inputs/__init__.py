"""Inputs to run kernels on: recorded, drawn and awkward ones, their sizes, views and structure.

`values.py` has the kinds of numbers, `sizes.py` follows from given inputs, `cases.py` describes
sets of inputs, and `making.py` writes them, views included. `drawn.py` has the distributions that
scripts draw from where no contents were recorded.
"""
