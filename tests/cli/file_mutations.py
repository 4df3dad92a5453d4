"""Other tools' files as nobody wrote them: one to three changes of a sound one, the same for the
same numbers.

A change is made to bytes (flipped, cut, repeated, zeros), to JSON (types swapped, numbers without
bounds, keys twice, nothing in arrays, wrong nesting, texts that are not UTF-8), to tables in SQLite
and Parquet, to rows of CSV, or to how the file is packed.
"""

import csv
import gzip
import io
import json
import random
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.cli.trace_mutations import HOSTILE, change_columns, change_rows, change_values

_GZIP = b"\x1f\x8b"
#: More of a JSON text than this is changed as text, since parsing takes long.
_PARSED = 2 << 20
_NUMBERS = (0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 10**30, 10**400,
            -0.0, 0.5, 1e-320, 1e308, float("nan"), float("inf"), -float("inf"))  # fmt: skip
_SQL_VALUES = (None, -1, 0, 2**40, 2**63 - 1, -(2**63), 1.5, 1e300, float("inf"), "12", "x", "",
               "\x1b[31m", "x" * 100_000, b"\xff\xfe\x00", b"", bytes(100_000))  # fmt: skip
#: Texts that take the place of a JSON value as they stand.
_TOKENS = ("1e999", "-1e999", "9" * 5000, "NaN", "-", "01", "nul", '"\\ud800"', '"\x00"', '"',
           "[" * 100_000, '{"a":' * 100_000, "{}", "[]", "", "\N{ZERO WIDTH SPACE}")  # fmt: skip


def mutate_file(source: Path, folder: Path, rng: random.Random) -> tuple[Path, str]:
    """Write a changed copy of a file or a folder of Parquet; return its path and its changes."""
    path = folder / source.name
    if source.is_dir():
        shutil.copytree(source, path)
    else:
        shutil.copyfile(source, path)
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        mutation = _change_bytes if rng.random() < 0.2 else _mutation_of(path)
        try:
            done.append(mutation(path, rng))
        except (
            OSError, ValueError, IndexError, RecursionError, OverflowError, TypeError, EOFError,
            sqlite3.Error, pa.ArrowException, csv.Error, zlib.error,
        ) as error:  # fmt: skip
            done.append(f"nothing ({type(error).__name__}: {str(error)[:60]})")
    return path, f"{source.name}: {'; '.join(done)}"


def _mutation_of(path: Path) -> Callable[[Path, random.Random], str]:
    if path.is_dir():
        return _change_parquet
    head = path.read_bytes()[:16]
    if head.startswith(b"SQLite format 3\0"):
        return _change_database
    if path.suffix == ".csv":
        return _change_csv
    is_json = head.startswith(_GZIP) or head.lstrip()[:1] in (b"{", b"[")
    return _change_json if is_json else _change_bytes


# -- bytes --------------------------------------------------------------------------------------


