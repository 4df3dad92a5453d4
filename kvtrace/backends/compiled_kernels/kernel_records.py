"""Records of compiled kernels: signature, stages, resources, compilation."""

import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from threading import get_native_id
from typing import Any, Final

from kvtrace.backends.compiled_kernels.loads import Load
from kvtrace.backends.compiled_kernels.removed_loads import has_removed_loads
from kvtrace.backends.compiled_kernels.versions import definition
from kvtrace.backends.compiled_kernels.written_lines import with_program_locations
from kvtrace.capture.arguments import flattened, literal
from kvtrace.capture.python_source import used_files
from kvtrace.capture.records import KernelRecord, Parameter, Stage, capped
from kvtrace.settings import Source

#: The compiler's stages in order; other stages follow.
STAGES: Final = ("ttir", "glir", "ttgir", "llir", "ptx", "amdgcn", "cubin", "hsaco")
#: The IR that the frontend writes, before any pass; kept where passes removed loads.
SOURCE: Final = "source"

#: Metadata that has a separate column, or is not a compile option.
_NO_OPTIONS: Final = frozenset(
    ["hash", "target", "name", "shared", "num_warps", "num_ctas", "num_stages", "warp_size"]
)
#: Most compilations that are stored until their kernel is launched.
_COMPILATIONS: Final = 10_000

