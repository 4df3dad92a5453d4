"""Writes files until it may not."""

import os
from pathlib import Path

folder, size = Path(os.environ["HOME"]).parent, 0
for number in range(64):
    (folder / f"file{number}").write_bytes(bytes(32 << 20))
    size += 32
print("ESCAPED:", size, "MiB")
