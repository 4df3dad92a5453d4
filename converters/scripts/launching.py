"""Recorded calls of Triton kernels as data, and their launches; needs torch and Triton only."""

import base64
import importlib
import importlib.util
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import triton


class Tensor(NamedTuple):
    """A tensor argument: which storage it lies in, and how; the offset is in bytes."""

    storage: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class Descriptor(NamedTuple):
    """A tensor descriptor made on the host."""

    base: Tensor
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block_shape: tuple[int, ...]
    padding: str = "zero"


class Drawn(NamedTuple):
    """The distribution that elements are drawn from: numbers of a recorded tensor.

    `quantiles` are, at `LEVELS`, those of the finite elements other than zero; `zeros` and both
    kinds of infinities are shares of all elements; `sorted` is ascending, descending or None.
    """

    quantiles: tuple[float, ...]
    zeros: float = 0.0
    negative_infinities: float = 0.0
    infinities: float = 0.0
    sorted: str | None = None


class Storage(NamedTuple):
    """Memory of tensors: bytes, element type, and the hash of its contents if these are known.

    Else contents are `drawn`, or random if nothing of them is known.
    """

    nbytes: int
    dtype: str
    contents: str | None = None
    drawn: Drawn | None = None


class Call(NamedTuple):
    """A recorded call.

    `stage` is the form of `code`: ttir, ttgir, source (a Python module), module (the name of one
    that is installed) or function (a Python module whose function is called with the arguments).
    `code` and `contents` (base64 of zlib, by hash) are texts; in a suite they are files instead,
    beside this one. `recorded` has the median time in milliseconds, the device, and the number of
    executions. `constants` has the values of parameters that were compiled into the kernel, and are
    no arguments of its IR.
    """

    kernel: str
    grid: tuple[int, int, int]
    options: dict[str, Any]
    storages: dict[str, Storage]
    arguments: dict[str, Any]
    recorded: tuple[float, str, int] | None
    stage: str
    code: str
    contents: dict[str, str] | None = None
    constants: dict[str, Any] = {}  # noqa: RUF012 - nothing changes it


#: Random contents are made in pieces of this many elements, which repeat.
PIECE = 1 << 24

#: Types of arguments as Triton's launcher names them, by MLIR's name.
FLOATS = {"f16": "fp16", "f32": "fp32", "f64": "fp64"}
#: Drawn contents are made of pieces of fewer elements, as float64.
DRAWN_PIECE = 1 << 22
#: Shares of elements that are at most each of the quantiles.
LEVELS = (
    0.0, 0.001, 0.003, 0.01, 0.03, 0.07, 0.15, 0.3, 0.5,
    0.7, 0.85, 0.93, 0.97, 0.99, 0.997, 0.999, 1.0,
)  # fmt: skip

# ---- How calls are launched ----


def active_device() -> tuple[torch.device, Any]:
    """Return the device that Triton launches on, and what stands for torch.cuda there."""
    try:
        driver = triton.runtime.driver.active
        return driver.get_active_torch_device(), driver.get_device_interface()
    except RuntimeError as error:
        sys.exit(f"Triton finds no GPU ({error}); without one: kvtrace run -o out/ {sys.argv[0]}")


def recorded_bytes(call: Call, contents: str) -> bytearray:
    """Return the recorded contents of a storage by their hash."""
    text = (call.contents or {}).get(contents)
    if text is not None:
        return bytearray(zlib.decompress(base64.b64decode(text)))
    path = Path(__file__).parent / "contents" / f"{contents}.zlib"
    return bytearray(zlib.decompress(path.read_bytes()))


def filled(call: Call, storage: Storage, seed: int) -> torch.Tensor:
    """Return a storage's bytes on the host: recorded, drawn, or random ones of the element type."""
    if storage.contents is None:
        return unrecorded(storage, seed)
    memory = torch.empty(storage.nbytes, dtype=torch.uint8)
    whole = recorded_bytes(call, storage.contents)
    return memory.copy_(torch.frombuffer(whole, dtype=torch.uint8)) if whole else memory


