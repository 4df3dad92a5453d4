"""Operators of torch for tensors on the absent GPU, run by the CPU's operators.

Each operator that torch has a function for on the CPU gets a function for the dispatch key of CUDA,
and a fallback handles operators that other libraries define. Autograd, autocast, views,
`torch.compile` and the checks of devices are above that key, and torch's own.
"""

import functools
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, Final

import torch

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.absent_gpu.device_memory import (
    HOST,
    alias,
    is_on_device,
    on_device,
    on_host,
    strided,
)
from kvtrace.backends.triton.absent_gpu.facts import device_requests
from kvtrace.backends.triton.absent_gpu.generators import (
    DEVICE_GENERATOR,
    device_generator,
    seeds_of_device,
)
from kvtrace.backends.triton.absent_gpu.wider_operators import CELLS, wider_operators

_KEY: Final = "CUDA"
_CPU_KERNELS: Final = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

#: Operators that read no element: torch's CPU function for these takes tensors of any device.
_VIEWS: Final = frozenset({
    "aten::as_strided", "aten::view", "aten::_reshape_alias", "aten::unfold", "aten::view_as_real",
    "aten::view_as_complex", "aten::set_.source_Storage",
    "aten::set_.source_Storage_storage_offset", "aten::set_.source_Tensor",
})  # fmt: skip
#: Operators without a CPU function, which choose another operator by the device.
_CHOOSING: Final = (
    "aten::convolution", "aten::convolution_backward", "aten::_foreach_copy_",
    "aten::conj_physical_", "aten::kaiser_window", "aten::kaiser_window.periodic",
    "aten::kaiser_window.beta",
)  # fmt: skip
#: Operators whose tensors may be on two devices; tensors without dimensions may always be.
_MIXED: Final = ("aten::index", "aten::_index_put", "aten::_pack_padded", "aten::copy_")

#: References to a storage of a single tensor: that tensor's, and the Python object's.
_UNSHARED: Final = 2


def install_operators(replaced: Replacements) -> None:
    """Register functions for tensors on the device with torch's dispatcher."""
    with warnings.catch_warnings():  # some have a function, which refuses every view and copy
        warnings.simplefilter("ignore")
        _install(replaced)
    if torch._C._has_cudnn:  # a build for CUDA: it would choose cuDNN's operators
        before = torch._C._get_cudnn_enabled()
        torch._C._set_cudnn_enabled(False)
        replaced.undone_by(lambda: torch._C._set_cudnn_enabled(before))


def _install(replaced: Replacements) -> None:
    # torch.library.Library would drop them at exit, before daemon threads end
    aten, every = (
        torch._C._dispatch_library("IMPL", space, "", __file__, 0) for space in ("aten", "_")
    )
    functions = {
        "copy_": _copy, "_to_copy": _to_copy, "resize_": _resize,
        "_fused_sdp_choice": _plain_attention, "record_stream": _nothing,
        "is_pinned": _no, "_efficientzerotensor": _zeros, **CELLS, **wider_operators(run_on_host),
    }  # fmt: skip
    every_name = torch._C._dispatch_get_all_op_names()
    for name in every_name:  # whether cuDNN or MIOpen is taken
        if name.startswith("aten::_use_"):
            functions[name.removeprefix("aten::")] = _no
    names = [*torch._C._dispatch_get_registrations_for_dispatch_key("CPU"), *_CHOOSING]
    names += [name for name in every_name if "::_foreach_" in name]
    names += torch._C._dispatch_get_registrations_for_dispatch_key(_KEY)  # in a build for CUDA
    for name in dict.fromkeys(names):
        space, _, operator = name.partition("::")
        if space == "aten" and operator not in functions:
            aten.impl(operator, _KEY, _function_of(operator), False)
    for operator, function in functions.items():
        aten.impl(operator, _KEY, function, False)
    every.fallback(_KEY, run_on_host, False)
    for key in ("SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA"):
        every.fallback(key, functools.partial(_refuse_layout, key[: -len(_KEY)]), False)
    replaced.undone_by(aten.reset)
    replaced.undone_by(every.reset)


