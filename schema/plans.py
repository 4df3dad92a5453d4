"""What is to happen to a trace, written down before its first step: then it happens to its end.

A plan is a file of the journal with a checksum. Whoever carries it out removes it last; if that one
is killed, the next one does, or `kvtrace trace recover`.
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

#: Why runs with a journal are left as they are.
UNSEALED = "it has a journal; let it end, or seal it by kvtrace trace recover"


def commit_plan(out: Path, kind: str, plan: Mapping[str, Any]) -> Path:
    """Write a plan down. From here on it will happen; OSError means that it will not."""
    path = out / JOURNAL / f"{kind}-{secrets.token_hex(8)}.json"

    def write(temporary: Path) -> None:
        temporary.write_text(json.dumps(plan), encoding="utf-8")

    write_whole(path, write)
    return path


def read_plan(path: Path, parsed: Callable[[Any], T], again: str) -> T | None:
    """Return what `parsed` makes of a plan; None where somebody else has finished it.

    Raises:
        DamagedFile: `parsed` refuses it (ValueError, TypeError, AttributeError or KeyError).

    """
    try:
        refuse_irregular(path)
        return parsed(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise DamagedFile(f"{path} is damaged; remove it, and {again}") from error


def unfinished_plans(out: Path, kind: str) -> tuple[Path, ...]:
    """The plans of a kind that are not carried out yet."""
    return tuple(sorted((out / JOURNAL).glob(f"{kind}-*.json")))


def checksum(content: Any) -> str:
    """Return the checksum of what JSON can hold."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
