"""A suite's folder: its index `suite.json`, and files by their names in it.

```
suite/
  README.md            what it stands for, and how to run it
  suite.json           the index, as `Suite`
  run.py               times all calls on a GPU; needs torch and Triton only
  device.py            the GPU, and times of launches on it; run.py uses it
  cache.py             makes the L2 cache as the recorded launch found it; run.py uses it
  results.py           times, sums, and their text; run.py uses it
  candidates.py        other functions for the kernels, and comparisons; run.py uses it
  converters/scripts/launching.py, as `launching`: launches calls, as in scripts of repro
  calls/NAME           a call in Python: kernel, grid, options, storages, arguments, as data
  kernels/NAME.ttir    its kernel's IR, and beside it the recorded source in Python, if there is one
  contents/SHA256.zlib contents of a storage as they were recorded, compressed by zlib
```
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from kvtrace.schema.errors import KvtraceError

INDEX: Final = "suite.json"
CALLS: Final = "calls"
KERNELS: Final = "kernels"
CONTENTS: Final = "contents"
#: A minor version adds fields; a major one changes them.
VERSION: Final = "1.0"

Origin = Literal["recorded", "drawn", "random"]
Weighed = Literal["device time", "launches"]


class BadSuite(KvtraceError):
    """Raised if a folder is no suite that can be read."""

    slug: ClassVar[str] = "bad-suite"


@dataclass(frozen=True, slots=True)
class Entry:
    """A call of a suite, and what it stands for.

    Attributes:
        name: of the entry and of its files, as `003-rms_norm_forward`; entries are ordered by it.
        kernel: the kernel's name.
        title: the call with its arguments in a line.
        calls: the recorded calls that it stands for, as `run/call_id`; the first is launched.
        launches: recorded launches of these, without trials of autotuners.
        device_ns: their time on the device, ns; None: not recorded.
        median_ns: the median of the recorded executions of the first call, ns; None: not recorded.
        share: of the run's whole weight (see `Suite.weighed_by`), 0 to 1.
        inputs: where the contents of each storage come from, by its name.
        checks: verdicts of the call by rule: proven, violation, unknown.
        notes: sentences on what is not as recorded.
        updated: storages that a launch both reads and writes, so that the next one finds others.
        before: what the device touched before a launch, the earliest first, as cache.py reads it:
            "write 4096 of x at 0", "read 65536" of other memory; empty: not recorded.
    """

    name: str
    kernel: str
    title: str
    calls: tuple[str, ...]
    launches: int
    device_ns: int | None
    median_ns: float | None
    share: float
    inputs: Mapping[str, Origin]
    checks: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OmittedShare:
    """A part of the run that is no entry: its name, share of the weight, and why."""

    name: str
    share: float
    why: str


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite's index.

    Attributes:
        version: of this format.
        source: the recorded run: command, commit, device, and versions, by name.
        weighed_by: what shares are shares of: time on the device of all that Triton launched, or
            launches where no timeline was recorded.
        weight: the whole of it: ns, or launches.
        device_ns: time on the device of all that ran there, libraries too, ns; None: not recorded.
        entries: by name.
        left_out: calls below the wanted share together, and those that cannot be in a suite.
    """

    version: str
    source: Mapping[str, str]
    weighed_by: Weighed
    weight: int
    device_ns: int | None
    entries: tuple[Entry, ...]
    left_out: tuple[OmittedShare, ...] = ()

    @property
    def covered(self) -> float:
        """The share of the run's weight that the entries stand for, 0 to 1."""
        return sum(entry.share for entry in self.entries)


def write_index(suite: Suite, folder: Path) -> None:
    """Write `suite.json`. Raises OSError."""
    text = json.dumps(asdict(suite), indent=1, ensure_ascii=False)
    (folder / INDEX).write_text(f"{text}\n", encoding="utf-8")


def read_index(folder: Path) -> Suite:
    """Return the index of a suite's folder.

    Raises:
        BadSuite: there is none, or it is not of this major version.
    """
    try:
        content = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadSuite(
            f"{folder} is no suite: {INDEX} cannot be read ({error}); make one with "
            f"kvtrace suite OUT -o {folder}"
        ) from error
    try:
        if str(content["version"]).partition(".")[0] != VERSION.partition(".")[0]:
            raise BadSuite(
                f"{folder} is a suite of version {content['version']}, and this kvtrace reads "
                f"{VERSION}; make it again, or install the kvtrace that made it"
            )
        return Suite(
            **_known(Suite, content)
            | {
                "entries": tuple(Entry(**_known(Entry, entry)) for entry in content["entries"]),
                "left_out": tuple(
                    OmittedShare(**_known(OmittedShare, one)) for one in content["left_out"]
                ),
            }
        )
    except (TypeError, KeyError, AttributeError) as error:
        raise BadSuite(f"{folder / INDEX} is damaged ({error}); make the suite again") from error


def _known(kind: type[Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a class, lists as tuples; what a later minor version has is left."""
    names = {field.name for field in fields(kind)}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in content.items()
        if name in names
    }
