"""Findings as SARIF 2.1.0 (OASIS standard), for code-scanning services.

Each group of equal findings is a result: of kind `fail` for a violation, `pass` for a proven
access, `review` for an unknown verdict. A violation that a comment suppresses has a suppression of
kind `inSource`. The stack of inlined functions is a code flow, and the second access of a race a
related location. What was not judged, a run, a call or a load that the compiler removed, is a
notification of the invocation.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote

from kvtrace.converters.findings.causes import source_operators
from kvtrace.converters.findings.findings_text import witness
from kvtrace.converters.findings.model import (
    FOLLOWED,
    SEVERITIES,
    UNUSED_IGNORE,
    Finding,
    Findings,
    RuleText,
    StackFrame,
    grouped,
    others_text,
)

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT: Final = "SRCROOT"
#: Pages of docs/rules, written by `docs_site/rules.py` (`make docs`); a test detects stale ones.
_RULE_PAGES: Final = "rule_pages.json"
_KINDS: Final = {"violation": "fail", "proven": "pass"}
_UNUSED: Final = RuleText(
    "note",
    "a comment `# kvtrace: ignore` suppresses nothing",
    "remove the comment, or correct the rule that it names",
)

Object = dict[str, Any]


def sarif(findings: Findings, version: str, *, root: str | None = None) -> Object:
    """Return the findings as a SARIF log (a JSON-ready dict) with one run.

    Args:
        findings: the findings; proven accesses are reported if they are listed.
        version: kvtrace's version.
        root: top folder of the checkout. Files below the folder get relative URIs, by which
            services match them with a repository.

    """
    groups = grouped(findings.listed)
    texts = {UNUSED_IGNORE: _UNUSED, **findings.rules}
    ids = sorted({*findings.rules, *(group[0].rule for group in groups)})
    driver = {
        "name": "kvtrace",
        "semanticVersion": version,
        "rules": [_descriptor(rule, texts.get(rule, RuleText())) for rule in ids],
    }
    run: Object = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(group, ids, root, findings.lines) for group in groups],
    }
    unjudged = [*findings.left_out, *findings.not_evaluated]
    unjudged += [f"not judged: {others_text(findings.others)}"] if findings.others else []
    if unjudged:
        notes = [{"level": "warning", "message": {"text": text}} for text in unjudged]
        invocation = {"executionSuccessful": True, "toolExecutionNotifications": notes}
        run["invocations"] = [invocation]
    if root is not None:
        run["originalUriBaseIds"] = {_ROOT: {"uri": _absolute(root.rstrip("/\\") + "/")}}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _descriptor(rule: str, text: RuleText) -> Object:
    """Return SARIF's descriptor of a rule; its help is the rule's documentation, or where it is.

    `helpUri` and `informationUri` are left out: they must be absolute, and the documentation is in
    the repository.
    """
    page = "" if text.page else rule_pages().get(rule, "")
    summary = text.summary or rule.replace("-", " ")
    sentence = summary[0].upper() + summary[1:].rstrip(".") + "."
    advice = f" {text.hint[0].upper()}{text.hint[1:].rstrip('.')}." if text.hint else ""
    page_sentence = f" See {text.page or f'docs/rules/{rule}.md'} in kvtrace's documentation."
    help_text = f"{sentence}{advice}\n\n{page}" if page else f"{sentence}{advice}{page_sentence}"
    level = text.severity if text.severity in SEVERITIES else "warning"
    return {
        "id": rule,
        "name": "".join(part.capitalize() for part in rule.split("-")),
        "shortDescription": {"text": sentence},
        "fullDescription": {"text": sentence + advice},
        "help": {"text": help_text, "markdown": help_text},
        "defaultConfiguration": {"level": level},
    }


def _result(
    group: Sequence[Finding], ids: Sequence[str], root: str | None,
    lines: Mapping[tuple[str, int], str],
) -> Object:  # fmt: skip
    finding = group[0]
    kind = _KINDS.get(finding.verdict, "review")
    severity = finding.severity if finding.severity in SEVERITIES else "warning"
    result: Object = {
        "ruleId": finding.rule,
        "ruleIndex": ids.index(finding.rule),
        "kind": kind,
        "level": severity if kind == "fail" else "none",
        "message": {"text": _message(finding)},
        "partialFingerprints": {"finding/v1": finding.finding_id},
        "occurrenceCount": max(
            1, sum(f.calls if f.is_of_some_launches else f.launches for f in group)
        ),
        "properties": _properties(finding, sum(finding.calls for finding in group)),
    }
    if finding.file is not None:
        place = StackFrame(finding.file, finding.line, finding.column, None)
        location = _location(place, root, finding.source)
        location["logicalLocations"] = [{"name": finding.kernel, "kind": "function"}]
        result["locations"] = [location]
    frames_with_file = [frame for frame in finding.stack if frame.file is not None]
    if len(frames_with_file) > 1:
        steps = [
            {
                "location": _location(frame, root, _line(frame, lines), frame.function),
                "nestingLevel": depth,
            }
            for depth, frame in enumerate(reversed(frames_with_file))
        ]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if finding.other_stack and finding.other_stack[0].file is not None:
        text = f"the access of program {finding.other_program}"
        if finding.method == FOLLOWED:
            text = "where the memory was made"
        frame = finding.other_stack[0]
        other = _location(frame, root, _line(frame, lines), text)
        result["relatedLocations"] = [{"id": 1, **other}]
    if finding.suppressed:
        suppression = {"kind": "inSource", "status": "accepted"}
        if finding.suppress_reason:
            suppression["justification"] = finding.suppress_reason
        result["suppressions"] = [suppression]
    return result


def _line(frame: StackFrame, lines: Mapping[tuple[str, int], str]) -> str | None:
    return lines.get((frame.file or "", frame.line or 0))


def _message(finding: Finding) -> str:
    text = finding.message or finding.reason or f"{finding.rule} in {finding.kernel}"
    operators = ", ".join(dict.fromkeys(operator.op for operator in finding.operators))
    locations = ", ".join(
        f"{location[0]}:{location[1]}" for location in source_operators(finding) if location
    )
    facts = {
        "From": f"{operators} ({locations})" if locations else operators,
        "Witness": witness(finding),
        "Reason": finding.reason,
        "Hint": finding.hint,
    }
    lines = (f"{label}: {fact}" for label, fact in facts.items() if fact and fact != text)
    return "\n".join((f"{finding.kernel}: {text}", *lines))


def _properties(finding: Finding, calls: int) -> Object:
    """Return the fields of a finding for which SARIF has no property, unless they are None."""
    excluded = (
        "rule", "finding_id", "file", "line", "column", "message", "source", "stack", "other_stack",
        "suppressed", "suppress_reason", "hint", "reason", "calls", "operators",
    )  # fmt: skip
    values = {k: v for k, v in asdict(finding).items() if k not in excluded and v is not None}
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
    """Return the columns of a region: from `column` to the end of the call that begins there.

    Without the source line, the region is one character. Without `column` it is the text of the
    line, and without both, {}, which means the whole line.
    """
    if column is not None and column >= 1:
        is_inside = source is not None and column <= len(source)
        end = _end_column(source, column) if source is not None and is_inside else column + 1
        return {"startColumn": column, "endColumn": end}
    if source is None or not source.strip():
        return {}
    first_column = len(source) - len(source.lstrip()) + 1
    return {"startColumn": first_column, "endColumn": len(source.rstrip()) + 1}


def _end_column(source: str, column: int) -> int:
    """Return the column after the closing parenthesis of the call that begins at `column`.

    It is the column after the line's end if the call continues on the next line.
    """
    depth = 0
    for index, letter in enumerate(source[column - 1 :], column):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth == 0:
                return index + 1
            if depth < 0:  # the call is an argument: this parenthesis closes the outer call
                return max(index, column + 1)
    return max(len(source.rstrip()), column) + 1


def _artifact(path: str, root: str | None) -> Object:
    if root is not None:
        folder = root.rstrip("/\\")
        if path.startswith((f"{folder}/", f"{folder}\\")):
            relative_path = path[len(folder) + 1 :].replace("\\", "/")
            return {"uri": quote(relative_path), "uriBaseId": _ROOT}
    return {"uri": _absolute(path)}


def _absolute(path: str) -> str:
    posix_path = path.replace("\\", "/")
    if posix_path.startswith("/"):
        return "file://" + quote(posix_path)
    if posix_path[1:2] == ":":  # a drive of Windows
        return f"file:///{posix_path[0]}:{quote(posix_path[2:])}"
    return quote(posix_path)


@cache
def rule_pages() -> dict[str, str]:
    """Return each rule's page of docs/rules as Markdown, by rule, without title and links."""
    text = files(__package__).joinpath(_RULE_PAGES).read_text(encoding="utf-8")
    pages: dict[str, str] = json.loads(text)
    return pages
