"""Values that a program takes from outside its text: files, the environment, the order of sets."""

import ast
import sys
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

LIBRARIES: Final = sys.stdlib_module_names | {"torch", "triton", "numpy", "kvtrace"}
#: Names by which a program runs code or takes values that its text does not show.
_HIDING: Final = frozenset((
    ".exists", ".expanduser", ".glob", ".home", ".is_dir", ".is_file", ".rglob", ".stat",
    "__code__", "__globals__", "__import__", "_getframe", "dir()", "eval", "exec", "f_globals",
    "f_locals", "from_file",
    "fromfile", "genfromtxt", "get_objects", "globals", "input", "iterdir", "load", "loadtxt",
    "locals", "memmap", "methodcaller", "open", "read_bytes", "read_text", "stdin", "sys.modules",
    "vars()", "__config__", "get_num_threads", "get_num_interop_threads",
))  # fmt: skip
#: Modules of Python but those that take from outside at most what each run has, as the time.
_OUTSIDE: Final = sys.stdlib_module_names - frozenset((
    "__future__", "abc", "argparse", "ast", "asyncio", "atexit", "bisect", "collections",
    "concurrent", "contextlib", "copy", "csv", "dataclasses", "datetime", "decimal", "enum",
    "fractions", "functools", "gc", "hashlib", "heapq", "itertools", "json", "logging", "math",
    "multiprocessing", "numbers", "operator", "pickle", "platform", "pprint", "queue", "random",
    "re", "resource", "signal", "statistics", "string", "struct", "sys", "textwrap", "threading",
    "time", "timeit", "traceback", "types", "typing", "unittest", "uuid", "warnings", "weakref",
    "zlib",
))  # fmt: skip
#: What other modules do or make of values that the text shows, or for one run.
_SHOWN: Final = frozenset((
    "BytesIO", "NamedTemporaryFile", "Path", "PathLike", "PurePath", "StringIO",
    "TemporaryDirectory", "abspath", "basename", "chdir", "cpu_count", "dirname", "getcwd",
    "getpid", "join", "makedirs", "mkdir", "mkdtemp", "normpath", "realpath", "relpath", "remove",
    "rmtree", "sep", "signature", "split", "splitext", "unlink", "unwrap", "urandom", "version",
))  # fmt: skip
#: Attributes of kernels that do not give their text.
_LAUNCHING: Final = frozenset(("", "__name__", "best_config", "cache", "configs", "run", "warmup"))
_SETS: Final = ("set", "frozenset")
#: Functions and methods that make a set of one.
_MAKING: Final = (*_SETS, "union", "difference", "intersection", "symmetric_difference")
#: Functions and methods whose result does not tell the order of a set, and bases of names.
_ORDERLESS: Final = frozenset((
    "add", "all", "any", "bool", "clear", "difference", "difference_update", "discard", "frozenset",
    "intersection", "intersection_update", "isdisjoint", "issubset", "issuperset", "len", "max",
    "min", "remove", "set", "sorted", "symmetric_difference", "union", "update",
))  # fmt: skip


def outside_uses(nodes: Sequence[ast.AST], kernels: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield line and name of what a text's nodes take from outside."""
    modules: dict[str, str] = {}
    for node in nodes:
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            parent = f"{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
            bound = alias.asname or alias.name.partition(".")[0]
            modules[bound] = f"{parent}{alias.name if alias.asname or parent else bound}"
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    written = {
        id(node.func)
        for node in nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "open"
        if len(node.args) == 2 and getattr(node.args[1], "value", "") in ("w", "wb")
    }
    for node in nodes:
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call):
            continue
        code = "" if isinstance(node, ast.Call) and node.args else ast.unparse(node)
        first, dot, rest = code.partition(".")
        full = f"{modules.get(first, first)}{dot}{rest}"
        name = getattr(node, "attr", full.rpartition(".")[2])
        is_outside = full.partition(".")[0] in _OUTSIDE
        is_taken = is_outside and first in modules and name not in _SHOWN
        steps = pairwise([*code.split("."), ""])
        is_text = any(word in kernels and then not in _LAUNCHING for word, then in steps)
        is_whole = code.replace(".", "").isidentifier() and id(node) not in inner
        if is_whole and (is_taken or is_text):
            yield node.lineno, full
        if id(node) in written:
            continue
        attribute = f".{getattr(node, 'attr', '')}"
        for hiding in _HIDING & {full, name, attribute}:
            yield node.lineno, hiding.lstrip(".")


