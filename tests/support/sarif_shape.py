"""What SARIF 2.1.0 demands of the objects that kvtrace writes, to check logs against.

A restatement of the OASIS standard's JSON schema for the properties that we use, and stricter than
it: any other property is an error. The schema itself is not kept here, because no package that
could be a development requirement ships it. Each entry is a property and its form: a type, a name
of an object, a tuple of allowed values, a list of one form (`unique` where items must differ), or
a function that tells whether a value is right. Properties with `!` are required.
"""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

#: RFC 3986: what may stand in a reference to a URI.
_REFERENCE = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*")


def reference(value: object) -> bool:
    return isinstance(value, str) and _REFERENCE.fullmatch(value) is not None


def absolute(value: object) -> bool:
    return reference(value) and bool(urlsplit(str(value)).scheme)


def positive(value: object) -> bool:
    return type(value) is int and value >= 1


def index(value: object) -> bool:
    return type(value) is int and value >= -1


def depth(value: object) -> bool:
    return type(value) is int and value >= 0


LEVELS = ("none", "note", "warning", "error")
OBJECTS: dict[str, dict[str, Any]] = {
    "log": {"$schema": absolute, "version!": ("2.1.0",), "runs!": ["run"]},
    "run": {
        "tool!": "tool",
        "results": ["result"],
        "columnKind": ("utf16CodeUnits", "unicodeCodePoints"),
        "originalUriBaseIds": {"": "artifactLocation"},
    },
    "tool": {"driver!": "toolComponent"},
    "toolComponent": {
        "name!": str,
        "semanticVersion": str,
        "rules": ["reportingDescriptor", "unique"],
    },
    "reportingDescriptor": {
        "id!": str,
        "name": str,
        "shortDescription": "multiformatMessageString",
        "fullDescription": "multiformatMessageString",
        "help": "multiformatMessageString",
        "helpUri": absolute,
        "defaultConfiguration": "reportingConfiguration",
    },
    "multiformatMessageString": {"text!": str, "markdown": str},
    "reportingConfiguration": {"level": LEVELS, "enabled": bool},
    "result": {
        "ruleId": str,
        "ruleIndex": index,
        "kind": ("notApplicable", "pass", "fail", "review", "open", "informational"),
        "level": LEVELS,
        "message!": "message",
        "locations": ["location"],
        "codeFlows": ["codeFlow"],
        "relatedLocations": ["location", "unique"],
        "suppressions": ["suppression", "unique"],
        "partialFingerprints": {"": str},
        "occurrenceCount": positive,
        "properties": dict,
    },
    "message": {"text": str, "markdown": str},
    "location": {
        "id": index,
        "physicalLocation": "physicalLocation",
        "logicalLocations": ["logicalLocation", "unique"],
        "message": "message",
    },
    "physicalLocation": {"artifactLocation": "artifactLocation", "region": "region"},
    "artifactLocation": {"uri": reference, "uriBaseId": str},
    "region": {
        "startLine": positive,
        "startColumn": positive,
        "endColumn": positive,
        "snippet": "artifactContent",
    },
    "artifactContent": {"text": str},
    "logicalLocation": {"name": str, "kind": str},
    "codeFlow": {"threadFlows!": ["threadFlow", "some"]},
    "threadFlow": {"locations!": ["threadFlowLocation", "some"]},
    "threadFlowLocation": {"location": "location", "nestingLevel": depth},
    "suppression": {
        "kind!": ("inSource", "external"),
        "status": ("accepted", "underReview", "rejected"),
        "justification": str,
    },
}


def violations(log: object) -> list[str]:
    """Return what is wrong with a log, each with its place; nothing where it is valid.

    Besides the forms: rules are referred to by their index, a result that is no failure has the
    level none (3.27.10 of the standard), and base ids are defined.
    """
    found = list(_errors("log", log, "log"))
    if found:
        return found
    assert isinstance(log, dict)
    for run in log["runs"]:
        rules = run["tool"]["driver"].get("rules", [])
        bases = run.get("originalUriBaseIds", {})
        uris = [base["uri"] for base in bases.values()]
        found += [f"base {uri} does not end with /" for uri in uris if not uri.endswith("/")]
        for result in run.get("results", []):
            if rules[result["ruleIndex"]]["id"] != result["ruleId"]:
                found.append(f"rule {result['ruleId']} is not at its index")
            if result.get("kind", "fail") != "fail" and result.get("level") != "none":
                found.append(f"{result['kind']} has level {result.get('level')}")
            found += [f"{b} is not defined" for b in _base_ids(result) if b not in bases]
    return found


def _base_ids(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [value["uriBaseId"]] if "uriBaseId" in value else []
        return own + [b for inner in value.values() for b in _base_ids(inner)]
    return [b for inner in value for b in _base_ids(inner)] if isinstance(value, list) else []


def _errors(form: Any, value: object, place: str) -> list[str]:
    if isinstance(form, str):
        return _object_errors(OBJECTS[form], value, place)
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return [f"{place} is no object"]
        return [e for k, v in value.items() for e in _errors(form[""], v, f"{place}.{k}")]
    if isinstance(form, list):
        return _list_errors(form, value, place)
    if isinstance(form, tuple):
        return [] if value in form else [f"{place} is {value!r}"]
    if isinstance(form, type):
        return [] if type(value) is form else [f"{place} is a {type(value).__name__}"]
    check: Callable[[object], bool] = form
    return [] if check(value) else [f"{place} is {value!r}"]


def _object_errors(properties: dict[str, Any], value: object, place: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{place} is no object"]
    forms = {name.rstrip("!"): form for name, form in properties.items()}
    missing = [n for n in properties if n.endswith("!") and n.rstrip("!") not in value]
    errors = [f"{place} has no {name.rstrip('!')}" for name in missing]
    for name, inner in value.items():
        if name not in forms:
            errors.append(f"{place} has {name}, which is not known")
        else:
            errors += _errors(forms[name], inner, f"{place}.{name}")
    return errors


def _list_errors(form: list[str], value: object, place: str) -> list[str]:
    if not isinstance(value, list):
        return [f"{place} is no array"]
    errors = [e for i, item in enumerate(value) for e in _errors(form[0], item, f"{place}[{i}]")]
    if "some" in form and not value:
        errors.append(f"{place} is empty")
    if "unique" in form and any(item in value[:i] for i, item in enumerate(value)):
        errors.append(f"{place} has one item twice")
    return errors
