"""Version of the format, compatibility between versions, and the metadata of files.

The compatibility rule: a new minor version only adds nullable columns or tables; a type never
changes. So a reader fills the columns that a file lacks with nulls and ignores unknown columns.
Files of another major version are refused.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kvtrace.schema.errors import DamagedFile, NewerFormat, OlderFormat, SchemaMismatch
from kvtrace.schema.tables import TABLES

_VERSION_KEY = b"kvtrace.format_version"
TABLE_KEY = b"kvtrace.table"
_RUN_KEY = b"kvtrace.run_id"
_PASS_KEY = b"kvtrace.pass"
_SETTINGS_KEY = b"kvtrace.settings"
_WRITER_KEY = b"kvtrace.version"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Facts in a file's metadata: format version, table, run and, for derived parts, the pass.

    `pass_name`, `settings` and `writer_version` are set for derived parts only.
    """

    format_version: str
    table: str
    run_id: str
    pass_name: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    writer_version: str | None = None

    def metadata(self) -> dict[bytes, bytes]:
        """Return the facts as key/value metadata of Parquet and Arrow files."""
        optional = {
            _PASS_KEY: self.pass_name,
            _SETTINGS_KEY: json.dumps(self.settings, sort_keys=True) if self.pass_name else None,
            _WRITER_KEY: self.writer_version,
        }
        return {
            _VERSION_KEY: self.format_version.encode(),
            TABLE_KEY: self.table.encode(),
            _RUN_KEY: self.run_id.encode(),
            **{key: value.encode() for key, value in optional.items() if value is not None},
        }


def version_numbers(version: str) -> tuple[int, int]:
    """Return (major, minor) of "MAJOR.MINOR"; ValueError for other text."""
    match = re.fullmatch(r"(\d{1,6})\.(\d{1,6})", version)
    if match is None:
        raise ValueError(f"{version!r} is not MAJOR.MINOR")
    return int(match[1]), int(match[2])


#: The version of written files: the newest `since` of a table or column.
FORMAT_VERSION: Final = max(
    {table.since for table in TABLES.values()}
    | {column.since for table in TABLES.values() for column in table.columns},
    key=version_numbers,
)


def captured_facts(table: str, run_id: str) -> FileFacts:
    """Return the facts of a captured part in the current format version."""
    return FileFacts(FORMAT_VERSION, table, run_id)


def derived_facts(
    table: str, run_id: str, pass_name: str, settings: Mapping[str, Any], writer_version: str
) -> FileFacts:
    """Return the facts of a pass's part; SchemaMismatch if `settings` are not JSON values."""
    try:
        json.dumps(dict(settings))
    except (TypeError, ValueError) as error:
        raise SchemaMismatch(
            f"the settings of the pass {pass_name} cannot be written as JSON: {error}"
        ) from error
    return FileFacts(FORMAT_VERSION, table, run_id, pass_name, dict(settings), writer_version)


def read_facts(metadata: Mapping[bytes, bytes] | None, source: str) -> FileFacts:
    """Return the facts in a file's key/value metadata; `source` names the file in errors.

    Raises:
        DamagedFile: the file names no version of the format.
        NewerFormat: the major version is newer than this reader's.
        OlderFormat: the major version is older than this reader's.

    """
    texts = {key: value.decode("utf-8", "replace") for key, value in (metadata or {}).items()}
    version = texts.get(_VERSION_KEY)
    if version is None:
        raise DamagedFile(
            f"{source} has no kvtrace.format_version in its metadata; write it with one, as "
            f"{FORMAT_VERSION}, or move the file out of the trace"
        )
    try:
        major, _ = version_numbers(version)
    except ValueError as error:
        raise DamagedFile(
            f"{source} has the format version {version!r}, which is not MAJOR.MINOR, as "
            f"{FORMAT_VERSION}; write it with one, or restore the file"
        ) from error
    own_major, _ = version_numbers(FORMAT_VERSION)
    if major > own_major:
        raise NewerFormat(
            f"{source} has format version {version}, and this kvtrace reads up to {own_major}.x; "
            "read it with a newer kvtrace"
        )
    if major < own_major:
        raise OlderFormat(
            f"{source} has format version {version}, which this kvtrace (format {FORMAT_VERSION}) "
            "no longer reads; read it with an older kvtrace"
        )
    return FileFacts(
        version,
        texts.get(TABLE_KEY, ""),
        texts.get(_RUN_KEY, ""),
        texts.get(_PASS_KEY),
        _settings(texts.get(_SETTINGS_KEY, "{}"), source),
        texts.get(_WRITER_KEY),
    )


def _settings(text: str, source: str) -> dict[str, Any]:
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        raise DamagedFile(f"{source} has settings that are not a JSON object; run its pass again")
    return settings
