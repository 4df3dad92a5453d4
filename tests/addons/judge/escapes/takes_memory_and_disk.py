"""Takes memory and files in turns, each below its bound."""

import os
import time
from pathlib import Path

folder, kept = Path(os.environ["HOME"]), []
for number in range(100):
    kept.append(b"x" * (4 << 20))
    (folder / f"file{number}").write_bytes(kept[-1])
    print("HOLDS", len(kept) * 8, flush=True)
time.sleep(60)
