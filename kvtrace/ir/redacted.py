"""Redaction of file paths and names in IR text, for `kvtrace trace redact`.

Redaction works token by token, on generic and pretty text. Numbers, words of the dialects, and
strings that the compiler writes are not changed; unknown strings become empty.
"""

import re
from collections.abc import Callable
from typing import Final

from kvtrace.ir.scanner import STRING, IRSyntaxError, unescape

_TOKEN: Final = re.compile(rf"(?P<comment>//[^\n]*)|(?P<string>{STRING})|(?P<id>[%@][\w$.\-]+)")
_OPERATION: Final = re.compile(r"[a-z_]\w*(?:\.\w+)+", re.ASCII)
_KEY: Final = re.compile(r"[\w.\-]+", re.ASCII)
_HEXADECIMAL: Final = re.compile(r"0x[0-9A-Fa-f]*")
#: An attribute's name before a string that is the attribute's value.
_BEFORE_VALUE: Final = re.compile(r'([\w.\-]+)"?\s*=\s*\Z')
_BEFORE_OPERATION: Final = re.compile(r"(?:\A|\n|=)[ \t]*\Z")
_BEFORE_NAME: Final = re.compile(r"(?:loc\(|callsite\(|\sat\s+|fused\[|fused<[^>]*>\[)\s*\Z")
_BEFORE_ASSEMBLY: Final = re.compile(r"\btt\.elementwise_inline_asm\s*\Z")
#: Attributes whose text is written by the compiler, or defines the op's meaning.
_KEPT_VALUES: Final = frozenset(
    ("sym_visibility", "ttg.target", "asm_string", "constraints", "symbol", "libname")
)
_NAMES: Final = frozenset(("sym_name", "func"))
_WINDOW: Final = 100


def redacted_ir(
    kind: str, text: str, file: Callable[[str], str], name: Callable[[str], str]
) -> str | None:
    """Return the IR with replaced paths and names; None if the text, or the result, is no IR.

    Args:
        kind: ttir, glir, ttgir, or the generic form of one of them, as ttir_generic.
        text: the IR as its compiler printed it.
        file: returns the replacement of a file's path.
        name: returns the replacement of the name of a value, a variable or a function.
    """
    pieces, token_end = [], 0
    for token in _TOKEN.finditer(text):
        between = text[token_end : token.start()]
        if '"' in between:
            return None
        pieces.append(between)
        pieces.append(_replaced(text, token, file, name))
        token_end = token.end()
    if '"' in text[token_end:]:
        return None
    redacted = "".join((*pieces, text[token_end:]))
    return redacted if not kind.endswith("_generic") or _can_be_read(redacted) else None


def _can_be_read(text: str) -> bool:
    from kvtrace.ir.parser import parse

    try:
        parse(text)
    except IRSyntaxError:
        return False
    return True


def _replaced(
    text: str, token: re.Match[str], file: Callable[[str], str], name: Callable[[str], str]
) -> str:
    whole = token.group()
    if token["comment"] is not None:
        return ""
    if token["id"] is not None:
        return whole if whole[1:].isdecimal() else whole[0] + name(whole[1:])
    before = text[max(0, token.start() - _WINDOW) : token.start()]
    after = text[token.end() : token.end() + _WINDOW]
    return _string(whole, before, after, file, name)


def _string(
    whole: str, before: str, after: str, file: Callable[[str], str], name: Callable[[str], str]
) -> str:
    content = unescape(whole[1:-1])
    if re.match(r":\d", after):
        return _quoted(whole, content, file(content))
    key = _BEFORE_VALUE.search(before)
    if after.startswith("(") and _OPERATION.fullmatch(content) and _BEFORE_OPERATION.search(before):
        return whole
    if before.endswith("@") or (key and key[1] in _NAMES):
        return _quoted(whole, content, name(content))
    if after.startswith("(") or (key is None and _BEFORE_NAME.search(before)):
        return _quoted(whole, content, name(content))
    if key and key[1] == "file":
        return _quoted(whole, content, file(content))
    is_key = re.match(r"\s*=", after) and _KEY.fullmatch(content)
    is_known = (key and key[1] in _KEPT_VALUES) or _BEFORE_ASSEMBLY.search(before)
    return whole if is_key or is_known or _HEXADECIMAL.fullmatch(content) else '""'


def _quoted(whole: str, content: str, replacement: str) -> str:
    """Return a string literal with the replacement; unchanged content keeps its escapes."""
    return whole if replacement == content else f'"{replacement}"'
