"""Kernels that Inductor's autotuner launches: names, signatures, grids, stages.

For each configuration, Inductor generates a Python function `launcher(*arguments, stream)` that
computes the grid and calls `runner(x, y, z, stream, …)`. The runner is a method of a compiled
kernel, or, with the static launcher, of an object that has only the kernel's hash; the stages are
then in Triton's cache, under `launcher.cache_hash`. Seen in torch 2.11 and 2.13.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any, Final

from kvtrace.backends.compiled_kernels.kernel_records import (
    Compilation,
    early_record,
    kernel_record,
    parameters_of,
    target_of,
)
from kvtrace.backends.compiled_kernels.loads import Load
from kvtrace.backends.inductor.libraries import LIBRARY
from kvtrace.backends.inductor.origins import origins_of
from kvtrace.capture.python_source import recorded_file_content
from kvtrace.capture.records import KernelRecord, Parameter, capped
from kvtrace.settings import Source

#: Modules with Inductor's static launchers (torch 2.11 and newer, older).
STATIC_LAUNCHERS: Final = (
    "torch._inductor.runtime.static_triton_launcher",
    "torch._inductor.runtime.static_cuda_launcher",
)

_BINARIES: Final = frozenset({"cubin", "hsaco"})
#: Facts of Inductor that are recorded among the compile options.
_FACTS: Final = (
    "kernel_name",
    "grid_type",
    "mutated_arg_names",
    "kernel_num_gb",
    "kernel_flop",
    "original_fxnode_name",
)


class _Metadata(SimpleNamespace):
    """A compiled kernel's metadata, with the interface of Triton's."""

    def _asdict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class LauncherKernel:
    """The kernel of one configuration of an Inductor autotuner, with its launcher."""

    autotuner: Any
    launcher: Any
    kernel: Any
    compile_meta: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The kernel's name, given by Inductor."""
        kernel_name = self.autotuner.inductor_meta.get("kernel_name")
        return str(kernel_name or self.autotuner.fn.__name__)

    @property
    def source(self) -> SimpleNamespace:
        """The compiler's input in the form of Triton's `ASTSource`, with constants by position."""
        signature = dict(self.compile_meta["signature"])
        names = list(signature)
        constants = self.compile_meta.get("constants", {})
        attributes = (self.compile_meta.get("configs") or [{}])[0]
        return SimpleNamespace(
            fn=None,
            signature=signature,
            constants={
                key if isinstance(key, tuple) else (names.index(key),): value
                for key, value in constants.items()
                if isinstance(key, tuple) or key in signature
            },
            attrs=attributes if isinstance(attributes, Mapping) else {},
        )

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the kernel's flattened signature."""
        return parameters_of(SimpleNamespace(src=self.source))

    @property
    def places(self) -> dict[int, tuple[int, ...]]:
        """(index among a launch's positional arguments,) for each position in the signature."""
        code = self.launcher.__code__
        index = {name: i for i, name in enumerate(code.co_varnames[: code.co_argcount])}
        signature = enumerate(self.compile_meta["signature"])
        return {position: (index[name],) for position, name in signature if name in index}

    def values(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """Return the values of all parameters, with constants, in the signature's order."""
        code = self.launcher.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        positional = dict(zip(names, args, strict=False))
        values_by_name = {**self.compile_meta.get("constants", {}), **positional, **kwargs}
        return [values_by_name.get(name) for name in self.compile_meta["signature"]]

    def grid(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[int, int, int]:
        """Return a launch's grid, from the launcher's code with a runner that only stores it."""
        grids: list[tuple[int, int, int]] = []

        def runner(x: Any, y: Any, z: Any, *_: Any) -> None:
            grids.append((int(x), int(y), int(z)))

        shadow = FunctionType(
            self.launcher.__code__, {**self.launcher.__globals__, "runner": runner}
        )
        shadow(*args, **kwargs, stream=0)
        return grids[0]

    @property
    def target(self) -> str:
        """The kernel's target, as cuda:90."""
        return target_of(self._metadata(self.stages().get("json")))

    def record(
        self,
        keep: Source,
        compilation: Compilation | None,
        load: Load | None,
        module: str | None,
        tell: Callable[[str], None],
    ) -> KernelRecord:
        """Return the kernel's record; called in the background thread.

        `compilation` and `load` have the durations of compiling and loading, and `module` is the
        generated file that launches the kernel, if known. `tell` is called with a message if the
        kernel has no IR.
        """
        compiled = self._compiled()
        record = kernel_record(compiled, compilation, load, "inductor", keep, tell)
        if "ttir" not in compiled.asm:
            tell(
                f"kernel {self.name} is recorded without IR, as neither its launcher nor Triton's "
                "cache has it"
            )
        file, line = self.place
        files = dict(record.files)
        if file is not None and file not in files:  # Triton's cache has the IR from another file
            files[file] = recorded_file_content(file, () if line is None else (line,), keep)
        text = getattr(self.autotuner.fn, "src", None)
        return replace(
            record,
            name=self.name,
            file=file,
            line=line,
            files=tuple(sorted(files.items())),
            source=str(text) if keep != "off" and text else None,
            options={**record.options, **dict(self._facts())},
            origins=origins_of(self.name, text, module, keep_code=keep != "off"),
        )

    def early(self) -> KernelRecord:
        """Return the part of the record that a launch is judged by (`early_record`)."""
        return replace(early_record(self._compiled(), "inductor"), name=self.name)

    def _compiled(self) -> SimpleNamespace:
        """Return the kernel as Triton's `CompiledKernel` describes one."""
        stages = dict(self.stages())
        metadata = self._metadata(stages.pop("json", None))
        return SimpleNamespace(
            src=self.source,
            metadata=metadata,
            asm=stages,
            hash=self.kernel.hash,
            name=getattr(metadata, "name", self.name),
            n_regs=getattr(self.launcher, "n_regs", None),
            n_spills=getattr(self.launcher, "n_spills", None),
        )

    @property
    def place(self) -> tuple[str | None, int | None]:
        """File and line of the kernel's definition."""
        file = self.autotuner.filename
        return file, _definition_line(file, self.autotuner.fn.__name__)

    def stages(self) -> Mapping[str, Any]:
        """Return the content of each stage from the compiled kernel or from Triton's cache."""
        return getattr(self.kernel, "asm", None) or dict(self._cached_files())

    def _facts(self) -> Iterator[tuple[str, str]]:
        meta = self.autotuner.inductor_meta
        for name in _FACTS:
            if meta.get(name) is not None:
                yield f"inductor.{name}", capped(str(meta[name]))

    def _metadata(self, stored: Any) -> _Metadata:
        """Return the compiled kernel's metadata, or that in the cache's JSON `stored`, if any.

        Fields that neither has come from the autotuner's compile options.
        """
        metadata = getattr(self.kernel, "metadata", None)
        if metadata is not None and hasattr(metadata, "_asdict"):
            return _Metadata(**metadata._asdict())
        meta = self.compile_meta
        facts: dict[str, Any] = {
            "num_warps": meta.get("num_warps"),
            "num_stages": meta.get("num_stages"),
            "num_ctas": 1,
            "shared": getattr(self.launcher, "shared", None),
            "target": {
                "backend": meta.get("device_type"),
                "arch": meta.get("cc"),
                "warp_size": self.autotuner.inductor_meta.get("warp_size") or 32,
            },
        }
        if stored is not None:
            facts |= json.loads(stored)
        facts["target"] = SimpleNamespace(**facts["target"])
        return _Metadata(**facts)

    def _cached_files(self) -> Iterator[tuple[str, Any]]:
        """Yield suffix and content of each of the kernel's files in Triton's cache."""
        key = getattr(self.launcher, "cache_hash", None)
        if key is None or getattr(self.kernel, "asm", None):
            return
        for folder in _cache_folders(self.compile_meta.get("device")):
            for path in sorted((folder / key).glob(f"{self.autotuner.fn.__name__[:150]}.*")):
                suffix = path.suffix[1:]
                yield (
                    suffix,
                    path.read_bytes() if suffix in _BINARIES else path.read_text(encoding="utf-8"),
                )


def kernel_of_launcher(autotuner: Any, launcher: Any) -> LauncherKernel:
    """Return the kernel that a launcher of an autotuner launches."""
    scope = launcher.__globals__
    kernel = scope.get("bin") or scope["runner"].__self__
    return LauncherKernel(autotuner, launcher, kernel, _compile_meta(autotuner, launcher))


def _compile_meta(autotuner: Any, launcher: Any) -> Mapping[str, Any]:
    for result in autotuner.compile_results:
        if result.config is launcher.config or vars(result.config) == vars(launcher.config):
            return dict(result.compile_meta)
    return dict(autotuner._create_compile_meta(launcher.config))


def _cache_folders(device: Any) -> Iterator[Path]:
    folder = os.environ.get("TRITON_CACHE_DIR")
    if folder:
        yield Path(folder)
    inductor: Any = sys.modules[LIBRARY]
    yield Path(inductor.triton_cache_dir(device if device is not None else 0))


def _definition_line(file: str | None, function: str) -> int | None:
    if file is None or not Path(file).is_file():
        return None
    for line_number, line in enumerate(Path(file).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith(f"def {function}("):
            return line_number
    return None
