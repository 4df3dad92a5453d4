"""Operators of torch for tensors on the GPU that is not there: the CPU's, on the same memory.

Each operator that torch has a function for on the CPU gets one for the dispatch key of CUDA, and a
fallback takes what other libraries define. Autograd, autocast, views, `torch.compile` and the
checks of devices are above that key, and torch's own.
"""

import functools
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, Final

import torch

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.absent_gpu.asked import asked
from kvtrace.backends.triton.absent_gpu.device_memory import (
    HOST,
    alias,
    is_on_device,
    on_device,
    on_host,
    strided,
)
from kvtrace.backends.triton.absent_gpu.generators import (
    DEVICE_GENERATOR,
    device_generator,
    seeds_of_device,
)
from kvtrace.backends.triton.absent_gpu.recurrent import CELLS
from kvtrace.backends.triton.absent_gpu.wider_operators import wider_operators

_KEY: Final = "CUDA"
_CPU_KERNELS: Final = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

#: Operators that look at no element: torch's function for the CPU takes tensors of any device.
_VIEWS: Final = frozenset({
    "aten::as_strided", "aten::view", "aten::_reshape_alias", "aten::unfold", "aten::view_as_real",
    "aten::view_as_complex", "aten::set_.source_Storage",
    "aten::set_.source_Storage_storage_offset", "aten::set_.source_Tensor",
})  # fmt: skip
#: Operators without a function of the CPU's own, which choose one by the device.
_CHOOSING: Final = (
    "aten::convolution", "aten::convolution_backward", "aten::_foreach_copy_",
    "aten::conj_physical_",
)  # fmt: skip
#: Operators whose tensors may be on two devices, besides those whose tensor there has no dimension.
_MIXED: Final = ("aten::index", "aten::_index_put", "aten::_pack_padded", "aten::copy_")

#: References to a storage that no other tensor shares: its tensor's, and that of Python's object.
_ITS_OWN: Final = 2


def install_operators(replaced: Replacements) -> None:
    """Give operators a function for tensors on the device."""
    with warnings.catch_warnings():  # that some had one, which every view and copy refused
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
    own = {
        "copy_": _copy, "resize_": _resize, "_fused_sdp_choice": _plain_attention,
        "record_stream": _nothing, "is_pinned": _no, "_efficientzerotensor": _zeros, **CELLS,
        **wider_operators(run_on_host),
    }  # fmt: skip
    every_name = torch._C._dispatch_get_all_op_names()
    for name in every_name:  # whether cuDNN or MIOpen is taken
        if name.startswith("aten::_use_"):
            own[name.removeprefix("aten::")] = _no
    names = [*torch._C._dispatch_get_registrations_for_dispatch_key("CPU"), *_CHOOSING]
    names += [name for name in every_name if "::_foreach_" in name]
    names += torch._C._dispatch_get_registrations_for_dispatch_key(_KEY)  # in a build for CUDA
    for name in dict.fromkeys(names):
        space, _, operator = name.partition("::")
        if space == "aten" and operator not in own:
            aten.impl(operator, _KEY, _function_of(operator), False)
    for operator, function in own.items():
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
    """What an operator's schema says, once."""

    def __init__(self, operator: Any) -> None:
        schema = operator._schema
        self.operator = operator
        self.name: str = schema.name
        asked.operators.add(self.name)
        self.is_view = operator.name() in _VIEWS
        self.is_mixed = self.name.startswith(_MIXED)
        self.outputs = tuple(
            each.name for each in schema.arguments
            if each.kwarg_only and each.alias_info is not None and each.alias_info.is_write
        )  # fmt: skip
        self.written = tuple(
            place for place, each in enumerate(schema.arguments)
            if not each.kwarg_only and each.alias_info is not None and each.alias_info.is_write
        )  # fmt: skip
        places = [n for n, each in enumerate(schema.arguments) if each.name == "generator"]
        self.generator = places[0] if places else None
        self.tensors = tuple(
            place for place, each in enumerate(schema.arguments)
            if not each.kwarg_only and str(each.type) in ("Tensor", "Optional[Tensor]")
        )  # fmt: skip
        seeded = torch.Tag.nondeterministic_seeded in operator.tags
        self.draws_unseen = seeded and self.generator is None
        self.is_known = torch._C._dispatch_has_computed_kernel_for_dispatch_key(
            operator.name(), "CPU"
        )


_facts = functools.cache(_Facts)


