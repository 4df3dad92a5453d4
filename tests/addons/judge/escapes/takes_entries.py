"""Makes files without content, names of any length, and attributes, until it may not."""

import os
from pathlib import Path

folder, made = Path(os.environ["HOME"]), 0
try:
    while made < 1_000_000:
        os.close(os.open(folder / f"{made:0200}", os.O_CREAT | os.O_WRONLY))
        made += 1
        os.setxattr(folder / f"{made - 1:0200}", "user.name", bytes(4000))
except OSError as error:
    print(f"kept out: {error!r}")
try:
    while made < 1_000_000:
        os.symlink("x" * 4000, folder / f"link{made}")
        made += 1
except OSError as error:
    print(f"kept out: {error!r}")
print("made", made)
if made > 100_000:
    print("ESCAPED:", made)