def _function_of(operator: str) -> Callable[..., Any]:
    base, _, overload = operator.partition(".")
    return functools.partial(
        run_on_host, getattr(getattr(torch.ops.aten, base), overload or "default")
    )


class _Facts:
    """Properties of an operator's arguments and results, computed from its schema once."""

    def __init__(self, operator: Any) -> None:
        schema = operator._schema
        self.operator = operator
        self.name: str = schema.name
        device_requests.operators.add(self.name)
        self.is_view = operator.name() in _VIEWS
        self.is_mixed = self.name.startswith(_MIXED)
        self.outputs = tuple(
            parameter.name for parameter in schema.arguments
            if parameter.kwarg_only and _is_written(parameter)
        )  # fmt: skip
        self.written = tuple(
            position for position, parameter in enumerate(schema.arguments)
            if not parameter.kwarg_only and _is_written(parameter)
        )  # fmt: skip
        positions = [
            n for n, parameter in enumerate(schema.arguments) if parameter.name == "generator"
        ]
        self.generator = positions[0] if positions else None
        self.tensors = tuple(
            position for position, parameter in enumerate(schema.arguments)
            if not parameter.kwarg_only and str(parameter.type) in ("Tensor", "Optional[Tensor]")
        )  # fmt: skip
        seeded = torch.Tag.nondeterministic_seeded in operator.tags
        self.draws_unseen = seeded and self.generator is None
        self.is_known = torch._C._dispatch_has_computed_kernel_for_dispatch_key(
            operator.name(), "CPU"
        )


def _is_written(parameter: Any) -> bool:
    return parameter.alias_info is not None and bool(parameter.alias_info.is_write)


_facts = functools.cache(_Facts)


class _Call:
    """One call of an operator: the arguments on the host, and the device tensors that they view."""

    def __init__(self, facts: _Facts) -> None:
        self._facts = facts
        self._views: list[tuple[Any, Any]] = []
        self._host_tensor: Any = None

    def host(self, value: Any) -> Any:
        """Return an argument with device tensors, also in lists, replaced by host views."""
        if isinstance(value, torch.Tensor):
            if value.device.type == "cuda":
                view = on_host(value)
                view._kvtrace_viewed = value  # kept as long as an operator keeps the view
                self._views.append((value, view))
                return view
            if value.dim() and value.device.type == "cpu":
                self._host_tensor = value
        elif isinstance(value, list | tuple):
            return type(value)(map(self.host, value)) if _has_tensors(value) else value
        elif isinstance(value, torch.device) and value.type == "cuda":
            check_index(value.index)
            return HOST
        return value

    def check(self, arguments: Sequence[Any]) -> None:
        """Refuse tensors on two devices, as torch's functions for a GPU do.

        Raises:
            RuntimeError: the tensors are on two devices.

        """
        host_tensor = self._host_tensor
        for position in self._facts.written:
            value = arguments[position] if position < len(arguments) else None
            if isinstance(value, torch.Tensor) and value.device.type == "cpu":
                host_tensor = value
        if self._views and host_tensor is not None and not self._facts.is_mixed:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"cuda:0 and cpu! (in {self._facts.name})"
            )

    def output(self, value: Any) -> Any:
        """Return the host tensor for an `out` argument: a view, or an empty one to be resized."""
        if isinstance(value, list | tuple):
            return [self.output(element) for element in value]
        for tensor, view in self._views:
            if tensor is value:
                return view
        return on_host(value).clone() if value.numel() else _empty(value.dtype)

    def device(self, value: Any) -> Any:
        """Return an operator's result with host tensors, also in lists, replaced by device ones."""
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, list | tuple) and _has_tensors(value):
            return type(value)(map(self.device, value))
        return value

    def _tensor(self, value: Any) -> Any:
        for tensor, view in self._views:
            if value is view:
                return tensor
        if value.layout != torch.strided:
            _refuse_layout(str(value.layout), self._facts.operator)
        start = value.untyped_storage().data_ptr()
        for tensor, view in self._views:
            if start and view.untyped_storage().data_ptr() == start:
                return alias(tensor, value)
        return on_device(value) if value.device.type == "cpu" else value