class _Call:
    """One call of an operator: its arguments on the host, and which tensors they are views of."""

    def __init__(self, facts: _Facts) -> None:
        self._facts = facts
        self._views: list[tuple[Any, Any]] = []
        self._others: Any = None

    def host(self, value: Any) -> Any:
        """Return an argument as the CPU's operator takes it."""
        if isinstance(value, torch.Tensor):
            if value.device.type == "cuda":
                view = on_host(value)
                view._kvtrace_viewed = value  # kept as long as an operator keeps the view
                self._views.append((value, view))
                return view
            if value.dim() and value.device.type == "cpu":
                self._others = value
        elif isinstance(value, list | tuple):
            return type(value)(map(self.host, value)) if _has_tensors(value) else value
        elif isinstance(value, torch.device) and value.type == "cuda":
            check_index(value.index)
            return HOST
        return value

    def check(self, arguments: Sequence[Any]) -> None:
        """Refuse tensors on two devices, as torch's functions for a GPU do.

        Raises:
            RuntimeError: there are some.

        """
        others = self._others
        for place in self._facts.written:
            value = arguments[place] if place < len(arguments) else None
            if isinstance(value, torch.Tensor) and value.device.type == "cpu":
                others = value
        if self._views and others is not None and not self._facts.is_mixed:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"cuda:0 and cpu! (in {self._facts.name})"
            )

    def output(self, value: Any) -> Any:
        """Return what an operator may write an output into: of any size, unless it is an input."""
        if isinstance(value, list | tuple):
            return [self.output(each) for each in value]
        for given, view in self._views:
            if given is value:
                return view
        return on_host(value).clone() if value.numel() else _empty(value.dtype)

    def device(self, value: Any) -> Any:
        """Return a result as one on the device."""
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, list | tuple) and _has_tensors(value):
            return type(value)(map(self.device, value))
        return value

    def _tensor(self, value: Any) -> Any:
        for given, view in self._views:
            if value is view:
                return given
        if value.layout != torch.strided:
            _refuse_layout(str(value.layout), self._facts.operator)
        start = value.untyped_storage().data_ptr()
        for given, view in self._views:
            if start and view.untyped_storage().data_ptr() == start:
                return alias(given, value)
        return on_device(value) if value.device.type == "cpu" else value


def _has_tensors(values: Iterable[Any]) -> bool:
    return any(isinstance(value, torch.Tensor | list | tuple) for value in values)


def check_index(index: int | None) -> None:
    """Refuse a device that even a program on the target's GPU would not have.

    Raises:
        RuntimeError: it is not the only one.

    """
    if index:
        asked.refused[f"cuda:{index}"] = None
        raise RuntimeError(
            f"CUDA error: invalid device ordinal {index}; with KVTRACE_DEVICE=cpu there is one GPU."
        )


def run_on_host(operator: Any, *arguments: Any, **named: Any) -> Any:
    """Run an operator on the host's memory."""
    facts = _facts(operator)
    if facts.is_view:
        return operator.redispatch(_CPU_KERNELS, *arguments, **named)
    if not facts.is_known:
        return _decomposed(operator, arguments, named)
    call = _Call(facts)
    given = [call.host(value) for value in arguments]
    named_given = {
        name: call.host(value) for name, value in named.items() if name not in facts.outputs
    }
    call.check(arguments)
    named_given.pop("pin_memory", None)
    if facts.generator is not None:
        _choose_generator(facts.generator, given, named_given)
    outputs = {name: call.output(named[name]) for name in facts.outputs if name in named}
    with seeds_of_device() if facts.draws_unseen else nullcontext():
        result = _taking(facts, given)(*given, **named_given, **outputs)
    if not outputs:
        return call.device(result)
    for name, made in outputs.items():
        _put(named[name], made)
    given_back = [named[name] for name in outputs]
    return given_back[0] if len(given_back) == 1 else tuple(given_back)


def _taking(facts: _Facts, arguments: Sequence[Any]) -> Any:
    """Return what takes the arguments: of a tensor made of a number Python gets the number."""
    numbers = any(
        isinstance(arguments[place], int | float | complex)
        for place in facts.tensors if place < len(arguments)
    )  # fmt: skip
    return facts.operator.overloadpacket if numbers else facts.operator


def _choose_generator(place: int, given: list[Any], named: dict[str, Any]) -> None:
    """Draw from the given generator, which is the device's; its own default where none is given."""
    chosen = given[place] if place < len(given) else named.get("generator")
    generator = DEVICE_GENERATOR if chosen is None else device_generator(chosen)
    if generator is None:
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    if place < len(given):
        given[place] = generator.draw()
    else:
        named["generator"] = generator.draw()


