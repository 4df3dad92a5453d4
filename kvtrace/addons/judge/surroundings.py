"""What a file reads of its surroundings: the clock, other modules, variables, files, the stack.

A function of tensors has no use for it, and one that looks may do otherwise where it is not judged,
or later. This reads the text alone: what is disguised is not found. Python's own modules count as a
whole unless they are known: too many of them tell the time, as `gzip` and `uuid` do.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Final

_CLOCKS: Final = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
#: Names in modules; the last part `*`: all of them.
_READING: Final = frozenset(
    {f"time.{name}{suffix}" for name in _CLOCKS for suffix in ("", "_ns")}
    | {
        "time.localtime", "time.gmtime", "time.ctime", "time.strftime", "time.clock_gettime",
        "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today",
        "datetime.date.today", "sys.modules", "sys._getframe", "sys._current_frames", "sys.argv",
        "sys.gettrace", "sys.getprofile", "os.environ", "os.getenv", "os.environb",
        "os.path.exists",
        "os.path.isfile", "os.path.isdir", "os.path.lexists", "os.stat", "os.access", "os.listdir",
        "os.scandir", "os.getpid", "os.getppid", "os.getuid", "os.geteuid", "os.getcwd",
        "os.uname", "os.getlogin", "socket.gethostname", "platform.*", "pathlib.Path.cwd",
        "pathlib.Path.home", "inspect.stack", "inspect.currentframe", "inspect.getouterframes",
        "traceback.extract_stack", "traceback.format_stack", "threading.enumerate",
        "threading.active_count", "resource.*", "importlib.import_module",
        "importlib.util.find_spec",
        "pkgutil.*", "builtins.*", "sys.setprofile", "sys.settrace", "sys.addaudithook",
        "os.times", "os.get_terminal_size", "os.isatty", "logging.makeLogRecord",
        "logging.LogRecord", "threading.current_thread", "threading.main_thread",
        "threading.setprofile", "threading.settrace", "numpy.datetime64",
        "torch.cuda.get_device_name", "torch.is_inference_mode_enabled",
    }
)  # fmt: skip
#: Modules of Python's own that tell nothing but what they are handed, or that `_READING` has.
_HARMLESS: Final = frozenset(
    {
        "__future__", "abc", "array", "ast", "bisect", "cmath", "collections", "contextlib",
        "contextvars", "copy", "dataclasses", "decimal", "enum", "fractions", "functools",
        "hashlib", "heapq", "itertools", "json", "logging", "math", "numbers", "operator",
        "pathlib", "pprint", "random", "re", "statistics", "string", "struct", "textwrap",
        "threading", "types", "typing", "unittest", "warnings", "weakref",
    }
    | {name.partition(".")[0] for name in _READING if not name.endswith(".*")}
)  # fmt: skip
#: What leads from an error or a generator to the functions that called, and to a terminal.
_ATTRIBUTES: Final = frozenset(
    {"tb_frame", "gi_frame", "cr_frame", "ag_frame", "f_back", "f_globals", "findCaller", "isatty"}
)
#: Modules that are not handed on as a whole, as to `getattr`.
_WHOLE: Final = frozenset({"time", "datetime", "sys", "os", "inspect", "importlib", "builtins"})
_BUILTINS: Final = frozenset({"exec", "eval", "__import__"})
_WRITING: Final = frozenset({"setdefault", "update"})


def reads_of(tree: ast.Module) -> dict[str, list[str]]:
    """Return what each function and class at the file's top reads, and where; `""`: the rest."""
    named = _imported(tree)
    found: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
            continue
        name = node.name if isinstance(node, ast.FunctionDef | ast.ClassDef) else ""
        reads = [f"{read} in line {line}" for read, line in _reads(node, named)]
        if reads:
            found.setdefault(name, []).extend(reads)
    return found


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return what names are of other modules."""
    named = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                top = each.name.partition(".")[0]
                named[each.asname or top] = each.name if each.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for each in node.names:
                named[each.asname or each.name] = f"{node.module}.{each.name}"
    return named


def _reads(top: ast.AST, named: dict[str, str]) -> Iterator[tuple[str, int]]:
    written = {
        id(node.value)
        for node in ast.walk(top)
        if (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
        or (isinstance(node, ast.Attribute) and node.attr in _WRITING)
    }
    inner = {id(node.value) for node in ast.walk(top) if isinstance(node, ast.Attribute)}
    for node in ast.walk(top):
        if not isinstance(node, ast.Name | ast.Attribute) or id(node) in written:
            continue
        if isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES:
            yield node.attr, node.lineno
            continue
        name = _dotted(node, named)
        if name is None:
            continue
        module = name.partition(".")[0]
        whole = name in _WHOLE and id(node) not in inner
        all_of = f"{module}.*" in _READING and "." in name
        unknown = module in sys.stdlib_module_names - _HARMLESS and (
            "." in name or id(node) not in inner
        )
        if whole or all_of or unknown or name in _READING or name in _BUILTINS:
            yield name, node.lineno


def _dotted(node: ast.AST, named: dict[str, str]) -> str | None:
    """Return the full name of what an expression is in a module."""
    if isinstance(node, ast.Name):
        return named.get(node.id, node.id if node.id in _BUILTINS else None)
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value, named)
        return None if before is None else f"{before}.{node.attr}"
    return None