def _change_bytes(path: Path, rng: random.Random) -> str:
    if path.is_dir():
        path = rng.choice(sorted(path.iterdir()))
    content = path.read_bytes()
    at, size = rng.randrange(len(content)), rng.choice((1, 8, 64, 4096))
    match rng.randrange(8):
        case 0:
            fresh, what = content[:at], f"cut to {at}"
        case 1:
            fresh, what = content[:at] + content[at + size :], f"{size} bytes less at {at}"
        case 2:
            fresh, what = content[: at + size] + content[at:], f"{size} bytes twice at {at}"
        case 3:
            fresh = content[:at] + rng.randbytes(size) + content[at + size :]
            what = f"{size} bytes of noise at {at}"
        case 4:
            fresh = content[:at] + bytes(size) + content[at + size :]
            what = f"{size} zeros at {at}"
        case 5:
            fresh, what = content + content, "twice"
        case 6:
            fresh = content[:at] + b"\xff" * size + content[at + size :]
            what = f"{size} bytes 0xff at {at}"
        case _:
            flipped = bytearray(content)
            for _ in range(rng.choice((1, 1, 10))):
                flipped[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            fresh, what = bytes(flipped), "bits flipped"
    path.write_bytes(fresh)
    return what


# -- JSON, and lines of it ------------------------------------------------------------------------


def _change_json(path: Path, rng: random.Random) -> str:
    """Change values of JSON, or of a line of it; what is packed is packed again, or is not."""
    content = path.read_bytes()
    is_packed = content.startswith(_GZIP)
    text = (gzip.decompress(content) if is_packed else content).decode("utf-8", "replace")
    lines = text.splitlines(keepends=True)
    place = 0
    # One object a line, as in logs; else a file is one value.
    is_log = len(lines) > 1 and lines[0].startswith("{") and lines[0].rstrip().endswith("}")
    if is_log:
        place = rng.randrange(len(lines))
    piece = lines[place] if is_log else text
    if len(piece) > _PARSED or rng.random() < 0.3:
        piece, what = _changed_text(piece, rng)
    else:
        value, what = json.loads(piece), ""
        for _ in range(rng.choice((1, 1, 5))):
            value, what = _changed_value(value, rng)
        piece = json.dumps(value)
        if rng.random() < 0.2:
            piece, what = _with_key_twice(piece, rng), f"{what}; a key twice"
    text = "".join((*lines[:place], piece, *lines[place + 1 :])) if is_log else piece
    raw = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.05:
        raw, what = text.encode("utf-16"), f"{what}; as UTF-16"
    path.write_bytes(gzip.compress(raw, 1) if is_packed != (rng.random() < 0.05) else raw)
    return what


def _changed_text(text: str, rng: random.Random) -> tuple[str, str]:
    """Put a text in the place of a value, wherever it stands."""
    at = text.find(":", rng.randrange(len(text))) + 1
    token = rng.choice(_TOKENS)
    end = next((end for end in range(at, min(at + 200, len(text))) if text[end] in ",}]"), at)
    if rng.random() < 0.2:
        return _with_key_twice(text, rng), "a key twice"
    return f"{text[:at]}{token}{text[end:]}", f"{token[:12]!r} at {at}"


def _with_key_twice(text: str, rng: random.Random) -> str:
    """Give an object a key twice, with another value."""
    colon = text.find('":', rng.randrange(len(text)))
    begin = text.rfind('"', 0, max(colon, 0))
    if begin < 0:
        return text
    value = rng.choice(("1", "null", "[]", '"x"', "1e999"))
    return f"{text[:begin]}{text[begin : colon + 2]}{value},{text[begin:]}"


def _changed_value(root: Any, rng: random.Random) -> tuple[Any, str]:
    """Change a value at some depth; return the whole."""
    holder: Any = [root]
    key: Any = 0
    while isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.85:
        holder = holder[key]
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
    value = holder[key]
    if holder is not root and isinstance(holder, list) and len(holder) == 1 and holder[0] is root:
        fresh, what = _other_value(value, rng)
        return fresh, what
    if isinstance(holder, dict) and rng.random() < 0.15:
        del holder[key]
        return root, f"without {str(key)[:20]}"
    holder[key], what = _other_value(value, rng)
    return root, f"{str(key)[:20]}: {what}"


def _other_value(value: Any, rng: random.Random) -> tuple[Any, str]:
    match rng.randrange(9):
        case 0:
            return None, "null"
        case 1:
            number = rng.choice(_NUMBERS)
            return number, f"= {str(number)[:24]}"
        case 2:
            text = rng.choice(HOSTILE)
            return text, f"= {text[:16]!r}"
        case 3:
            empty = rng.choice(([], {}, "", False))
            return empty, f"= {empty!r}"
        case 4:
            return [value], "in an array"
        case 5:
            return {"x": value}, "in an object"
        case 6 if isinstance(value, list):
            return value * rng.choice((0, 2, 3)), "repeated"
        case 7 if isinstance(value, int | float):
            return rng.choice((str(value), -value, value * 2**40)), "as another number"
        case _:
            deep: Any = value
            for _ in range(rng.choice((3, 500))):
                deep = [deep]
            return deep, "deep"


# -- tables ---------------------------------------------------------------------------------------


def _change_database(path: Path, rng: random.Random) -> str:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1"
        names = [name for (name,) in database.execute(query)]
        likely = [name for name in names if "KIND" in name or "dispatch" in name or "Strin" in name]
        table = rng.choice(likely if likely and rng.random() < 0.6 else names)
        columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
        column = rng.choice(columns)
        match rng.randrange(8):
            case 0:
                database.execute(f'DROP TABLE "{table}"')
                return f"without {table}"
            case 1:
                database.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "x y"')
                return f"{table}.{column} renamed"
            case 2:
                database.execute(f'DELETE FROM "{table}"')
                return f"{table} empty"
            case 3:
                database.execute(f'INSERT INTO "{table}" SELECT * FROM "{table}"')
                return f"{table} twice"
            case 4:
                raw = rng.choice(("ff", "00", "fffe41", "c328", "eda080")) * rng.choice((1, 30_000))
                database.execute(f'UPDATE "{table}" SET "{column}" = CAST(x\'{raw}\' AS TEXT)')
                return f"{table}.{column}: text that is not UTF-8"
            case 5:
                value = rng.choice(_SQL_VALUES)
                database.execute(f'UPDATE "{table}" SET "{column}" = ?', (value,))
                return f"{table}.{column} = {str(value)[:16]!r}"
            case _:
                value = rng.choice(_SQL_VALUES)
                database.execute(
                    f'UPDATE "{table}" SET "{column}" = ? WHERE rowid IN '
                    f'(SELECT rowid FROM "{table}" LIMIT 1 OFFSET ?)', (value, rng.randrange(4)),
                )  # fmt: skip
                return f"a row of {table}.{column} = {str(value)[:16]!r}"


def _change_parquet(path: Path, rng: random.Random) -> str:
    part = rng.choice(sorted(path.glob("*.parquet")))
    if rng.random() < 0.1:
        part.unlink()
        return f"without {part.name}"
    rows, what = rng.choice((change_values, change_values, change_columns, change_rows))(
        pq.ParquetFile(part).read(), rng
    )
    pq.write_table(rows, part)
    return f"{part.stem}: {what}"


def _change_csv(path: Path, rng: random.Random) -> str:
    rows = list(csv.reader(io.StringIO(path.read_text(errors="replace"), newline="")))
    row = rng.choice(rows if rng.random() < 0.7 else rows[:1])
    place = rng.randrange(len(row))
    text = rng.choice((*HOSTILE, "-1", "1e30", "9" * 40, "Agent 9", "nan", "\xff", '"', '"' * 3))
    match rng.randrange(6):
        case 0:
            del row[place]
            what = f"a field less: {place}"
        case 1:
            row.insert(place, text)
            what = "a field more"
        case 2:
            rows *= 2
            what = "rows twice"
        case 3:
            rows.sort()
            what = "sorted, with the header"
        case _:
            row[place] = text
            what = f"field {place} = {text[:16]!r}"
    out = io.StringIO()
    csv.writer(out, quoting=rng.choice((csv.QUOTE_ALL, csv.QUOTE_MINIMAL))).writerows(rows)
    content = out.getvalue()
    if rng.random() < 0.1:
        content, what = content.replace('"', "", 1), f"{what}; a quote less"
    path.write_text(content, encoding=rng.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16")))
    return what
