"""Data flow between launches, by the recorded text of the program that makes them.

A kernel's code and arguments do not say which tensors it is given. That both programs hand over the
same is taken from their text: it is equal without the kernels, which are compared by their IR, and
complete, from the launch to the top level of the program, with the modules of its folder that it
imports. Numbers in a launch are arguments or its grid, and are compared as such.
"""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.diff.outside_values import LIBRARIES, hash_uses, outside_uses
from kvtrace.converters.diff.own_places import differing_places, place_uses, places
from kvtrace.converters.diff.program_forms import ProgramText, exact_forms, program_forms
from kvtrace.schema.content import COMPILING, TORCH_FILES
from kvtrace.text import shorten

if TYPE_CHECKING:
    from kvtrace.converters.diff.snapshot import Snapshot
    from kvtrace.schema.runs import Run

#: Decorators of Triton, and what functions that these get call to choose constants of a kernel.
_CHOOSING: Final = frozenset((
    "abs", "autotune", "bool", "cdiv", "dim", "element_size", "get", "heuristics", "int", "jit",
    "len", "max", "min", "next_power_of_2", "numel", "round", "size", "stride",
))  # fmt: skip
#: Options of an autotuner that change tensors.
_HOOKS: Final = frozenset(("pre_hook", "post_hook", "reset_to_zero", "restore_value"))
_WIDTH: Final = 60
UNKNOWN: Final = "what its launches are given is not known"


@dataclass(frozen=True, slots=True)
class _Program:
    """The texts of a side's launching functions, and the reasons why they are not all of it."""

    texts: tuple[ProgramText, ...]
    gaps: Sequence["Change"] = ()


class Change(NamedTuple):
    """A change of a program, and whether it may be used after the last launch."""

    text: str
    follows: bool = False


def reasons_of_other_callers(before: "Snapshot", after: "Snapshot") -> Sequence[Change]:
    """Return why launches may be given other values than before; () if programs have equal text."""
    if [run.run_id for run in before.runs] == [run.run_id for run in after.runs]:
        return ()
    names = {key.name for side in (before, after) for key in side.kernels if key.name}
    programs = [_program(side, names) for side in (before, after)]
    changes = [*(_changes(*programs) if all(one.texts for one in programs) else ())]
    changes += [gap for program in programs for gap in program.gaps]
    changes += _changes_of_places((before, after), programs)
    libraries = [{run.versions.get("torch") for run in side.runs} for side in (before, after)]
    commands = [_options(side) for side in (before, after)]
    if commands[0] != commands[1]:
        follows = any(_reads_command(text) for one in programs for text in one.texts)
        changes.append(Change(f"the command ends with {commands[1]}, was {commands[0]}", follows))
    return (
        changes if libraries[0] == libraries[1] else (*changes, Change("torch has another version"))
    )


def _changes_of_places(
    sides: Sequence["Snapshot"], programs: Sequence[_Program]
) -> Iterator[Change]:
    """Yield what programs read of their names and folders that differs between two sides."""
    texts = [one.texts for one in programs]
    own = [places(side.runs, listed) for side, listed in zip(sides, texts, strict=True)]
    if own[0] == own[1]:
        return
    for listed, mine, others in zip(texts, own, reversed(own), strict=True):
        for use in differing_places(place_uses(listed), mine, others):
            follows = _value_may_follow(use.text, use.line, listed, frozenset())
            reason = f"{use.text.line(use.line)} uses {use.name}, which is another on each side"
            yield Change(f"{UNKNOWN}: {reason}", follows)


def _reads_command(text: ProgramText) -> bool:
    """Return whether what a text reads of the command may be used after the last launch."""
    words = ("argv", "parse_args", "parse_known_args")
    nodes = (node for node in ast.walk(text.tree) if isinstance(node, ast.Name | ast.Attribute))
    reading = (node for node in nodes if getattr(node, "attr", getattr(node, "id", "")) in words)
    return any(text.positions.value_may_follow(node.lineno) for node in reading)


def _options(side: "Snapshot") -> str:
    """Return what follows the program in a side's commands, without paths."""
    words = [word for run in side.runs for word in (run.command or "").split()[2:]]
    return " ".join(word for word in words if "/" not in word) or "nothing"


