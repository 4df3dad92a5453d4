"""Findings as SARIF 2.1.0 (OASIS standard), as code-scanning services read it.

One result for each defect. What is proven has kind `pass`, what is unknown `review`; a violation
that a comment suppresses has a suppression of kind `inSource`. The stack that an access was inlined
through is a code flow, the other side of a race a related location.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote

from kvtrace.converters.findings.causes import lines_behind
from kvtrace.converters.findings.model import (
    SEVERITIES,
    UNUSED_IGNORE,
    Finding,
    Findings,
    RuleText,
    StackFrame,
    grouped,
)
from kvtrace.converters.findings.text import witness

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT: Final = "SRCROOT"
#: What `docs_site/rules.py` makes of docs/rules (`make docs`); a test fails where it is older.
_RULE_PAGES: Final = "rule_pages.json"
_KINDS: Final = {"violation": "fail", "proven": "pass"}
_UNUSED: Final = RuleText(
    "note",
    "a comment `# kvtrace: ignore` suppresses nothing",
    "remove the comment, or correct the rule that it names",
)

Object = dict[str, Any]


def sarif(findings: Findings, version: str, *, root: str | None = None) -> Object:
    """Return a SARIF log with one run.

    Args:
        findings: what was read; proven ones are reported if they are listed.
        version: kvtrace's.
        root: top folder of the checkout; files below it get URIs relative to it, which services
            need to match them with a repository.

    """
    groups = grouped(findings.listed)
    ids = sorted({*findings.rules, *(group[0].rule for group in groups)})
    driver = {
        "name": "kvtrace",
        "semanticVersion": version,
        "rules": [_descriptor(rule, _text_of(rule, findings.rules)) for rule in ids],
    }
    run: Object = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(group, ids, root, findings.lines) for group in groups],
    }
    if root is not None:
        run["originalUriBaseIds"] = {_ROOT: {"uri": _absolute(root.rstrip("/\\") + "/")}}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _text_of(rule: str, rules: Mapping[str, RuleText]) -> RuleText:
    return rules.get(rule, _UNUSED if rule == UNUSED_IGNORE else RuleText())


def _descriptor(rule: str, text: RuleText) -> Object:
    """Describe a rule; its help is its page of the documentation, or names where that has it.

    There are no `helpUri` and `informationUri`: they must be absolute, and the documentation lies
    beside the source.
    """
    page = "" if text.page else rule_pages().get(rule, "")
    summary = text.summary or rule.replace("-", " ")
    sentence = summary[0].upper() + summary[1:].rstrip(".") + "."
    advice = f" {text.hint[0].upper()}{text.hint[1:].rstrip('.')}." if text.hint else ""
    where = f" See {text.page or f'docs/rules/{rule}.md'} in kvtrace's documentation."
    whole = f"{sentence}{advice}\n\n{page}" if page else f"{sentence}{advice}{where}"
    level = text.severity if text.severity in SEVERITIES else "warning"
    return {
        "id": rule,
        "name": "".join(part.capitalize() for part in rule.split("-")),
        "shortDescription": {"text": sentence},
        "fullDescription": {"text": sentence + advice},
        "help": {"text": whole, "markdown": whole},
        "defaultConfiguration": {"level": level},
    }


def _result(
    group: Sequence[Finding], ids: Sequence[str], root: str | None,
    lines: Mapping[tuple[str, int], str],
) -> Object:  # fmt: skip
    found = group[0]
    kind = _KINDS.get(found.verdict, "review")
    severity = found.severity if found.severity in SEVERITIES else "warning"
    result: Object = {
        "ruleId": found.rule,
        "ruleIndex": ids.index(found.rule),
        "kind": kind,
        "level": severity if kind == "fail" else "none",
        "message": {"text": _message(found)},
        "partialFingerprints": {"finding/v1": found.finding_id},
        "occurrenceCount": max(1, sum(each.launches for each in group)),
        "properties": _properties(found, sum(each.calls for each in group)),
    }
    if found.file is not None:
        place = StackFrame(found.file, found.line, found.column, None)
        location = _location(place, root, found.source)
        location["logicalLocations"] = [{"name": found.kernel, "kind": "function"}]
        result["locations"] = [location]
    inlined = [frame for frame in found.stack if frame.file is not None]
    if len(inlined) > 1:
        steps = [
            {
                "location": _location(frame, root, _line(frame, lines), frame.function),
                "nestingLevel": depth,
            }
            for depth, frame in enumerate(reversed(inlined))
        ]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if found.other_stack and found.other_stack[0].file is not None:
        text = f"the access of program {found.other_program}"
        frame = found.other_stack[0]
        other = _location(frame, root, _line(frame, lines), text)
        result["relatedLocations"] = [{"id": 1, **other}]
    if found.suppressed:
        suppression = {"kind": "inSource", "status": "accepted"}
        if found.suppress_reason:
            suppression["justification"] = found.suppress_reason
        result["suppressions"] = [suppression]
    return result


def _line(frame: StackFrame, lines: Mapping[tuple[str, int], str]) -> str | None:
    return lines.get((frame.file or "", frame.line or 0))


def _message(found: Finding) -> str:
    text = found.message or found.reason or f"{found.rule} in {found.kernel}"
    behind = ", ".join(dict.fromkeys(each.op for each in found.operators))
    places = ", ".join(f"{place[0]}:{place[1]}" for place in lines_behind(found) if place)
    told = {
        "From": f"{behind} ({places})" if places else behind,
        "Witness": witness(found),
        "Reason": found.reason,
        "Hint": found.hint,
    }
    more = (f"{label}: {said}" for label, said in told.items() if said and said != text)
    return "\n".join((f"{found.kernel}: {text}", *more))


def _properties(found: Finding, calls: int) -> Object:
    """Keep what SARIF has no place for; nulls left out."""
    left_out = (
        "rule", "finding_id", "file", "line", "column", "message", "source", "stack", "other_stack",
        "suppressed", "suppress_reason", "hint", "reason", "calls", "operators",
    )  # fmt: skip
    values = {k: v for k, v in asdict(found).items() if k not in left_out and v is not None}
    return values | {"distinct_calls": calls}


def _location(
    frame: StackFrame, root: str | None, source: str | None, message: str | None = None
) -> Object:
    physical: Object = {"artifactLocation": _artifact(frame.file or "", root)}
    if frame.line is not None and frame.line >= 1:
        region: Object = {"startLine": frame.line} | _columns(frame.column, source)
        if source is not None:
            region["snippet"] = {"text": source}
        physical["region"] = region
    location: Object = {"physicalLocation": physical}
    return location | ({"message": {"text": message}} if message else {})


def _columns(column: int | None, source: str | None) -> Object:
    """Return a region's columns: from a column to the end of its call, or the whole line's text.

    Without the source line it is the one character; without both there are none, which means all
    of the line.
    """
    if column is not None and column >= 1:
        known = source is not None and column <= len(source)
        end = _end_column(source, column) if source is not None and known else column + 1
        return {"startColumn": column, "endColumn": end}
    if source is None or not source.strip():
        return {}
    first = len(source) - len(source.lstrip()) + 1
    return {"startColumn": first, "endColumn": len(source.rstrip()) + 1}


def _end_column(source: str, column: int) -> int:
    """Return the column after the call that begins at one, or after the line where it continues.

    A name is what is up to the first parenthesis; one that is not closed ends with the line.
    """
    depth = 0
    for place, letter in enumerate(source[column - 1 :], column):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth == 0:
                return place + 1
            if depth < 0:  # it is in another one's parentheses
                return max(place, column + 1)
    return max(len(source.rstrip()), column) + 1


def _artifact(path: str, root: str | None) -> Object:
    if root is not None:
        folder = root.rstrip("/\\")
        if path.startswith((f"{folder}/", f"{folder}\\")):
            inner = path[len(folder) + 1 :].replace("\\", "/")
            return {"uri": quote(inner), "uriBaseId": _ROOT}
    return {"uri": _absolute(path)}


def _absolute(path: str) -> str:
    plain = path.replace("\\", "/")
    if plain.startswith("/"):
        return "file://" + quote(plain)
    if plain[1:2] == ":":  # a drive of Windows
        return f"file:///{plain[0]}:{quote(plain[2:])}"
    return quote(plain)


@cache
def rule_pages() -> dict[str, str]:
    """Return each rule's page of docs/rules as Markdown, without title and links to others."""
    text = files(__package__).joinpath(_RULE_PAGES).read_text(encoding="utf-8")
    pages: dict[str, str] = json.loads(text)
    return pages
