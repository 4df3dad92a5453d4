"""Recorded faults: traces of planted_faults.py on an H100, with dumps that were made smaller."""

from pathlib import Path

FAULTS = Path(__file__).parents[2] / "fixtures" / "faults"
#: Dumps alone, of other small programs, which `cuda-gdb` 13.0 was asked about before.
DUMPS = FAULTS / "dumps"