def _program(side: "Snapshot", kernels: Collection[str]) -> _Program:
    """Return the texts that lead to a side's launches; `kernels` are the names of kernels."""
    texts: dict[tuple[str, str], ProgramText] = {}
    modules: dict[str, ProgramText] = {}
    gaps: list[str] = []
    placed: list[tuple[ProgramText, int, str]] = []
    functions: set[str] = set()
    roots: set[Path] = set()

    def text_of(path: str, artifact: str | None, *, is_module: bool = False) -> ProgramText:
        content = (side.trace.artifact(artifact or "") or b"").decode("utf-8", "replace")
        tree = _tree(content, kernels, is_module=is_module) if content else None
        gaps.extend([] if tree else [f"the text of {path} was not recorded"])
        return ProgramText(path, tree or ast.Module([], []), is_module=is_module)

    for row in (row for run in side.runs for row in _launching_stacks(side, run, gaps)):
        frames, files = row["frames"], row["files"] or ()
        functions.update(str(frame["function"]).split(".")[-1] for frame in frames)
        roots |= {path.parent for path in [Path(frames[-1]["file"] or "")] if path.is_absolute()}
        if len(files) < len(frames) or frames[-1]["function"] != "<module>":
            frame = frames[min(len(files), len(frames) - 1)]
            place = f"{PurePath(frame['file'] or '?').name}:{frame['line']}"
            gaps.append(f"the text around {place}, which leads to a launch, was not recorded")
        for index, (file, frame) in enumerate(zip(files, frames, strict=False)):
            path, artifact, line = str(file["path"]), file["artifact"], frame["line"] or 0
            if (path, artifact) not in texts:
                texts[path, artifact] = text_of(path, artifact)
            texts[path, artifact].calls.add(line)
            if index == 0:
                texts[path, artifact].launches.add(line)
        for file in files[len(frames) :]:
            if file["path"] not in modules:
                modules[file["path"]] = text_of(**file, is_module=True)
    listed = [*texts.values()]
    known = functions | set(kernels)
    gaps += [] if listed else ["no text was recorded"]
    for text in listed:  # which grows by the modules that its texts import
        if TORCH_FILES not in text.path:
            used: set[str] = set()
            gaps += _unrecorded(text, known, kernels, roots, modules, used)
            uses = outside_uses([*ast.walk(text.tree)], kernels)
            placed += ((text, line, f"{text.line(line)} uses {name}") for line, name in uses)
            listed += [modules[path] for path in sorted(used) if modules[path] not in listed]
    own = [text for text in listed if TORCH_FILES not in text.path]
    if any(text.is_module for text in own):
        nodes = ((text, node) for text in own for node in ast.walk(text.tree))
        docs = ((t, n) for t, n in nodes if isinstance(n, ast.Attribute) and n.attr == "__doc__")
        placed += ((t, n.lineno, f"{t.line(n.lineno)} uses __doc__") for t, n in docs)
    for index, line, name in hash_uses([[*ast.walk(text.tree)] for text in own]):
        placed.append((own[index], line, f"{own[index].line(line)} uses {name}"))
    unplaced = [Change(f"{UNKNOWN}: {gap}") for gap in gaps]
    positioned = (
        Change(f"{UNKNOWN}: {reason}", _value_may_follow(text, line, listed, frozenset()))
        for text, line, reason in placed
    )
    return _Program(tuple(listed), (*unplaced, *positioned))


def _value_may_follow(
    text: ProgramText, line: int, texts: Sequence[ProgramText], seen: Collection[str]
) -> bool:
    """Return whether a value that a line reads from outside may be used after the last launch.

    A module has no launch: its values are used where its importers are. `seen` are paths of modules
    that import each other.
    """
    if not text.is_module:
        return text.positions.value_may_follow(line)
    if text.path in seen:
        return False
    imports = [
        (one, at)
        for one in texts
        for (at, _, _), paths in one.imported.items()
        if text.path in paths
    ]
    known = {*seen, text.path}
    return (
        not imports
        or text.positions.acts_on(line)
        or any(_value_may_follow(one, at, texts, known) for one, at in imports)
    )


