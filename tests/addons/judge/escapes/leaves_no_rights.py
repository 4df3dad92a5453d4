"""Leaves folders and files that nobody may read or remove."""

import os
from pathlib import Path

folder = Path(os.environ["HOME"]).parent
for name in ("closed", "home/closed"):
    (folder / name).mkdir()
    (folder / name / "file").write_text("x")
    (folder / name / "file").chmod(0)
    (folder / name).chmod(0)
folder.chmod(0)