def unrecorded(storage: Storage, seed: int) -> torch.Tensor:
    """Return bytes on the host for a storage whose contents are not known, as `filled`."""
    memory = torch.empty(storage.nbytes, dtype=torch.uint8)
    kind = getattr(torch, storage.dtype)
    view = memory[: storage.nbytes // kind.itemsize * kind.itemsize].view(kind)
    generator = torch.Generator().manual_seed(seed)
    size = min(PIECE if storage.drawn is None else DRAWN_PIECE, len(view))
    if storage.drawn is not None:
        piece = converted(drawn_elements(storage.drawn, size, generator), kind)
    elif kind.is_floating_point or kind.is_complex:
        piece = torch.randn(size, generator=generator).to(kind)
    else:
        piece = torch.randint(0, 2 if kind is torch.bool else 4, (size,), generator=generator)
        piece = piece.to(kind)
    for start in range(0, len(view), max(size, 1)):
        part = view[start : start + size]
        part.copy_(piece[: len(part)])
    return memory


def drawn_elements(drawn: Drawn, count: int, generator: torch.Generator) -> torch.Tensor:
    """Return independent elements, as float64; they are sorted if the recorded ones were."""
    elements = torch.zeros(count, dtype=torch.float64)
    uniform = torch.rand(count, generator=generator, dtype=torch.float64)
    if drawn.quantiles:
        levels = torch.tensor(LEVELS, dtype=torch.float64)
        quantiles = torch.tensor(drawn.quantiles, dtype=torch.float64)
        upper = torch.searchsorted(levels, uniform, right=True).clamp_(1, len(LEVELS) - 1)
        within = (uniform - levels[upper - 1]) / (levels[upper] - levels[upper - 1])
        elements = torch.lerp(quantiles[upper - 1], quantiles[upper], within)
    uniform = torch.rand(count, generator=generator, dtype=torch.float64)
    bound = 0.0
    for share, value in (
        (drawn.zeros, 0.0),
        (drawn.negative_infinities, float("-inf")),
        (drawn.infinities, float("inf")),
    ):
        elements[(uniform >= bound) & (uniform < bound + share)] = value
        bound += share
    if drawn.sorted is not None:
        elements = elements.sort(descending=drawn.sorted == "descending").values
    return elements


def converted(elements: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    """Return float64 elements in another type, integers rounded."""
    if not kind.is_floating_point and not kind.is_complex:
        elements = elements.round_().clamp_(max=2.0**63 - 1024)  # the largest float64 in an int64
    return elements.to(kind)


def new_storages(call: Call, device: torch.device) -> dict[str, torch.Tensor]:
    """Return new storages with the contents that a launch begins with, as bytes by name."""
    return {
        name: filled(call, storage, seed).to(device)
        for seed, (name, storage) in enumerate(call.storages.items())
    }


def value_of(argument: Any, memory: dict[str, torch.Tensor]) -> Any:
    """Return a launch's argument; tensors are views into their storages."""
    if isinstance(argument, Descriptor):
        from triton.tools.tensor_descriptor import TensorDescriptor

        base = value_of(argument.base, memory)
        extents = map(list, (argument.shape, argument.strides, argument.block_shape))
        settings = {} if argument.padding == "zero" else {"padding": argument.padding}
        return TensorDescriptor(base, *extents, **settings)
    if not isinstance(argument, Tensor):
        return argument
    kind, storage = getattr(torch, argument.dtype), memory[argument.storage].untyped_storage()
    empty = torch.empty(0, dtype=kind, device=memory[argument.storage].device)
    start = argument.offset // kind.itemsize
    return empty.set_(storage, start, argument.shape, argument.strides)


def arguments(call: Call, memory: dict[str, torch.Tensor]) -> dict[str, Any]:
    """Return every argument by name, its tensors views into `memory` (see `new_storages`)."""
    return {name: value_of(argument, memory) for name, argument in call.arguments.items()}


def code_text(call: Call) -> str:
    """Return the kernel's code, or the name of its module."""
    if "\n" in call.code or call.stage == "module":
        return call.code
    return (Path(__file__).parent / call.code).read_text(encoding="utf-8")


def prepared(call: Call, folder: Path) -> Callable[[dict[str, Any]], object]:
    """Compile the kernel, and return a function that launches it with arguments.

    `folder` is an empty folder for the code, which has to exist until the kernel is launched.
    """
    if call.stage in ("ttir", "ttgir"):
        path = folder / f"kernel.{call.stage}"
        path.write_text(code_text(call), encoding="utf-8")
        compiled = triton.compile(str(path), options=call.options)
        signature = compiled.src.signature  # with the IR's types, not all of which Triton knows
        signature.update({n: FLOATS.get(kind, kind) for n, kind in signature.items()})
        return lambda given: compiled[call.grid](*given.values())
    if call.stage == "function":
        function = getattr(source_module(call, folder), call.kernel)
        return lambda given: function(*given.values())
    kernel = kernel_of_source(call, folder)
    names = dict.fromkeys(name.split(".")[0] for name in call.arguments)
    return lambda given: kernel[call.grid](
        **{name: nested(name, given) for name in names}, **call.options
    )


def kernel_of_source(call: Call, folder: Path) -> Any:
    """Return the kernel's function: of the recorded source, or of the module that is installed."""
    if call.stage == "module":
        kernel = getattr(importlib.import_module(call.code), call.kernel)
    else:
        kernel = getattr(source_module(call, folder), call.kernel)
    while not isinstance(kernel, triton.runtime.jit.JITFunction):
        kernel = kernel.fn  # the recorded call has the values that an autotuner chose
    return kernel


def source_module(call: Call, folder: Path) -> Any:
    """Return the module of the recorded source, imported from a file in `folder`."""
    path = folder / "recorded_kernel.py"
    path.write_text(code_text(call), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nested(name: str, given: dict[str, Any]) -> Any:
    """Return a parameter's value: an argument, or a tuple of the arguments `name.0`, `name.1` …."""
    if name in given:
        return given[name]
    parts = [key[len(name) + 1 :].split(".")[0] for key in given if key.startswith(f"{name}.")]
    return tuple(nested(f"{name}.{part}", given) for part in dict.fromkeys(parts))


def launch_times(launch: Callable[[], object], count: int, interface: Any) -> list[float]:
    """Return the times of launches on the device, in milliseconds.

    The cache is cleared before each, as by triton.testing.do_bench; that also keeps the device
    busy until the launch is in its queue, so that what launching takes is not in the time.
    """
    driver = triton.runtime.driver.active
    cache = driver.get_empty_cache_for_benchmark()
    pairs = []
    for _ in range(count):
        begin, end = interface.Event(enable_timing=True), interface.Event(enable_timing=True)
        driver.clear_cache(cache)
        begin.record()
        launch()
        end.record()
        pairs.append((begin, end))
    interface.synchronize()
    return [begin.elapsed_time(end) for begin, end in pairs]
