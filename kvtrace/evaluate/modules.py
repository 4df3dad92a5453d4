"""Modules by their text: in memory, in the cache on disk, or else parsed."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from kvtrace.evaluate.store import store
from kvtrace.ir.model import Module
from kvtrace.ir.stored import module_of, plain_module


def read(text: str) -> Module:
    """Give generic IR as a module of its own; raises IRSyntaxError.

    What was read before, by any process of the user, is not parsed again.
    """
    content = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    module = _known(content)
    if module is None:
        from kvtrace.ir.parser import parse

        module = parse(text)
        found = module
        store().put("module", content, lambda: plain_module(found))
    module.__dict__["_content"] = content
    return module


@lru_cache(maxsize=256)
def parsed(text: str) -> Module:
    """Parse generic IR; the same text gives the same module, so it is compiled once."""
    return read(text)


def content_of(module: Module) -> bytes | None:
    """Give the hash of the text that a module was read from, None if it was not by `read`."""
    found: bytes | None = module.__dict__.get("_content")
    return found


def _known(content: bytes) -> Module | None:
    entry = store().get("module", content)
    if not isinstance(entry, tuple):
        return None
    try:
        return module_of(entry)
    except (KeyError, IndexError, TypeError, ValueError):
        return None  # made by a kvtrace that called itself the same