#: File, line and column of a location; MLIR writes other characters than plain ones as `\4A`.
_LOCATION: Final = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+')
#: The parameters of a kernel's function in TTIR or TTGIR, and each one's name.
_IR_HEADER: Final = re.compile(r"tt\.func public @[^(]*\((.*)\)")
_IR_PARAMETER: Final = re.compile(r"%([\w$.-]+): ")
_ESCAPE: Final = re.compile(rb"\\(\\|[0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Compilation:
    """The durations of one variant's compilation, as Triton reports them; all times in ns."""

    cache_hit: bool
    begin: int
    duration: int
    initialization: int
    stages: tuple[tuple[str, int], ...]
    storing: int
    thread: int


class CompilationListener:
    """A listener that stores compilations by the compiler's hash, and calls the user's listener."""

    def __init__(
        self,
        before: Callable[..., Any] | None,
        problem: Callable[[Exception], None],
        hand_over: Callable[[str, Compilation], None] | None = None,
    ):
        """`before` is the user's listener; `problem` is called with kvtrace's failures.

        `hand_over`, in a process that compiles for another, is called with each compilation.
        """
        self.before = before
        self._problem = problem
        self._hand_over = hand_over
        self._compilations: OrderedDict[str, Compilation] = OrderedDict()

    def __call__(self, **facts: Any) -> None:
        """Store a compilation, and call the user's listener; Triton calls this after each one."""
        try:
            self._note(facts)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._problem(error)
        if self.before is not None:
            self.before(**facts)

    def add(self, cache_key: str, compilation: Compilation) -> None:
        """Store a compilation by the kernel's hash; of too many, the oldest is removed."""
        self._compilations[cache_key] = compilation
        while len(self._compilations) > _COMPILATIONS:
            self._compilations.popitem(last=False)

    def take(self, cache_key: str) -> Compilation | None:
        """Return and remove the compilation of the kernel with that hash, or None."""
        return self._compilations.pop(cache_key, None)

    def _note(self, facts: Mapping[str, Any]) -> None:
        times = facts["times"]
        duration = int(times.total) * 1000
        cache_key = str(facts["metadata"]["hash"])
        compilation = Compilation(
            cache_hit=bool(facts["cache_hit"]),
            begin=time.time_ns() - duration,
            duration=duration,
            initialization=int(times.ir_initialization) * 1000,
            stages=tuple((str(name), int(us) * 1000) for name, us in times.lowering_stages),
            storing=int(times.store_results) * 1000,
            thread=get_native_id(),
        )
        self.add(cache_key, compilation)
        if self._hand_over is not None:
            self._hand_over(cache_key, compilation)


def function_of(kernel: Any) -> Any:
    """Return the jitted function of a kernel; None for a kernel compiled from an IR file."""
    return getattr(kernel.src, "fn", None)


def is_gluon(kernel: Any) -> bool:
    """Return whether a kernel is written in Gluon, whose kernels have GLIR and no TTIR."""
    return bool(getattr(function_of(kernel), "is_gluon", bool)())


def kernel_name(kernel: Any) -> str:
    """Return the name of the kernel's function."""
    function = function_of(kernel)
    return str(kernel.name if function is None else function.__name__)


def definition_of(kernel: Any) -> tuple[str | None, int | None]:
    """Return file and line of the kernel's `def`; (None, None) for one compiled from an IR file.

    A kernel from torch.compile's cache has no Python function: its `def` is at the first location
    of its IR.
    """
    function = function_of(kernel)
    if function is None:
        return None, None
    if function.fn is not None:
        return definition(function)
    location = _LOCATION.search(kernel.asm.get("ttir", ""))
    return (None, None) if location is None else (_unescaped(location[1]), int(location[2]))


def parameters_of(kernel: Any) -> tuple[Parameter, ...]:
    """Return the flattened signature; without its constexprs it is that of the IR's function."""
    source = kernel.src
    constants: Mapping[Any, Any] = getattr(source, "constants", {})
    attributes: Mapping[Any, Any] = getattr(source, "attrs", {})
    return tuple(
        Parameter(
            name=name,
            type=kind,
            constexpr=literal(_at(constants, path)) if kind == "constexpr" else None,
            divisibility=_divisibility(attributes.get(path)),
        )
        for path, name, kind in _paths(signature_of(source))
    )


def signature_of(source: Any) -> dict[str, Any]:
    """Return the parameters' types by name; for an IR file, the names are read from its IR."""
    signature: Mapping[Any, Any] = source.signature
    if getattr(source, "fn", None) is not None or all(isinstance(name, str) for name in signature):
        return dict(signature)
    header = _IR_HEADER.search(str(getattr(source, "src", "")))
    names = [] if header is None else _IR_PARAMETER.findall(header[1])
    if len(names) != len(signature):
        names = [str(number) for number in signature]
    return dict(zip(names, signature.values(), strict=True))


def values_of(kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """Return a launch's argument values with defaults, flattened in the order of the signature."""
    function = function_of(kernel)
    signature = signature_of(kernel.src)
    if function is None:
        return list(args[: len(signature)])
    values_by_name = arguments_by_name(function, args, kwargs)
    return [
        value
        for name, kind in signature.items()
        for _, _, value in flattened(str(name), kind, values_by_name.get(name))
    ]


def arguments_by_name(
    function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a launch of a jitted function by parameter, with defaults."""
    names = (parameter.name for parameter in function.params)
    values = dict(zip(names, args, strict=False))
    for parameter in function.params:
        if parameter.name in kwargs:
            values[parameter.name] = kwargs[parameter.name]
        elif parameter.name not in values and parameter.has_default:
            values[parameter.name] = parameter.default
    return values


def early_record(kernel: Any, origin: str) -> KernelRecord:
    """Return the part of a compiled kernel's record that a launch is judged by, as its IR.

    To be called at the kernel's first launch; printing the IR again takes about 1 ms.
    """
    kernel = getattr(kernel, "ttir_kernel", kernel)  # compile no later stage for the record
    stage = evaluated_stage(kernel)
    text, stages = kernel.asm.get(stage), {}
    if isinstance(text, str):
        stages = {stage: with_program_locations(text, function_of(kernel))}
    # `kernel_record` tells which stage is missing
    return replace(
        _launch_facts(kernel, origin), stages=tuple(_stages(stages, stage, None, lambda _: None))
    )


def _launch_facts(kernel: Any, origin: str) -> KernelRecord:
    """Return the part of a compiled kernel's record that a launch depends on, without stages."""
    metadata = kernel.metadata
    options = dict(options_of(metadata))
    return KernelRecord(
        name=kernel_name(kernel),
        origin=origin,
        signature=parameters_of(kernel),
        target=target_of(metadata),
        warp_size=int(metadata.target.warp_size),
        num_warps=metadata.num_warps,
        num_ctas=metadata.num_ctas,
        num_stages=getattr(metadata, "num_stages", None),
        options=options,
        compiler=("triton", options.get("triton_version")),
    )


def kernel_record(
    kernel: Any,
    compilation: Compilation | None,
    load: Load | None,
    origin: str,
    keep: Source,
    tell: Callable[[str], None],
) -> KernelRecord:
    """Return the record of a compiled kernel; `tell` is called with messages on missing parts.

    `compilation` and `load` are None if they happened elsewhere, or before the recording. `keep` is
    the setting `source`. To be called in the background thread, since texts of megabytes are read
    and the IR is printed again.
    """
    kernel = getattr(kernel, "ttir_kernel", kernel)  # compile no later stage for the record
    function = function_of(kernel)
    file, line = definition_of(kernel)
    stages = {
        name: with_program_locations(content, function) if isinstance(content, str) else content
        for name, content in kernel.asm.items()
    }
    if is_gluon(kernel) and "source" in stages:  # before Triton 3.9 no stage is named glir
        stages.setdefault("glir", stages["source"])
    located = stages.get("ttir", stages.get("glir"))
    return replace(
        _launch_facts(kernel, origin),
        module=None if function is None else str(function.__module__),
        file=file,
        line=line,
        source=str(function.src) if keep != "off" and function is not None else None,
        files=_source_files(located, file, line, keep) if isinstance(located, str) else (),
        cache_key=str(kernel.hash),
        function=str(kernel.name),
        **_compilation_facts(compilation),
        **_load_facts(load),
        **late_columns(kernel),
        stages=tuple(_stages(stages, evaluated_stage(kernel), compilation, tell)),
    )


def target_of(metadata: Any) -> str:
    """Return a kernel's target, as cuda:90."""
    return f"{metadata.target.backend}:{metadata.target.arch}"


def _compilation_facts(compilation: Compilation | None) -> dict[str, Any]:
    if compilation is None:
        return {}  # compiled before the recording
    return {
        "cache_hit": compilation.cache_hit,
        "compile_begin": compilation.begin,
        "compile_ns": compilation.duration,
        "thread": compilation.thread,
    }


def _load_facts(load: Load | None) -> dict[str, Any]:
    if load is None:
        return {}
    return {"load_begin": load.begin, "load_ns": load.duration, "load_thread": load.thread}


def evaluated_stage(kernel: Any) -> str:
    """Return the stage of a compiled kernel that is evaluated."""
    return first_stage(kernel.src)


def first_stage(source: Any) -> str:
    """Return the stage that says what a kernel computes: TTGIR if it is compiled from no TTIR."""
    in_gluon = getattr(getattr(source, "fn", None), "is_gluon", bool)()
    return "ttgir" if in_gluon or getattr(source, "ext", None) == "ttgir" else "ttir"


def _stages(
    asm: Mapping[str, Any],
    evaluated: str,
    compilation: Compilation | None,
    tell: Callable[[str], None],
) -> Iterator[Stage]:
    durations = {} if compilation is None else dict(compilation.stages)
    if compilation is not None and not compilation.cache_hit:
        yield Stage("ir_initialization", None, compilation.initialization)
    order = [*STAGES, *(name for name in durations if name not in STAGES)]
    for name in order:
        content = asm.get(name)
        if content is None and name not in durations:
            continue
        product = content.encode() if isinstance(content, str) else content
        yield Stage(name, product, durations.get(name))
        if name == evaluated and isinstance(content, str):
            yield from _generic(name, content, tell)
            source = asm.get(SOURCE)
            if isinstance(source, str) and has_removed_loads(source, content):
                yield from _generic(SOURCE, source, lambda _: None)
    if compilation is not None and not compilation.cache_hit:
        yield Stage("store_results", None, compilation.storing)


def _generic(stage: str, text: str, tell: Callable[[str], None]) -> Iterator[Stage]:
    from kvtrace.backends.compiled_kernels.generic import GenericFormFailed, generic_once

    try:
        yield Stage(f"{stage}_generic", generic_once(text).encode())
    except GenericFormFailed as error:
        name = stage.upper()
        tell(f"{error} The kernel is recorded without generic {name} and cannot be replayed.")


def late_columns(kernel: Any) -> dict[str, Any]:
    """Return the columns of `kernels` that only a full compilation determines; None: unknown."""
    registers, spills = _resources(kernel)
    return {"shared_bytes": kernel.metadata.shared, "registers": registers, "spills": spills}


def _resources(kernel: Any) -> tuple[int | None, int | None]:
    """Return registers and spills of the loaded kernel, or else from its binary; None: unknown."""
    registers = getattr(kernel, "n_regs", None)
    if isinstance(registers, int):
        return registers, getattr(kernel, "n_spills", None)
    cubin, hsaco = (kernel.asm.get(stage) for stage in ("cubin", "hsaco"))
    from kvtrace.backends.compiled_kernels.elf import UnreadableBinary

    try:
        if isinstance(cubin, bytes) and cubin:
            from kvtrace.backends.compiled_kernels.cubin import cubin_resources

            binary_resources: Any = cubin_resources(cubin, str(kernel.name))
        elif isinstance(hsaco, bytes) and hsaco:
            from kvtrace.backends.compiled_kernels.cubin import hsaco_resources

            binary_resources = hsaco_resources(hsaco, str(kernel.name))
        else:
            return None, None
    except UnreadableBinary:
        return None, None  # a placeholder for a binary, or a newer format
    return binary_resources.registers, binary_resources.spills


def options_of(metadata: Any) -> Iterator[tuple[str, str]]:
    """Yield name and text of each compile option that has no column."""
    for name, value in metadata._asdict().items():
        if name not in _NO_OPTIONS and value is not None:
            yield str(name), capped(str(value))


def _source_files(
    located: str, file: str | None, line: int | None, keep: Source
) -> tuple[tuple[str, bytes | None], ...]:
    """Return (path, content to record or None) of the files named in the IR's locations, sorted.

    The kernel's own file is included even if Triton's cache has the IR from another file.
    """
    places = [(_unescaped(path), int(number)) for path, number in set(_LOCATION.findall(located))]
    own_place = [] if file is None else [(file, line)]
    return tuple(sorted(used_files((*places, *own_place), keep)))


def _unescaped(text: str) -> str:
    def character(match: re.Match[bytes]) -> bytes:
        return b"\\" if match[1] == b"\\" else bytes.fromhex(match[1].decode())

    return os.fsdecode(_ESCAPE.sub(character, text.encode()))


def places_in(signature: Iterable[tuple[Any, Any]]) -> dict[int, tuple[int, ...]]:
    """Return for each position in the flattened signature its path in a launch's values.

    The path is the parameter's index, followed by the indices within nested tuples.
    """
    return {position: path for position, (path, _, _) in enumerate(_paths(dict(signature)))}


def _paths(signature: Mapping[Any, Any]) -> Iterator[tuple[tuple[int, ...], str, str]]:
    """Yield index path, name and type of each entry of the flattened signature."""
    for index, (name, kind) in enumerate(signature.items()):
        for path, (label, leaf, _) in zip(
            _leaf_paths(kind, (index,)), flattened(str(name), kind, None), strict=True
        ):
            yield path, label, leaf


def _leaf_paths(kind: Any, path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not isinstance(kind, tuple | list):
        yield path
        return
    for index, inner in enumerate(kind):
        yield from _leaf_paths(inner, (*path, index))


def _at(constants: Mapping[Any, Any], path: tuple[int, ...]) -> Any:
    """Return the constant at a path of indices, or inside of a constant tuple on it, else None."""
    for length in range(len(path), 0, -1):
        if path[:length] in constants:
            value = constants[path[:length]]
            for index in path[length:]:
                value = value[index]
            return value
    return None


def _divisibility(attributes: Any) -> int | None:
    for attribute in attributes or ():
        if attribute[0] == "tt.divisibility":
            return int(attribute[1])
    return None