def _has_tensors(values: Iterable[Any]) -> bool:
    return any(isinstance(value, torch.Tensor | list | tuple) for value in values)


def check_index(index: int | None) -> None:
    """Raise an error for a device index other than 0 or None.

    Raises:
        RuntimeError: the index is not 0.

    """
    if index:
        device_requests.refused[f"cuda:{index}"] = None
        raise RuntimeError(
            f"CUDA error: invalid device ordinal {index}; with KVTRACE_DEVICE=cpu there is one GPU."
        )


def run_on_host(operator: Any, *arguments: Any, **named: Any) -> Any:
    """Run a CPU operator on device tensors, whose memory it changes, and return device tensors."""
    facts = _facts(operator)
    if facts.is_view:
        return operator.redispatch(_CPU_KERNELS, *arguments, **named)
    if not facts.is_known:
        return _decomposed(operator, arguments, named)
    call = _Call(facts)
    host_arguments = [call.host(value) for value in arguments]
    host_named = {
        name: call.host(value) for name, value in named.items() if name not in facts.outputs
    }
    call.check(arguments)
    host_named.pop("pin_memory", None)
    if facts.generator is not None:
        _choose_generator(facts.generator, host_arguments, host_named)
    outputs = {name: call.output(named[name]) for name in facts.outputs if name in named}
    with seeds_of_device() if facts.draws_unseen else nullcontext():
        result = _accepting_form(facts, host_arguments)(*host_arguments, **host_named, **outputs)
    if not outputs:
        return call.device(result)
    for name, output in outputs.items():
        _put(named[name], output)
    results = [named[name] for name in outputs]
    return results[0] if len(results) == 1 else tuple(results)


def _accepting_form(facts: _Facts, arguments: Sequence[Any]) -> Any:
    """Return the operator's overload for Python numbers if a tensor argument is a number."""
    numbers = any(
        isinstance(arguments[position], int | float | complex)
        for position in facts.tensors if position < len(arguments)
    )  # fmt: skip
    return facts.operator.overloadpacket if numbers else facts.operator


def _choose_generator(position: int, arguments: list[Any], named: dict[str, Any]) -> None:
    """Replace the device generator among the arguments by a CPU generator seeded from it.

    Without one, it is seeded from the device's default generator. Arguments change in place.
    """
    passed = arguments[position] if position < len(arguments) else named.get("generator")
    generator = DEVICE_GENERATOR if passed is None else device_generator(passed)
    if generator is None:
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    if position < len(arguments):
        arguments[position] = generator.draw()
    else:
        named["generator"] = generator.draw()


def _empty(dtype: Any) -> Any:
    return torch.empty(0, dtype=dtype, device=HOST)


def _put(output: Any, elements: Any) -> None:
    """Copy `elements` to the device tensor `output`, which is resized if the sizes differ."""
    if isinstance(output, list | tuple):
        for tensor, values in zip(output, elements, strict=True):
            _put(tensor, values)
        return
    if output.size() != elements.size():
        _lay_out(output, elements.size(), elements.stride())
    on_host(output).copy_(elements)


def _make_view(tensor: Any, other: Any) -> None:
    """Make a device tensor view another tensor's storage, with that tensor's size and strides."""
    kernel = torch.ops.aten.set_.source_Storage_storage_offset
    kernel.redispatch(
        _CPU_KERNELS, tensor, other.untyped_storage(), other.storage_offset(), other.size(),
        other.stride(),
    )  # fmt: skip