def _empty(dtype: Any) -> Any:
    return torch.empty(0, dtype=dtype, device=HOST)


def _put(output: Any, made: Any) -> None:
    """Give an output its elements, and another size where it has another."""
    if isinstance(output, list | tuple):
        for each, one in zip(output, made, strict=True):
            _put(each, one)
        return
    if output.size() != made.size():
        _lay_out(output, made.size(), made.stride())
    on_host(output).copy_(made)


def _become(tensor: Any, other: Any) -> None:
    """Have a tensor on the device view the storage of another, as the other does."""
    kernel = torch.ops.aten.set_.source_Storage_storage_offset
    kernel.redispatch(
        _CPU_KERNELS, tensor, other.untyped_storage(), other.storage_offset(), other.size(),
        other.stride(),
    )  # fmt: skip


def _copy(target: Any, source: Any, non_blocking: bool = False) -> Any:
    del non_blocking
    to = on_host(target) if is_on_device(target) else target
    to.copy_(on_host(source) if is_on_device(source) else source)
    return target


def _resize(tensor: Any, size: Sequence[int], *, memory_format: Any = None) -> Any:
    """Give a tensor another size; its elements stay, where memory holds them."""
    form = {} if memory_format is None else {"memory_format": memory_format}
    wanted = torch.empty(size, dtype=tensor.dtype, device="meta", **form)
    _lay_out(tensor, wanted.size(), wanted.stride())
    return tensor


def _lay_out(tensor: Any, size: Sequence[int], strides: Sequence[int]) -> None:
    """Give a tensor on the device another size and strides; its storage grows where it must.

    Raises:
        NotImplementedError: it must grow, and other tensors are views of it, which a GPU's would
            see: our memory cannot grow in place.

    """
    offset, storage = tensor.storage_offset(), tensor.untyped_storage()
    extents = zip(size, strides, strict=True)
    count = 0 if 0 in size else offset + 1 + sum((n - 1) * stride for n, stride in extents)
    bytes_wanted = count * tensor.element_size()
    if bytes_wanted <= storage.nbytes():
        _become(tensor, strided(tensor, size, strides, offset))
        return
    if torch._C._storage_Use_Count(storage._cdata) > _ITS_OWN:
        asked.refused["aten::resize_ of shared memory"] = None
        raise NotImplementedError(
            f"a tensor on the GPU that is not there cannot be resized from {storage.nbytes()} to "
            f"{bytes_wanted} bytes while other tensors share its memory: kvtrace has it in place."
        )
    larger = torch.empty(bytes_wanted, dtype=torch.uint8, device=HOST)
    memory = on_host(tensor).untyped_storage()
    larger[: len(memory)] = torch.empty(0, dtype=torch.uint8, device=HOST).set_(memory)
    view = _empty(tensor.dtype).set_(larger.untyped_storage(), offset, size, strides)
    _become(tensor, on_device(view))


def _plain_attention(*_arguments: Any, **_named: Any) -> int:
    """Choose the one form of attention that is made of other operators: `SDPBackend.MATH`."""
    return 0


def _nothing(*_arguments: Any, **_named: Any) -> None:
    """Do what there is nothing to do for."""


def _no(*_arguments: Any, **_named: Any) -> bool:
    return False


def _zeros(size: Sequence[int], **named: Any) -> Any:
    """Make zeros in memory, where torch would have none."""
    return torch.zeros(size, **named)


def _decomposed(operator: Any, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
    """Run an operator that torch has for GPUs alone, of others that it consists of.

    Raises:
        NotImplementedError: torch does not say of which.

    """
    from torch._decomp import decomposition_table

    made_of = decomposition_table.get(operator)
    if made_of is None:
        asked.refused[operator.name()] = None
        raise NotImplementedError(
            f"{operator.name()} is an operator that this torch has for no CPU, so that kvtrace "
            "cannot run it on a machine without a GPU."
        )
    return made_of(*arguments, **named)


def _refuse_layout(layout: str, operator: Any, *_arguments: Any, **_named: Any) -> Any:
    asked.refused[f"{operator.name()} on {layout}"] = None
    raise NotImplementedError(
        f"{operator.name()} is asked for on a GPU that is not there with tensors of the layout "
        f"{layout}; kvtrace has dense tensors alone there."
    )
