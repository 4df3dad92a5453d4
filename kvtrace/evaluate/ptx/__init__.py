"""PTX in inline assembly: parsed, and run on NumPy arrays with registers as bits.

It follows the PTX ISA, chapter 9. `statements.py` parses, `types.py` has the types, the tables of
instructions are in `arithmetic.py` and `bits.py`, and `lanes.py` runs a snippet for all lanes at
once. Approximate functions give exact results.
"""
