"""Write dev.lock from the environment this runs in: names and versions, no origins."""

import platform
from importlib.metadata import distributions
from pathlib import Path

LOCK = Path(__file__).with_name("dev.lock")
LINUX_ONLY = {"liger_kernel", "triton"}
HEAVY = Path(__file__).with_name("spark.lock")
LEFT_OUT = {"kvtrace", "pip", "wheel"}


def requirement(name: str, version: str) -> str:
    """One line of the lock; a local version label (torch's "+cpu") is left to the machine."""
    pinned = f"{name}=={version.partition('+')[0]}"
    return f'{pinned}; sys_platform == "linux"' if name in LINUX_ONLY else pinned


def main() -> None:
    """Keep the comment at the top of the file and replace the rest."""
    head = [line for line in LOCK.read_text().splitlines() if line.startswith("#")]
    heavy = {line.partition("==")[0].lower() for line in HEAVY.read_text().splitlines()}
    found = {item.metadata["Name"]: item.version for item in distributions()}
    kept = sorted(
        (name for name in found if name not in LEFT_OUT and name.lower() not in heavy),
        key=str.lower,
    )
    LOCK.write_text("\n".join([*head, *(requirement(name, found[name]) for name in kept), ""]))
    print(f"{LOCK.name}: {len(kept)} packages, from Python {platform.python_version()}")


if __name__ == "__main__":
    main()
