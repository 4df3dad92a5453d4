"""Redacted copies of traces, without chosen kinds of private contents.

`privacy.py` says what each column may hold. Every file of the copy is written anew from the values
that stay, so that statistics, dictionaries and metadata hold nothing else; other files in the
folder are not copied. Results of passes are left out, since they repeat their inputs; the passes
can be run again on the copy.
"""

import os
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from kvtrace.schema.content import artifact_content, artifact_row, stack_id
from kvtrace.schema.errors import BadSetting, TraceWriteError
from kvtrace.schema.layout import (
    JOURNAL,
    client_folders,
    part_numbers,
    part_path,
    pass_of_part,
    pass_parts,
    run_folder,
    run_ids,
    spooled_runs,
    sync_folder,
)
from kvtrace.schema.merging import merged_rows
from kvtrace.schema.opened_parts import open_part, part_facts
from kvtrace.schema.output_folders import check_output_folder
from kvtrace.schema.parts import sorted_rows, write_part
from kvtrace.schema.plans import unfinished
from kvtrace.schema.privacy import (
    ARTIFACTS,
    IR_KINDS,
    LEAVES,
    MADE_BY_THE_RUN,
    ROWS,
    UNKNOWN_ARTIFACT,
    made_by_the_run,
)
from kvtrace.schema.private import PRIVATE, Leaf, Private
from kvtrace.schema.table_types import Table
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.versions import FORMAT_VERSION

REDACTED: Final = "redacted"

#: Rewrites IR text, given its kind, the text, and functions from paths and names to replacements.
#: Returns None if the text cannot be parsed, so that its content is unknown.
RewriteIr = Callable[[str, str, Callable[[str], str], Callable[[str], str]], str | None]

#: A number, a truth value or an element type; harmless literals are tuples of these, or one.
_LITERAL_WITHOUT_NAMES: Final = re.compile(
    r"True|False|None|-?inf|nan|-?\d[-+.\de]*|(?:torch\.)?[a-z]{1,8}\d[a-z0-9_]{0,8}"
)
_BETWEEN: Final = re.compile(r"[(), ]+")
_SLASH: Final = re.compile(r"[/\\]")
#: Key of `runs.versions` with the operating system's build, which may identify a host.
_PLATFORM: Final = "platform"
#: Keys of compile options that may hold names: those for names, and a backend's (`inductor.…`).
_KEYS_WITH_NAMES: Final = re.compile(r"names?$|\.")
_COMPILERS_OWN: Final = frozenset(("backend_name",))


@dataclass(frozen=True, slots=True)
class Redaction:
    """Result of `redact`: kinds left out, runs, names of passes to run again on the copy."""

    left_out: tuple[Private, ...]
    runs: tuple[str, ...]
    passes: tuple[str, ...] = ()
    unreadable_ir: int = 0


