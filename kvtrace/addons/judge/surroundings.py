"""Search of a file's text for reads of surroundings: clock, environment variables, files, stack.

A function of tensors does not need them, and a function that reads them may behave differently
later or elsewhere. Only the text is inspected, so disguised reads are missed. Modules of Python's
standard library count as a whole unless listed below, since many of them provide the time, for
example `gzip` and `uuid`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Final

_CLOCKS: Final = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
#: Names in modules; `*` stands for all names of a module.
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
        "torch.cuda.get_device_name", "torch.is_inference_mode_enabled", "torch.load",
        "torch.from_file", "numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile",
        "numpy.memmap", "os.open", "os.read", "os.walk",
    }
)  # fmt: skip
#: Modules of the standard library that depend on their arguments alone, or are in `_READING`.
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
#: Attributes that lead from an error or a generator to the calling functions, or to a terminal; and
#: those that read a path.
_ATTRIBUTES: Final = frozenset(
    {
        "tb_frame",
        "gi_frame",
        "cr_frame",
        "ag_frame",
        "f_back",
        "f_globals",
        "findCaller",
        "isatty",
        "read_text",
        "read_bytes",
        "iterdir",
    }
)
#: Modules that count as read when passed as a whole, for example to `getattr`.
_WHOLE: Final = frozenset({"time", "datetime", "sys", "os", "inspect", "importlib", "builtins"})
_BUILTINS: Final = frozenset({"exec", "eval", "__import__", "open", "input"})
_WRITING: Final = frozenset({"setdefault", "update"})


def reads_of(tree: ast.Module) -> dict[str, list[str]]:
    """Return the reads of surroundings as text with line, by top-level function or class.

    `""` has those of other code; `if __name__ == "__main__"` is skipped.
    """
    imported_names = _imported_names(tree)
    reads_by_name: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
            continue
        name = node.name if isinstance(node, ast.FunctionDef | ast.ClassDef) else ""
        reads = [f"{read} in line {line}" for read, line in _reads(node, imported_names)]
        if reads:
            reads_by_name.setdefault(name, []).extend(reads)
    return reads_by_name


def _imported_names(tree: ast.Module) -> dict[str, str]:
    """Return for each imported name its full name, such as `perf_counter`: `time.perf_counter`."""
    imported_names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                imported_names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                imported_names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return imported_names


def _reads(top: ast.AST, imported_names: dict[str, str]) -> Iterator[tuple[str, int]]:
    assigned_ids = {
        id(node.value)
        for node in ast.walk(top)
        if (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
        or (isinstance(node, ast.Attribute) and node.attr in _WRITING)
    }
    attribute_owners = {id(node.value) for node in ast.walk(top) if isinstance(node, ast.Attribute)}
    for node in ast.walk(top):
        if not isinstance(node, ast.Name | ast.Attribute) or id(node) in assigned_ids:
            continue
        if isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES:
            yield node.attr, node.lineno
            continue
        name = _full_name(node, imported_names)
        if name is None:
            continue
        module = name.partition(".")[0]
        is_whole_module = name in _WHOLE and id(node) not in attribute_owners
        is_listed_module = f"{module}.*" in _READING and "." in name
        is_unlisted_module = module in sys.stdlib_module_names - _HARMLESS and (
            "." in name or id(node) not in attribute_owners
        )
        if (
            is_whole_module
            or is_listed_module
            or is_unlisted_module
            or name in _READING
            or name in _BUILTINS
        ):
            yield name, node.lineno


def _full_name(node: ast.AST, imported_names: dict[str, str]) -> str | None:
    """Return the full name of an expression such as `np.random`; None if it is no imported name."""
    if isinstance(node, ast.Name):
        return imported_names.get(node.id, node.id if node.id in _BUILTINS else None)
    if isinstance(node, ast.Attribute):
        prefix = _full_name(node.value, imported_names)
        return None if prefix is None else f"{prefix}.{node.attr}"
    return None