def _copy(target: Any, source: Any, non_blocking: bool = False) -> Any:
    del non_blocking
    destination = on_host(target) if is_on_device(target) else target
    destination.copy_(on_host(source) if is_on_device(source) else source)
    return target


def _to_copy(tensor: Any, *, non_blocking: bool = False, **named: Any) -> Any:
    """Copy a tensor at once; torch would make a copy that need not be waited for in pinned memory.

    Pinned memory needs CUDA.
    """
    del non_blocking
    return torch.ops.aten._to_copy.default.redispatch(_CPU_KERNELS, tensor, **named)


def _resize(tensor: Any, size: Sequence[int], *, memory_format: Any = None) -> Any:
    """Change a tensor's size and return the tensor; elements that fit into its memory stay."""
    form = {} if memory_format is None else {"memory_format": memory_format}
    layout = torch.empty(size, dtype=tensor.dtype, device="meta", **form)
    _lay_out(tensor, layout.size(), layout.stride())
    return tensor


def _lay_out(tensor: Any, size: Sequence[int], strides: Sequence[int]) -> None:
    """Change the size and strides of a device tensor; the storage grows if it is too small.

    Raises:
        NotImplementedError: the storage is too small, and other tensors share it; a GPU's storage
            grows for all of them, kvtrace's memory cannot grow in place.

    """
    offset, storage = tensor.storage_offset(), tensor.untyped_storage()
    extents = zip(size, strides, strict=True)
    count = 0 if 0 in size else offset + 1 + sum((n - 1) * stride for n, stride in extents)
    needed_bytes = count * tensor.element_size()
    if needed_bytes <= storage.nbytes():
        _make_view(tensor, strided(tensor, size, strides, offset))
        return
    if torch._C._storage_Use_Count(storage._cdata) > _UNSHARED:
        device_requests.refused["aten::resize_ of shared memory"] = None
        raise NotImplementedError(
            f"a tensor on the absent GPU cannot be resized from {storage.nbytes()} to "
            f"{needed_bytes} bytes while other tensors share its memory."
        )
    larger = torch.empty(needed_bytes, dtype=torch.uint8, device=HOST)
    memory = on_host(tensor).untyped_storage()
    larger[: len(memory)] = torch.empty(0, dtype=torch.uint8, device=HOST).set_(memory)
    view = _empty(tensor.dtype).set_(larger.untyped_storage(), offset, size, strides)
    _make_view(tensor, on_device(view))


def _plain_attention(*_arguments: Any, **_named: Any) -> int:
    """Return the number of `SDPBackend.MATH`, attention that consists of other operators."""
    return 0


def _nothing(*_arguments: Any, **_named: Any) -> None:
    return


def _no(*_arguments: Any, **_named: Any) -> bool:
    return False


def _zeros(size: Sequence[int], **named: Any) -> Any:
    """Return a tensor of zeros with memory; torch's own operator allocates none."""
    return torch.zeros(size, **named)


def _decomposed(operator: Any, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
    """Return the result of an operator for GPUs alone, computed by torch's decomposition of it.

    Raises:
        NotImplementedError: torch has no decomposition of this operator.

    """
    from torch._decomp import decomposition_table

    decomposition = decomposition_table.get(operator)
    if decomposition is None:
        device_requests.refused[operator.name()] = None
        raise NotImplementedError(
            f"{operator.name()} has no form for the CPU in this torch, so that kvtrace "
            "cannot run it on a machine without a GPU."
        )
    return decomposition(*arguments, **named)


def _refuse_layout(layout: str, operator: Any, /, *_arguments: Any, **_named: Any) -> Any:
    device_requests.refused[f"{operator.name()} on {layout}"] = None
    raise NotImplementedError(
        f"{operator.name()} is called for an absent GPU with tensors of the layout "
        f"{layout}; KVTRACE_DEVICE=cpu supports only dense tensors."
    )
