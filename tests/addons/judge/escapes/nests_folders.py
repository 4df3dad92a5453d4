"""Leaves folders in folders, three thousand deep."""

import os
from pathlib import Path

before = Path.cwd()
os.chdir(os.environ["HOME"] + "/..")
for _ in range(3000):
    Path("deeper").mkdir()
    os.chdir("deeper")
os.chdir(before)