def hash_uses(texts: Sequence[Sequence[ast.AST]]) -> Iterator[tuple[int, int, str]]:
    """Yield text, line and name of what depends on hashes of strings (`PYTHONHASHSEED`).

    Such are `hash` outside of `__hash__`, and sets, unless they hold numbers or nothing tells
    their order. `texts` are the nodes of each.
    """
    nodes = [node for text in texts for node in text]
    number = {id(node): index for index, text in enumerate(texts) for node in text}
    parents = {id(child): node for node in nodes for child in ast.iter_child_nodes(node)}
    in_hash = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.FunctionDef) and node.name == "__hash__"
        for inner in ast.walk(node)
    }
    for node in nodes:
        if isinstance(node, ast.Name) and node.id == "hash" and id(node) not in in_hash:
            yield number[id(node)], node.lineno, "hash"
    for node in nodes:
        if not isinstance(node, ast.expr) or not _is_set(node, parents.get(id(node))):
            continue
        if _is_orderless(node, parents):
            continue
        parent = parents.get(id(node))
        targets = getattr(parent, "targets", [getattr(parent, "target", None)])
        names = {getattr(one, "attr", getattr(one, "id", None)) for one in targets} - {None}
        uses = [
            use
            for use in nodes
            if isinstance(use, ast.Name | ast.Attribute)
            and isinstance(use.ctx, ast.Load)
            and getattr(use, "attr", getattr(use, "id", None)) in names
        ]
        is_bound = isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr) and names
        if not is_bound or not all(_is_orderless(use, parents) for use in uses):
            yield number[id(node)], node.lineno, "the order of a set"


def _is_set(node: ast.expr, parent: ast.AST | None) -> bool:
    """Return whether an expression makes a set that may hold other values than numbers."""
    if isinstance(node, ast.Set):
        return not all(
            isinstance(inner, ast.Constant) and isinstance(inner.value, int | float)
            for one in node.elts
            for inner in ast.walk(one)
            if isinstance(inner, ast.expr) and not isinstance(inner, ast.Tuple | ast.UnaryOp)
        )
    if isinstance(node, ast.BinOp):
        views = [getattr(getattr(one, "func", None), "attr", "") for one in (node.left, node.right)]
        return not {"keys", "items"}.isdisjoint(views)
    if isinstance(node, ast.Name) and node.id in _SETS:  # a function that makes sets
        is_test = isinstance(parent, ast.Call) and "instance" in ast.unparse(parent.func)
        is_given = isinstance(parent, ast.Call) and node is not parent.func
        return isinstance(parent, ast.keyword) or (is_given and not is_test)
    name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.SetComp) or name in _SETS


def _is_orderless(node: ast.AST, parents: dict[int, ast.AST]) -> bool:
    """Return whether the use of a set gives the same result in each order of its elements."""
    parent = parents.get(id(node))
    if isinstance(parent, ast.Compare):
        return not isinstance(parent.ops[0], ast.Is | ast.IsNot)
    if isinstance(parent, ast.Attribute):
        is_called = isinstance(call := parents.get(id(parent)), ast.Call) and call.func is parent
        return is_called and parent.attr in _ORDERLESS and _is_statement(call, parents)
    if isinstance(parent, ast.Call) and node in parent.args:
        name = getattr(parent.func, "id", getattr(parent.func, "attr", ""))
        is_made = name in _MAKING
        return name in _ORDERLESS and (not is_made or _is_orderless(parent, parents))
    is_test = isinstance(parent, ast.If | ast.While | ast.IfExp) and parent.test is node
    return is_test or isinstance(parent, ast.Expr)


def _is_statement(call: ast.AST | None, parents: dict[int, ast.AST]) -> bool:
    """Return whether the result of a method of a set is unused, or used without its order."""
    return isinstance(parents.get(id(call)), ast.Expr) or _is_orderless(call or ast.Pass(), parents)
