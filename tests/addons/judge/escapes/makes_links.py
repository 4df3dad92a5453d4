"""Makes symbolic and hard links to a file of the host, and reads them here."""

import os
from pathlib import Path

folder = Path(os.environ["HOME"]).parent
(folder / "link").symlink_to("@HOST@/precious")
(folder / "folder").symlink_to("@HOST@")
for attempt in (
    lambda: (folder / "link").read_text(),
    lambda: (folder / "folder" / "precious").read_text(),
    lambda: (folder / "hard").hardlink_to("@HOST@/precious"),
    lambda: (folder / "of_system").hardlink_to(os.path.realpath(os.sys.executable)),
    lambda: os.link("/dev/null", folder / "device"),
):
    try:
        print("ESCAPED:", attempt())
    except OSError as error:
        print(f"kept out: {error!r}")
