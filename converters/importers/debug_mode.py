"""Importer of PyTorch's DebugMode: the text of `debug_string()`, a call in each line.

An operator is `aten::mul_.Tensor(t: f32[16], 3)  ->  t: f32[16]  # {'hash': 49.5, 'time': 1796…}`,
indented by its depth. The dictionary has what hooks logged: hashes (`log_tensor_hashes`), and a
time if the user logs one. `# File: …:20 in step, code: …` is of the calls that follow.
Other lines, such as `[record function] …`, are kept whole. Read were texts of PyTorch 2.13.
"""

import re
from ast import literal_eval
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.importers.event_rows import json_text
from kvtrace.converters.importers.importing import EPOCH_NS, unpacked
from kvtrace.converters.importers.registry import BadSource, ImportedRun
from kvtrace.converters.importers.rows import RunRows
from kvtrace.schema.layout import DEBUG_MODE

_OPERATOR: Final = re.compile(rb"^ {2,}\w+::\w[\w.]*\(", re.MULTILINE)
_PLACE: Final = re.compile(r" +# File: (?P<file>.*):(?P<line>\d+) in (?P<function>.*?), code: .*")
_LINE: Final = re.compile(
    r"(?P<indent> {2,})(?:(?P<name>\w+::[\w.]+)\((?P<arguments>(?:(?!  # \{).)*?)\)"
    r"(?:  ->  (?P<output>(?:(?!  # \{).)+))?(?:  # (?P<log>\{.*\}))?|(?!\w+::)(?P<other>\S.*))"
)
#: Floats that are no literals.
_NOT_FINITE: Final = re.compile(r"(?<![\w'])-?(?:nan|inf)(?![\w'])")
_UNPLACED: Final = (
    "not all operators have a time, so diff cannot place them between launches: run under "
    'DebugMode.dispatch_hooks(log_hook=lambda *_: {"time": time.time_ns()})'
)


class DebugMode:
    """Importer of the texts that `DebugMode.debug_string()` returns."""

    summary = "PyTorch's DebugMode: the text of debug_string(), operators with their hashes"

    def recognizes(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 - others need it
        """Return whether the file begins with indented lines, of which one is an operator."""
        return head.lstrip(b"\r\n").startswith(b"  ") and _OPERATOR.search(head) is not None

    def read(self, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
        """Add the calls of the only process, and yield its facts. Errors as `Importer.read`."""
        calls, times, place = list[dict[str, Any]](), list[Any](), dict[str, Any]()
        with unpacked(path) as file:
            for number, line in enumerate(file, 1):
                text = line.decode().rstrip("\r\n")
                if comment := _PLACE.fullmatch(text):
                    place = {**comment.groupdict(), "line": int(comment["line"])}
                elif parts := _LINE.fullmatch(text):
                    log = _logged(parts["log"])
                    times += [log.get("time")] if log else []
                    args = {"depth": len(parts["indent"]) // 2 - 1, **place, "log": log}
                    args |= {k: parts[k] for k in ("arguments", "output") if parts[k] is not None}
                    calls.append({
                        "record": len(calls), "phase": "i", "category": DEBUG_MODE,
                        "name": parts["name"] or parts["other"], "begin": log.get("time"),
                        "members": json_text({"args": args}),
                    })  # fmt: skip
                elif text.strip():
                    raise BadSource(
                        f"{path}, line {number}: {text.strip()[:60]!r} is no whole line of "
                        "DebugMode's debug_string(); write its text to the file again"
                    )
        if not times or not all(type(t) is int and EPOCH_NS <= t < 2**63 for t in times):
            calls, times = [{**call, "begin": None} for call in calls], []
            rows.note(_UNPLACED)
        rows.rows("tool_events", calls)
        yield ImportedRun({"started": min(times), "ended": max(times)} if times else {})


def _logged(text: str | None) -> dict[str, Any]:
    """Return what hooks logged; {"unread": the text} if it is not made of literals."""
    try:
        log: dict[str, Any] = literal_eval(_NOT_FINITE.sub(r"'\g<0>'", text or "{}"))
    except (ValueError, SyntaxError):
        return {"unread": text}
    return log


IMPORTER = DebugMode()
