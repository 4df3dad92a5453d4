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
UNSEALED_REASON = "it has a journal; let it end, or seal it by kvtrace trace recover"


def commit_plan(out: Path, kind: str, plan: Mapping[str, Any]) -> Path:
    """Write a plan to a new file and return its path; from then on the change will be completed."""
    path = out / JOURNAL / f"{kind}-{secrets.token_hex(8)}.json"

    def write(temporary: Path) -> None:
        temporary.write_text(json.dumps(plan), encoding="utf-8")

    write_whole(path, write)
    return path


def read_plan(path: Path, parse: Callable[[Any], T], again: str) -> T | None:
    """Return `parse` of a plan file's JSON; None if another process has completed the plan.

    `again` says in the error's text how to start the change again.

    Raises:
        DamagedFile: `parse` raised ValueError, TypeError, AttributeError or KeyError.

    """
    try:
        refuse_irregular(path)
        return parse(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise DamagedFile(f"{path} is damaged; remove it, and {again}") from error


def unfinished_plans(out: Path, kind: str) -> tuple[Path, ...]:
    """Return the paths of a kind's plans that are not completed, sorted."""
    return tuple(sorted((out / JOURNAL).glob(f"{kind}-*.json")))


def json_checksum(content: Any) -> str:
    """Return the SHA-256 of a JSON value in hex, with keys sorted."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
