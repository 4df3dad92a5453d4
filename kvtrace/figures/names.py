"""Names of device functions: demangled in full, and short ones that tell kernels apart.

Tools report C++ functions as symbols (Itanium C++ ABI, section 5.1), or as the text of one of
three demanglers: GNU's, LLVM's and NVIDIA's, which spell lambdas and literals differently. The
short name follows from the name alone, so a kernel has the same one in all traces and outputs.
It has the function and its template arguments, without what the others imply: return type,
parameters, namespaces, offset calculators. A lambda is named by the function around it.

    void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<c10::Half>,
        std::array<char*, 1ul> >(int, at::native::FillFunctor<c10::Half>, std::array<char*, 1ul>)
    vectorized_elementwise_kernel<4, FillFunctor<Half>>

What is longer than `_WIDEST` keeps tile shapes, types, layouts and functors first, other names
while there is room, and ends with a digest of all: `device_kernel<GemmUniversal, 128x128x64,
bfloat16_t, …> ~5e1f0a`. Where short names are equal for other reasons (overloads, functions of
one name in two namespaces), `shown_names` adds such a digest.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple

#: Most characters of a short name without its digest.
_WIDEST: Final = 96
#: Most characters of a name that is parsed. The longest of 23,000 kernels of torch and vLLM has
#: 13,000; names of other tools' files may have any number.
_LONGEST: Final = 1 << 16
#: Deepest nesting of template arguments that is parsed.
_DEEPEST: Final = 100
#: Suffixes of symbols that are no part of the function's name: of code objects on AMD's devices,
#: and of functions that a compiler has cloned.
_SUFFIX: Final = re.compile(r"(?: \[clone [^\]]*\]|\.kd)+$")
#: The begin of a C++ function's parameters; "Memcpy HtoD (Pageable)" has none.
_PARAMETERS: Final = re.compile(r"[\w>}\]']\(")
#: A name with a scope or template arguments, but without parameters.
_QUALIFIED: Final = re.compile(r"(?:void )?[\w:~$<>() ]*(?:::|\w<)(?s:.*)")
_PARENTHESIS: Final = re.compile(r"[()]")
_TOKEN: Final = re.compile(
    r"""(?P<anonymous>\(anonymous[ ]namespace\)|<unnamed>|\{anonymous\}|\(anonymous\))
    |(?P<lambda>[{\[]lambda\s?\(|'lambda(?P<ordinal>\d{0,6})'\()
    |(?P<unnamed>\{unnamed[ ]type\#\d+\}|'unnamed\d*')
    |(?P<cast>\((?P<type>[\w:]+(?:[ ]\w+)*)\)(?=-?\d))
    |(?P<number>-?\d[\w.]*)
    |(?P<operator>operator[ ]?(?:\(\)|\[\]|->\*?|<=>|<<=?|>>=?|[-+*/%^&|~!=<>,]=?|&&|\+\+|--)
        (?=[(<]))
    |(?P<scope>::)
    |(?P<word>[^\W\d][\w$.@]*|~\w+)
    |(?P<space>\s+)
    |(?P<brackets>\[[^\[\]]*\])
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
#: The end of a lambda, behind its parameters: its number, which LLVM puts before them.
_LAMBDA_END: Final = re.compile(r"\#(\d{1,6})\}|\s?\(instance (\d{1,6})\)\]|\}|\]|")
_NUMBER: Final = re.compile(r"(-?\d+)[uUlL]*")
_QUALIFIERS: Final = frozenset({"const", "volatile", "restrict", "__restrict__"})
_UNNAMED: Final = ("", "operator()", "(anonymous)")
_ARITHMETIC: Final = frozenset({"unsigned", "signed", "long", "short", "int", "char", "double"})
#: Templates that stand for their last argument, a number: CuTe's, the standard library's, CK's.
_CONSTANTS: Final = frozenset(
    {"C", "Int", "integral_constant", "constant", "bool_constant", "Number", "number"}
)
_SHAPE: Final = re.compile(r"(?i)tuple|sequence|\w*shape\w*")
#: Arguments of torch's kernels that follow from the others.
_IMPLIED: Final = frozenset({"array", "Array", "TrivialOffsetCalculator", "OffsetCalculator"})
#: What is kept first of a name that is too long: tile shapes, element types, layouts, functors.
_TELLING: Final = re.compile(
    r"-?\d+(?:x-?\d+)+|(?i:\w*(?:float|half|bf16|fp16|fp8|fp4|int4|int8|e4m3|e5m2|e2m1)\w*)|double"
    r"|(?:Row|Column)Major\w*|\w*Functor\w*|\w+_functor|\w+Ops"
    r"|plus|minus|multiplies|divides|maximum|minimum"
    r"|cutlass_\w+|(?!gpu_kernel)\w+_(?:kernel|impl)(?:_cuda)?(?:\(.*)?"
)
#: Launchers and wrappers that are shown as their last argument: functors of torch, kernels of vLLM.
_WRAPPERS: Final = re.compile(r"gpu_kernel_impl_nocast|func_wrapper_t|enable_sm\w+")
#: Names of functions that say nothing without their namespace.
_GENERIC: Final = frozenset({"kernel", "run", "entry"})
_SCALAR: Final = re.compile(r"-?\d+|true|false")
_TAG_BYTES: Final = 3


class _Node(NamedTuple):
    """A name or number with its template arguments.

    Attributes:
        text: The whole name with all that is known, in one spelling for all demanglers.
        word: The unqualified name.
        arguments: The template arguments; None if the name has none.
        scope: The class or function template that it is a member of.
        closure: Parameters and numbers of the lambda in the function `word`, as `(float)#1.2`.
    """

    text: str
    word: str
    arguments: "tuple[_Node, ...] | None" = None
    scope: "_Node | None" = None
    closure: str = ""


class _Unreadable(ValueError):
    """A text that is not a C++ name, or is nested too deep."""


def full_name(symbol: str) -> str:
    """Return the demangled name with types and parameters; a name that is no C++ symbol unchanged.

    >>> full_name("_ZN2at4fillIfEEvPT_.kd")
    'void at::fill<float>(float*)'
    """
    name = _SUFFIX.sub("", symbol)
    return _demangled(name) if name.startswith("_Z") else name


@lru_cache(1 << 16)
def _demangled(symbol: str) -> str:
    try:
        import demangle  # only where a trace has C++ symbols
    except ImportError:
        return symbol  # in a program that is recorded, which needs pyarrow alone
    # Input, nesting and output are limited; a symbol beyond that comes back as it is.
    return demangle.demangle(symbol, language="itanium", style="gnu")


def readable(symbol: str) -> str:
    """Return the qualified C++ name, without types; a name that is not C++ unchanged.

    >>> readable("_ZN2at6native13reduce_kernelILi512EEEvT_")
    'at::native::reduce_kernel'
    """
    return _parsed(full_name(symbol))[1]


@lru_cache(1 << 16)
def titled(symbol: str) -> str:
    """Return the short name that the module describes; a name that is not C++ unchanged.

    >>> titled("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIiEEEEviT0_")
    'vectorized_elementwise_kernel<4, FillFunctor<int>>'
    """
    name = full_name(symbol)
    node, qualified = _parsed(name)
    if node is None:
        return name if len(name) <= _LONGEST else f"{name[:_WIDEST]}… {_tag(name)}"
    if node.word in _GENERIC:
        node = node._replace(word="::".join(qualified.split("::")[-2:]))
    short = _rendered(node)
    return short if len(short) <= _WIDEST else f"{_cut(node)} {_tag(node.text)}"


def shown_names(symbols: Iterable[str]) -> dict[str, str]:
    """Return the name to show for each symbol: its short name, which no other function shares."""
    names_by_title: dict[str, dict[str, list[str]]] = {}
    for symbol in symbols:
        names = names_by_title.setdefault(titled(symbol), {})
        names.setdefault(full_name(symbol), []).append(symbol)
    shown: dict[str, str] = {}
    for title, names in names_by_title.items():
        for name, same in names.items():
            shown |= dict.fromkeys(same, title if len(names) == 1 else f"{title} {_tag(name, 6)}")
    return shown


def _tag(text: str, size: int = _TAG_BYTES) -> str:
    return "~" + blake2b(text.encode("utf-8", "replace"), digest_size=size).hexdigest()


@lru_cache(1 << 12)
def _parsed(name: str) -> tuple[_Node | None, str]:
    """Return the node of a demangled function and its qualified name; (None, `name`) for others."""
    if len(name) > _LONGEST or not _is_function(name):
        return None, name
    parser = _Parser(name)
    try:
        node = parser.name("")
    except _Unreadable:
        return None, name
    return (node, "::".join(parser.scopes) or name) if node.word else (None, name)


def _is_function(name: str) -> bool:
    """Return whether a text looks like a C++ function's name."""
    has_end = name.endswith((")", ") const"))
    return bool((has_end and _PARAMETERS.search(name)) or _QUALIFIED.fullmatch(name))


class _Parser:
    """Parser of a demangled name, which reads each character about once.

    Attributes:
        scopes: The components of the last name that was read, each without types.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._depth = 0
        self.scopes: list[str] = []

    def name(self, closing: str) -> _Node:
        """Return the name, type or value up to one of the characters `closing`, or to the end.

        What precedes the last name, as a return type or `const`, is dropped.
        """
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Unreadable
        name = _Components()
        while self._position < len(self._text) and self._text[self._position] not in closing:
            self._read(name)
        self._depth -= 1
        self.scopes = [part.word for part in name.parts if part.word != "operator()"]
        return name.joined()

    def _read(self, name: "_Components") -> None:
        """Read what comes next, and add it to the name; spaces and casts of values are dropped."""
        match = self._next_token()
        kind, text = str(match.lastgroup), match[0]
        if text in _QUALIFIERS:
            name.qualifier = " const" if text == "const" else name.qualifier
        elif kind == "scope":
            name.is_open = True
        elif kind == "anonymous":
            name.add(_Node("", "(anonymous)"))
        elif kind in ("word", "number", "operator", "lambda", "unnamed"):
            name.add(self._component(kind, match))
        elif text == "(" and name.is_open:
            name.add(self.name(")"))
            self._take(")")
        elif text == "(":
            self._skip_parameters()
        elif text == "<" and name.may_be_template and not self._text[match.start() - 1].isspace():
            name.parts[-1] = _with_arguments(name.parts[-1], self._arguments())
        elif text == ")":
            raise _Unreadable
        elif text == "*":
            name.pointers += "*"

    def _next_token(self) -> re.Match[str]:
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            raise _Unreadable
        self._position = match.end()
        return match

    def _take(self, character: str) -> None:
        if not self._text.startswith(character, self._position):
            raise _Unreadable
        self._position += 1

    def _component(self, kind: str, match: re.Match[str]) -> _Node:
        if kind == "lambda":
            return self._lambda(match["ordinal"])
        if kind == "unnamed":
            return _Node("{unnamed}", "{unnamed}")
        word = match[0].replace(" ", "")  # NVIDIA's demangler writes `operator ()`
        if number := _NUMBER.fullmatch(word):
            word = number[1]
            if self._text.endswith("(bool)", 0, match.start()):
                word = "false" if word == "0" else "true"
        return _Node(word, word)

    def _arguments(self) -> tuple[_Node, ...]:
        arguments = [self.name(",>")]
        while self._text.startswith(",", self._position):
            self._position += 1
            arguments.append(self.name(",>"))
        self._take(">")
        return tuple(argument for argument in arguments if argument.word)

    def _lambda(self, ordinal: str | None) -> _Node:
        """Return the lambda whose parameters begin; LLVM numbers '', '0', '1', others 1, 2, 3."""
        parameters = [self.name(",)")]
        while self._text.startswith(",", self._position):
            self._position += 1
            parameters.append(self.name(",)"))
        self._take(")")
        number = 1 if not ordinal else int(ordinal) + 2
        end = _LAMBDA_END.match(self._text, self._position)
        if end is not None:
            self._position = end.end()
            number = int(end[1] or end[2] or number)
        types = ", ".join(_rendered(node) for node in parameters if node.word)
        return _Node(f"({types})#{number}", "", closure=f"({types})#{number}")

    def _skip_parameters(self) -> None:
        """Move behind the parenthesis that closes the one that was just read."""
        depth = 1
        while depth:
            match = _PARENTHESIS.search(self._text, self._position)
            if match is None:
                raise _Unreadable
            depth += 1 if match[0] == "(" else -1
            self._position = match.end()


class _Components:
    """The components of a name that is being read, and its pointers and `const`."""

    def __init__(self) -> None:
        self.parts: list[_Node] = []
        self.is_open = True  # the next word is a component of this name, not the begin of another
        self.pointers = ""
        self.qualifier = ""

    @property
    def may_be_template(self) -> bool:
        """The last component may have template arguments, so that `<` is no comparison."""
        return not self.is_open and not _NUMBER.fullmatch(self.parts[-1].word)

    def add(self, part: _Node) -> None:
        """Add a component, or begin another name with it: the one before was a return type."""
        if not self.is_open:
            word = self.parts[-1].word
            if part.word in _ARITHMETIC and set(word.split()) <= _ARITHMETIC:
                part = _Node(f"{word} {part.word}", f"{word} {part.word}")
            self.parts, self.pointers = [], ""
        self.parts.append(part)
        self.is_open = False

    def joined(self) -> _Node:
        """Return the name. Of its scopes, templates are kept.

        A lambda's name is that of the function around it.
        """
        text = "::".join(part.text for part in self.parts if part.text)
        text += self.pointers + self.qualifier
        named = [part for part in self.parts if part.word not in _UNNAMED]
        if not named:
            return _Node(text, "")
        *scopes, last = named
        closures = [part.closure for part in self.parts if part.closure]
        return last._replace(
            text=text,
            word=last.word + self.pointers if last.arguments is None else last.word,
            scope=scopes[-1] if scopes and scopes[-1].arguments else last.scope,
            closure=_closure(closures, last) if closures else last.closure,
        )


def _with_arguments(part: _Node, arguments: tuple[_Node, ...]) -> _Node:
    """Return the template with arguments; a number or shape in place of a template that is one."""
    text = f"{part.text}<{', '.join(argument.text for argument in arguments)}>"
    words = [argument.word for argument in arguments if argument.arguments is None]
    if arguments and len(words) == len(arguments):
        if part.word in _CONSTANTS:
            return _Node(text, words[-1])
        if len(words) > 1 and _SHAPE.fullmatch(part.word) and all(map(_NUMBER.fullmatch, words)):
            return _Node(text, "x".join(words))
    return part._replace(text=text, arguments=arguments)


def _closure(lambdas: list[str], function: _Node) -> str:
    """Return what is shown of nested lambdas, each as `(float)#2`, in a function.

    The numbers tell apart what a function dispatches to: the data type, or variants of a formula.
    Those of the innermost lambdas are left out if they are 1, and so are parameters that template
    arguments imply.
    """
    types, _, _ = lambdas[-1].rpartition("#")
    numbers = [number.rpartition("#")[2] for number in lambdas]
    while numbers and numbers[-1] == "1":
        numbers.pop()
    shown = types if function.arguments is None and types != "()" else ""
    return shown + ("#" + ".".join(numbers) if numbers else "")


def _stood_for(node: _Node) -> _Node:
    """Return the functor that a launcher or wrapper is made of, other nodes unchanged."""
    arguments = node.arguments
    while arguments and _WRAPPERS.fullmatch(node.word):
        node = arguments[-1]
        arguments = node.arguments
    return node


def _rendered(node: _Node) -> str:
    """Return the whole short name."""
    name = node.word if node.scope is None else f"{_rendered(node.scope)}::{node.word}"
    arguments = [_rendered(argument) for argument in _told(node)]
    return name + (f"<{', '.join(arguments)}>" if arguments else "") + node.closure


def _told(node: _Node) -> list[_Node]:
    told = (argument for argument in node.arguments or () if argument.word not in _IMPLIED)
    return [_stood_for(argument) for argument in told]


def _cut(node: _Node) -> str:
    """Return the function and those names of its arguments for which there is room."""
    names: dict[str, str] = {}  # by a key: numbers may repeat, other names are given once
    for index, word in enumerate(_names_below(node)):
        names.setdefault(f"{word} {index}" if _SCALAR.fullmatch(word) else word, word)
    name = (node.word if node.scope is None else f"{node.scope.word}::{node.word}")[:_WIDEST]
    room = _WIDEST - len(name) - len("<…>")
    kept = set()
    for key in sorted(names, key=lambda key: not _TELLING.fullmatch(names[key])):
        if len(names[key]) + 2 <= room:
            kept.add(key)
            room -= len(names[key]) + 2
    return f"{name}<{', '.join([*(names[key] for key in names if key in kept), '…'])}>"


def _names_below(node: _Node) -> Iterator[str]:
    for argument in (*([node.scope] if node.scope else ()), *_told(node)):
        if argument is not node.scope:
            yield argument.word + argument.closure
        yield from _names_below(argument)