def _launching_stacks(side: "Snapshot", run: "Run", gaps: list[str]) -> list[dict[str, Any]]:
    """Return the stacks of a run's calls that have frames; `gaps` gets a reason if some lack."""
    stack_ids = side.trace.table("calls", [run], ["stack_id"])["stack_id"].unique()
    stacks = side.trace.table("stacks", [run], ["stack_id", "frames", "files"])
    used = stacks.filter(pc.is_in(stacks["stack_id"], pa.array(stack_ids.to_pylist())))
    rows = [row for row in used.to_pylist() if row["frames"]]
    if stack_ids.null_count or len(rows) < len(stack_ids):
        gaps.append("stacks of launches were not recorded")
    return rows


def _tree(text: str, kernels: Collection[str], *, is_module: bool = False) -> ast.Module | None:
    """Return the syntax tree of a text without kernels, and without numbers of launches.

    Others may read a number of a module.
    """
    try:
        tree = ast.parse(text)
        tree = tree if "__doc__" in text else _WithoutDocstrings().visit(tree)
        tree = _WithoutKernels().visit(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    numbers = _WithoutNumbers(kernels)
    tree = numbers.visit(tree)
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    reads = [name.id for name in names if isinstance(name.ctx, ast.Load)]
    for statement in [] if is_module else [*tree.body]:
        name = _number_name(statement)
        if name and reads.count(name) == numbers.reads.count(name):
            tree.body.remove(statement)
    return cast("ast.Module", tree)


def _number_name(statement: ast.stmt) -> str:
    """Return the name that a statement sets to a number; "" for another statement."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Constant):
        return ""
    target = statement.targets[0]
    is_number = isinstance(statement.value.value, int | float) and len(statement.targets) == 1
    return target.id if is_number and isinstance(target, ast.Name) else ""


class _WithoutDocstrings(ast.NodeTransformer):
    """Removes statements that are a constant."""

    def visit_Expr(self, node: ast.Expr) -> Any:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)


class _WithoutKernels(ast.NodeTransformer):
    """Removes functions that Triton compiles; what an autotuner does to tensors stays."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        decorators = [ast.unparse(decorator).partition("(")[0] for decorator in node.decorator_list]
        if not COMPILING.intersection(decorators):
            return self.generic_visit(node)
        kept = [one for one in node.decorator_list if _may_change_tensors(one)]
        return [
            ast.copy_location(ast.Assign([ast.Name(inner.arg, ast.Store())], inner.value), inner)
            for decorator in node.decorator_list
            for inner in ast.walk(decorator)
            if isinstance(inner, ast.keyword) and inner.arg in _HOOKS
        ] + [ast.copy_location(ast.Expr(decorator), decorator) for decorator in kept]


def _may_change_tensors(decorator: ast.expr) -> bool:
    """Return whether a decorator is not Triton's, or has a function that may change tensors."""
    lambdas = (inner for inner in ast.walk(decorator) if isinstance(inner, ast.Lambda))
    calls = (call for inner in lambdas for call in ast.walk(inner) if isinstance(call, ast.Call))
    called = {ast.unparse(call.func).rpartition(".")[2] for call in calls}
    name = ast.unparse(decorator).partition("(")[0].rpartition(".")[2]
    return not called | {name} <= _CHOOSING


class _WithoutNumbers(ast.NodeTransformer):
    """Replaces the numbers of launches' grids and arguments; `reads` are names read in these."""

    def __init__(self, kernels: Collection[str]) -> None:
        self.reads: list[str] = []
        self._kernels = kernels

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        launched = node.func.value if isinstance(node.func, ast.Subscript) else None
        name = getattr(launched, "attr", getattr(launched, "id", None))
        if name not in self._kernels or not isinstance(node.func, ast.Subscript):
            return node
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        node.keywords = [one for one in node.keywords if not isinstance(one.value, ast.Constant)]
        for value in (*arguments, *ast.walk(node.func.slice)):
            if isinstance(value, ast.Constant):
                value.value = ...
            elif isinstance(value, ast.Name):
                self.reads.append(value.id)
        return node


def _unrecorded(
    text: ProgramText, known: Collection[str], kernels: Collection[str], roots: Collection[Path],
    modules: Mapping[str, ProgramText], used: set[str],
) -> Iterator[str]:  # fmt: skip
    """Yield which modules that a text imports were not recorded; programs use `roots` first.

    `used` gets the paths of recorded `modules` that it imports.
    """
    nodes = ast.walk(text.tree)
    for statement in (node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)):
        for alias in statement.names:
            bound = alias.asname or alias.name.partition(".")[0]
            if not _is_own(statement, alias.name, roots, modules):
                continue
            files = _imported(text.path, statement, alias.name, roots, modules, kernels)
            used.update(files)
            text.imported[statement.lineno, statement.col_offset, alias.name] = files
            is_known = bound in known or (alias.name in kernels and alias.asname is None)
            if not files and not is_known:
                yield f"the text of {bound}, of {text.line(statement.lineno)}, was not recorded"


def _is_own(
    statement: ast.Import | ast.ImportFrom, name: str, roots: Collection[Path],
    modules: Collection[str],
) -> bool:  # fmt: skip
    """Return whether a name is imported from the program's own modules, not from a library.

    All of a program's modules are recorded, or one without text tells that they are not.
    """
    if isinstance(statement, ast.ImportFrom) and statement.level:
        return True
    full = statement.module or "" if isinstance(statement, ast.ImportFrom) else name
    top = full.partition(".")[0]
    folders = {base for root in roots for base in (root, *root.parents)}
    files = {f"{base / top}{end}" for base in folders for end in (".py", "/__init__.py")}
    return top not in LIBRARIES or not files.isdisjoint(modules)


def _imported(
    path: str, statement: ast.Import | ast.ImportFrom, name: str, roots: Collection[Path],
    modules: Mapping[str, ProgramText], kernels: Collection[str],
) -> list[str]:  # fmt: skip
    """Return the recorded modules that an import of a name runs; [] if not all are recorded.

    Texts of modules are without `kernels`.
    """
    level, words, wanted = 0, name.split("."), ""
    if isinstance(statement, ast.ImportFrom):
        level, words, wanted = statement.level, (statement.module or "").split("."), name
    parents: Collection[PurePath] = [*PurePath(path).parents][level - 1 : level]
    words = [word for word in words if word]
    for base in parents if level else dict.fromkeys(p for r in roots for p in (r, *r.parents)):
        places = [base.joinpath(*words[:count]) for count in range(not level, len(words) + 1)]
        steps = [
            [file for file in (f"{place}.py", f"{place}/__init__.py") if file in modules]
            for place in (*places, *([places[-1] / wanted] if wanted else []))
        ]
        target = steps[-2] if wanted else steps[-1]
        is_bound = wanted in {"*", *kernels} or any(
            {wanted, "*"} & modules[file].names for file in target
        )
        if steps[-1] or (target and is_bound):
            return [file for step in steps for file in step]
    return []


def _changes(before: _Program, after: _Program) -> Sequence[Change]:
    """Return the changes from one program's text to another's, in order; () if they are equal."""
    programs = (before, after)
    for forms in (exact_forms, program_forms):  # exact ones take less time
        own = [{*forms(one.texts)} for one in programs]
        if own[0] == own[1]:
            return ()
    codes = [[ast.dump(text.tree) for text in one.texts] for one in programs]
    return (
        _changes_of_texts(
            [
                text
                for text, code in zip(before.texts, codes[0], strict=True)
                if code not in codes[1]
            ],
            [
                text
                for text, code in zip(after.texts, codes[1], strict=True)
                if code not in codes[0]
            ],
        )
        or _changes_of_texts(before.texts, after.texts)  # files that exchanged their texts
        or (Change("the program around its launches is another", True),)
    )


def _changes_of_texts(old: Sequence[ProgramText], new: Sequence[ProgramText]) -> Sequence[Change]:
    """Return the changes of texts, which are paired by their names before the rest."""
    partners = {_name(text): text for text in old}
    rest = [text for name, text in partners.items() if name not in {*map(_name, new)}]
    changes: list[Change] = []
    for new_text in new:
        old_text = partners.get(_name(new_text)) or (rest.pop(0) if rest else None)
        if old_text is not None:  # else the text that calls it has changed, too
            changes += _changes_of_text(old_text, new_text)
    return changes


def _changes_of_text(old_text: ProgramText, new_text: ProgramText) -> Iterator[Change]:
    """Yield the changes of statements from one text to another, in their order."""
    texts = (old_text, new_text)
    old, new = ([*_statements(text.tree.body)] for text in texts)
    codes = [[code for code, _, _ in side] for side in (old, new)]
    matcher = SequenceMatcher(None, codes[0], codes[1], False)
    for kind, a, a_end, b, b_end in matcher.get_opcodes():
        if kind == "equal":
            continue
        follows = any(old_text.positions.may_follow(statement) for *_, statement in old[a:a_end])
        follows = follows or any(
            new_text.positions.may_follow(statement) for *_, statement in new[b:b_end]
        )
        if kind == "replace":
            (old_code, *_), (code, line, _) = old[a], new[b]
            yield Change(f"{_handed(old_code, code)} ({new_text.line(line)})", follows)
            continue
        code, line, _ = old[a] if kind == "delete" else new[b]
        at = f"{old_text.line(line)} of BEFORE" if kind == "delete" else new_text.line(line)
        has_moved = codes[0].count(code) == codes[1].count(code)
        change = "has moved" if has_moved else "is gone" if kind == "delete" else "is new"
        yield Change(f"`{_short(code)}`, {at}, {change}", follows)


def _name(text: ProgramText) -> tuple[str, str]:
    """Return the file of a text, and the function that it ends with; "" if it is a top level."""
    last = ast.walk(text.tree.body[-1]) if text.tree.body else ()
    names = [node.name for node in last if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return PurePath(text.path).name, "*" if text.is_module else ".".join(names)


def _statements(body: Sequence[ast.stmt]) -> Iterator[tuple[str, int, ast.stmt]]:
    """Yield text, line and node of each statement and decorator; of a body, its first line."""
    for statement in body:
        for decorator in getattr(statement, "decorator_list", ()):
            yield f"@{ast.unparse(decorator)}", decorator.lineno, statement
        inner = [getattr(statement, name, ()) for name in ("body", "orelse", "finalbody")]
        inner += [handler.body for handler in getattr(statement, "handlers", ())]
        if not inner[0]:
            yield ast.unparse(statement), statement.lineno, statement
            continue
        lines = ast.unparse(statement).splitlines()
        first = next(line for line in lines if not line.startswith("@"))
        yield first, statement.lineno, statement
        for part in inner:
            yield from _statements(part)


def _handed(old: str, new: str) -> str:
    """Return a phrase on a changed statement: what it hands over, if only arguments changed."""
    calls = [
        [node for node in ast.walk(_parsed(code)) if isinstance(node, ast.Call)]
        for code in (old, new)
    ]
    for old_call, new_call in zip(*calls, strict=False):
        if ast.unparse(old_call.func) != ast.unparse(new_call.func):
            continue
        before, after = _arguments(old_call), _arguments(new_call)
        if len(old_call.args) == len(new_call.args) and before != after:
            both = [(text, after[name]) for name, text in before.items() if name in after]
            phrases = [f"{b} is handed over where {a} was" for a, b in both if a != b]
            phrases += [f"{after[n]} is handed over, too" for n in after if n not in before]
            phrases += [f"{before[n]} is handed over no more" for n in before if n not in after]
            return ", ".join(phrases)
    return f"`{_short(new)}` was `{_short(old)}`"


def _parsed(code: str) -> ast.AST:
    try:
        return ast.parse(code)
    except SyntaxError:  # the first line of a statement with a body
        return ast.Module([], [])


def _arguments(call: ast.Call) -> dict[int | str | None, str]:
    """Return the texts of arguments by position, of keywords by name and with it."""
    values: dict[int | str | None, ast.expr] = dict(enumerate(call.args))
    values |= {keyword.arg: keyword.value for keyword in call.keywords}
    return {
        name: (f"{name}=" if isinstance(name, str) else "")
        + ("a number" if (text := ast.unparse(value)) == "..." else _short(text))
        for name, value in values.items()
    }


def _short(code: str) -> str:
    return shorten(code.splitlines()[0], _WIDTH)
