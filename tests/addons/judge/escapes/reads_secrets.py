"""Reads what processes were executed with, and all of its own variables."""

import os
from pathlib import Path

found = [repr(dict(os.environ)).encode()]
for each in Path("/proc").glob("*/environ"):
    try:
        found.append(each.read_bytes())
    except OSError as error:
        print(f"kept out: {error!r}")
if any(b"the-secret" in each for each in found):
    print("ESCAPED: the secret")
