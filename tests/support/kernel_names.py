"""Names of kernels in public traces of PyTorch, nsys and rocprofv3."""

import csv
from pathlib import Path

_FILE = Path(__file__).with_name("kernel_names.tsv")


def recorded_names() -> list[list[str]]:
    """Return tool, library, name and short name of each."""
    with _FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t"))[1:]


RECORDED = recorded_names()
