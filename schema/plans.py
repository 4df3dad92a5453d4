"""Plans: changes to a trace in several steps, written to disk first, then always completed.

A plan is a file in the journal folder with a checksum, and is removed last. If the process that
executes a plan is killed, the next process, or `kvtrace trace recover`, completes the plan.
"""

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.layout import JOURNAL, refuse_irregular, write_whole

T = TypeVar("T")

#: The reason for which runs with a journal are skipped.
UNSEALED = "it has a journal; let it end, or seal it by kvtrace trace recover"


def commit_plan(out: Path, kind: str, plan: Mapping[str, Any]) -> Path:
    """Write a plan to disk, which commits the change; after an OSError it will not happen."""
    path = out / JOURNAL / f"{kind}-{secrets.token_hex(8)}.json"

    def write(temporary: Path) -> None:
        temporary.write_text(json.dumps(plan), encoding="utf-8")

    write_whole(path, write)
    return path


def read_plan(path: Path, parsed: Callable[[Any], T], again: str) -> T | None:
    """Return a plan parsed by `parsed`; None if another process has completed the plan.

    Raises:
        DamagedFile: `parsed` raised ValueError, TypeError, AttributeError or KeyError.

    """
    try:
        refuse_irregular(path)
        return parsed(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise DamagedFile(f"{path} is damaged; remove it, and {again}") from error


def unfinished_plans(out: Path, kind: str) -> tuple[Path, ...]:
    """Return the plans of a kind that are not completed."""
    return tuple(sorted((out / JOURNAL).glob(f"{kind}-*.json")))


def checksum(content: Any) -> str:
    """Return the checksum of a JSON value."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