def redact(
    trace: str | os.PathLike[str],
    out: str | os.PathLike[str],
    left_out: Collection[Private],
    rewrite: RewriteIr,
) -> Redaction:
    """Write a copy of a trace to the new folder `out`, without the kinds `left_out`.

    The trace itself does not change. The copy gets its name once it is complete.

    Raises:
        TraceNotFound, EmptyTrace: as `open_trace`.
        BadSetting: `left_out` is empty, `out` has files or is inside the trace, or the trace has
            runs that are not sealed.
        DamagedFile, NewerFormat: a file cannot be read.
        TraceWriteError: as on a full disk; no copy is left.

    """
    folder, target = open_trace(trace).path, Path(out)
    if not left_out:
        raise BadSetting(f"say what to leave out: --{', --'.join(PRIVATE)}, or --all")
    check_output_folder(target, "fill")
    if folder.resolve() in target.resolve().parents:
        raise BadSetting(f"{target} is inside {folder}; name a folder outside of the trace")
    if run_ids(folder / JOURNAL) or spooled_runs(folder) or unfinished(folder):
        raise BadSetting(
            f"{folder} has runs that are still running or were killed; let them end, or call "
            "kvtrace trace recover first"
        )
    work = target.resolve().with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        redaction = _RedactedCopy(folder, work, frozenset(left_out), rewrite).write()
        work.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        raise TraceWriteError(
            f"the copy {target} cannot be written ({error.strerror or error}); {folder} is "
            "unchanged"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return redaction


class _RedactedCopy:
    """Writer of a redacted copy, with the pseudonyms and new ids assigned so far."""

    def __init__(
        self, source: Path, out: Path, left_out: frozenset[Private], rewrite: RewriteIr
    ) -> None:
        self._source = source
        self._out = out
        self._left_out = left_out
        self._rewrite = rewrite
        self._salt = secrets.token_bytes(16)
        self._artifacts: dict[str, str | None] = {}
        self._stacks: dict[int, int] = {}
        self._files = Pseudonyms("file", suffixes=True)
        self._marks = Pseudonyms("mark")
        self._jobs = Pseudonyms("job")
        self._names = Pseudonyms("name")
        self._unreadable_ir = 0
        self._passes: set[str] = set()

    def write(self) -> Redaction:
        """Write all tables to `out`, first tables that others refer to; return the result."""
        runs = run_ids(self._source / "runs")
        for name in ("kernels", "calls"):
            for run_id in runs:
                self._assign_pseudonyms(run_id, name)
        for name in sorted(TABLES, key=lambda name: {"artifacts": 0, "stacks": 1}.get(name, 2)):
            for run_id in runs:
                self._write_table(TABLES[name], run_id)
        for name in client_folders(self._source):
            for run_id in run_ids(self._source / name):
                folder = run_folder(self._source, name, run_id)
                self._passes.update(map(pass_of_part, pass_parts(folder)))
        left_out = tuple(kind for kind in PRIVATE if kind in self._left_out)
        return Redaction(left_out, runs, tuple(sorted(self._passes)), self._unreadable_ir)

    def _assign_pseudonyms(self, run_id: str, name: str) -> None:
        """Give pseudonyms (kernel1, arg1 …) to the names in a run's table `kernels` or `calls`."""
        for path in part_numbers(run_folder(self._source, name, run_id)).values():
            for batch in merged_rows([path], TABLES[name]):
                if name == "calls":
                    for args in batch.column("args").to_pylist():
                        self._names.learn("arg", (arg["name"] for arg in args or () if arg))
                    continue
                self._names.learn("kernel", batch.column("name").to_pylist())
                self._names.learn("kernel", batch.column("function").to_pylist())
                for signature in batch.column("signature").to_pylist():
                    self._names.learn("arg", (e["name"] for e in signature or () if e))

    def _write_table(self, table: Table, run_id: str) -> None:
        if ROWS.get(table.name, frozenset()) & self._left_out:
            return
        folder = run_folder(self._source, table.name, run_id)
        for part_number, path in part_numbers(folder).items():
            self._write_part(table, path, part_path(self._out, table.name, run_id, part_number))
        for path in pass_parts(folder):
            with open_part(path) as file:
                facts = part_facts(file, path, table.name)
            if made_by_the_run(facts.pass_name, facts.settings):
                target = self._out / path.relative_to(self._source)
                self._write_part(table, path, target, MADE_BY_THE_RUN)
            else:
                self._passes.add(pass_of_part(path))

    def _write_part(
        self, table: Table, source: Path, target: Path, settings: Mapping[str, Any] | None = None
    ) -> None:
        with open_part(source) as file:
            facts = part_facts(file, source, table.name)
        facts = replace(facts, format_version=FORMAT_VERSION, settings=settings or {})
        batches: Iterator[pa.RecordBatch]
        if table.name == "artifacts":
            batches = iter(self._redacted_artifacts(source, table).to_batches())
        else:
            rows = (self._redacted_batch(table, batch) for batch in merged_rows([source], table))
            if table.name == "stacks":  # sorted by ids, which are new
                stacks = pa.Table.from_batches(list(rows), table.schema)
                rows = iter(sorted_rows(stacks, table).to_batches())
            batches = rows
        write_part(target, table, facts, batches)

    # Artifacts and their contents.

    def _redacted_artifacts(self, source: Path, table: Table) -> pa.Table:
        rewritten = []
        for batch in merged_rows([source], table):
            for row in batch.to_pylist():
                if row["sha256"] is None:
                    continue  # nothing refers to it
                artifact = self._redacted_artifact(row, str(source))
                self._artifacts[row["sha256"]] = None if artifact is None else artifact["sha256"]
                if artifact is not None:
                    rewritten.append(artifact)
        by_hash = {row["sha256"]: row for row in rewritten}
        return sorted_rows(pa.Table.from_pylist(list(by_hash.values()), table.schema), table)

    def _redacted_artifact(self, row: dict[str, Any], source: str) -> dict[str, Any] | None:
        kind = row["kind"]
        if kind not in IR_KINDS:
            private_contents = ARTIFACTS.get(kind, UNKNOWN_ARTIFACT)
            return None if private_contents & self._left_out else row
        if not {"source", "paths", "names"} & self._left_out:
            return row
        if row["bytes"] is None or row["size_bytes"] is None:
            return None  # there is nothing to rewrite
        content = artifact_content(row["sha256"], row["size_bytes"], row["bytes"], source)
        replace_path = self._files if "paths" in self._left_out else _unchanged
        text = content.decode("utf-8", "surrogateescape")
        rewritten = self._rewrite(kind, text, replace_path, self._redacted_ir_name)
        if rewritten is None:
            self._unreadable_ir += 1
            return None
        return artifact_row(kind, rewritten.encode("utf-8", "surrogateescape"))

    def _redacted_ir_name(self, name: str) -> str:
        """Return the replacement of a name in IR.

        If only source is left out, names of kernels and arguments stay.
        """
        if "names" in self._left_out:
            return self._names(name)
        if "source" in self._left_out and not self._names.knows(name):
            return self._names(name)
        return name

    # Columns.

    def _redacted_batch(self, table: Table, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = []
        for column in table.columns:
            values = batch.column(column.name)
            change = self._redaction_of_column(table.name, column.name)
            if change is not None:
                values = _mapped_values(values, column.type, change)
            elif pa.types.is_dictionary(column.type):  # no more entries than are used
                values = values.cast(pa.string()).dictionary_encode().cast(column.type)
            columns.append(values)
        redacted = pa.RecordBatch.from_arrays(columns, schema=table.schema)
        if table.name == "stacks" and {"paths", "names"} & self._left_out:
            return self._with_new_stack_ids(redacted)
        return redacted

    def _with_new_stack_ids(self, stacks: pa.RecordBatch) -> pa.RecordBatch:
        frame_lists = stacks.column("frames").to_pylist()
        ids = [stack_id([frame or {} for frame in frames or ()]) for frames in frame_lists]
        self._stacks.update(zip(stacks.column("stack_id").to_pylist(), ids, strict=True))
        return stacks.set_column(0, stacks.schema.field(0), pa.array(ids, pa.int64()))

    def _redaction_of_column(self, table: str, column: str) -> Callable[[Any], Any] | None:
        """Return the function from each value of a column to its replacement; None if all stay."""
        fields = {
            name.removeprefix(column).removeprefix("."): leaf
            for name, leaf in LEAVES[table].items()
            if name.partition(".")[0] == column and leaf.holds & self._left_out
        }
        if not fields or (table, column) == ("stacks", "stack_id"):
            return None
        if "" in fields:
            return partial(self._redacted_value, fields[""], {})
        return partial(self._redacted_entries, fields)

    def _redacted_entries(self, fields: dict[str, Leaf], entries: Any) -> Any:
        if isinstance(entries, dict):  # a struct, not a list of structs
            return self._redacted_entries(fields, [entries])[0]
        return entries and [
            entry
            and {
                name: self._redacted_value(fields[name], entry, value) if name in fields else value
                for name, value in entry.items()
            }
            for entry in entries
        ]

    def _redacted_value(self, leaf: Leaf, entry: dict[str, Any], value: Any) -> Any:
        if leaf.action == "settings":
            return self._redacted_settings(dict(value or ()))
        if value is None:
            return None
        if leaf.action == "text":
            return REDACTED
        if leaf.action in ("name", "kernel", "parameter"):
            return self._names(value)
        if leaf.action == "artifact":
            return self._artifacts.get(value)
        if leaf.action == "stack":
            return self._stacks.get(value)
        if leaf.action == "digest":
            return blake2b(value.encode(), key=self._salt, digest_size=16).hexdigest()
        pseudonyms = {"file": self._files, "mark": self._marks, "job": self._jobs}
        if leaf.action in pseudonyms:
            return pseudonyms[leaf.action](value)
        if leaf.action == "literal":
            return self._redacted_literal(entry, value)
        return self._redacted_facts(value) if leaf.action == "facts" else None

    def _redacted_literal(self, entry: dict[str, Any], value: str) -> str | None:
        """Return the replacement of an argument's value (`calls.args.scalar`), or None.

        Compiled-in values stay if they consist of numbers, types and truth values.
        """
        if "scalars" in self._left_out and entry.get("kind") in ("scalar", "other"):
            return None
        if entry.get("kind") == "descriptor" or not {"source", "paths", "names"} & self._left_out:
            return value
        return value if _is_harmless(value) else REDACTED

    def _redacted_facts(self, facts: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [
            (key, self._redacted_fact(key, value))
            for key, value in facts
            if not (key == _PLATFORM and "host" in self._left_out)
            and not ("paths" in self._left_out and _SLASH.search(value or ""))
        ]

    def _redacted_fact(self, key: str, value: str) -> str:
        """Return a fact's value; a pseudonym for keys that may have names from the user."""
        if (
            "names" not in self._left_out
            or not _KEYS_WITH_NAMES.search(key)
            or key in _COMPILERS_OWN
        ):
            return value
        return value if _is_harmless(value) else self._names(value)

    def _redacted_settings(self, settings: dict[str, str]) -> list[tuple[str, str]]:
        """Return redacted settings; `REDACTED` lists the kinds left out, in earlier copies too."""
        redacted_before = settings.pop(REDACTED, "").split(",")
        if "names" in self._left_out and settings.get("kernels", "*") != "*":
            settings["kernels"] = REDACTED
        if "names" in self._left_out and "kernel:" in settings.get("check", ""):
            settings["check"] = REDACTED
        redacted_kinds = [
            kind for kind in PRIVATE if kind in self._left_out or kind in redacted_before
        ]
        return [*self._redacted_facts(list(settings.items())), (REDACTED, ",".join(redacted_kinds))]


def _mapped_values(values: pa.Array, kind: pa.DataType, change: Callable[[Any], Any]) -> pa.Array:
    """Return an array of type `kind` with `change` applied to every value (once per text)."""
    if pa.types.is_nested(kind):
        return pa.array([change(value) for value in values.to_pylist()], kind)
    is_name = pa.types.is_dictionary(kind)
    encoded = values.cast(pa.string()).dictionary_encode()
    new_texts = [change(value) for value in encoded.dictionary.to_pylist()]
    texts = pa.array(new_texts, encoded.dictionary.type).take(encoded.indices)
    return texts.dictionary_encode().cast(kind) if is_name else texts


def _is_harmless(literal: str) -> bool:
    return all(map(_LITERAL_WITHOUT_NAMES.fullmatch, filter(None, _BETWEEN.split(literal))))


def _unchanged(text: str) -> str:
    return text


# -- pseudonyms ------------------------------------------------------------------------------------


#: Names that tell nothing about a program.
_TELLING_NOTHING: Final = frozenset(
    ("", "__main__", "<module>", "<lambda>", "<string>", "<stdin>", "<unknown>")
)


class Pseudonyms:
    """Function from names to pseudonyms, which are numbered in the order of first use."""

    def __init__(self, prefix: str, suffixes: bool = False) -> None:
        """Create an empty map; pseudonyms begin with `prefix`. `suffixes` keeps a name's `.py`."""
        self._prefix = prefix
        self._suffixes = suffixes
        self._pseudonyms: dict[str, str] = {}
        self._learned: set[str] = set()
        self._count: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        """Return a name's pseudonym, always the same one; generic names are returned unchanged."""
        return name if name in _TELLING_NOTHING else self._pseudonym(name, self._prefix)

    def learn(self, prefix: str, names: Iterable[str | None]) -> None:
        """Give pseudonyms with another prefix to these names, before their first use."""
        for name in names:
            if name and name not in _TELLING_NOTHING:
                self._learned.add(name)
                self._pseudonym(name, prefix)

    def knows(self, name: str) -> bool:
        """Return whether `learn` was called with the name, or the name is generic."""
        return name in self._learned or name in _TELLING_NOTHING

    def _pseudonym(self, name: str, prefix: str) -> str:
        if name not in self._pseudonyms:
            suffix = ".py" if self._suffixes and name.endswith(".py") else ""
            while True:
                number = self._count[prefix] = self._count.get(prefix, 0) + 1
                pseudonym = f"{prefix}{number}{suffix}"
                if pseudonym not in self._learned:  # learned names stay if names are not left out
                    break
            self._pseudonyms[name] = pseudonym
        return self._pseudonyms[name]
