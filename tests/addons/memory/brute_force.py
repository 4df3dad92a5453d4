"""Effects of a launch byte by byte: each program's lanes marked in Python sets, in its order."""

from kvtrace.evaluate import Observer, Storage, TensorArgument, evaluate
from kvtrace.evaluate.arguments import with_storages
from kvtrace.ir.updates import update_of
from kvtrace.recorded_calls.recorded import Call
from tests.kernels.launching import bind, compile_for, with_tensors
from tests.metrics.touching import materialised
from tests.support.replacing import replace


def call_of(function, grid, arguments, constexprs=None, unknown=()):
    """A recorded call of a kernel; tensors named in `unknown` (True: all) were not recorded."""
    module = compile_for(function, arguments, constexprs or {})
    bound = bind(function, arguments, unknown=unknown)
    return Call(0, function.fn.__name__, (*grid, 1, 1)[:3], module, tuple(bound), ())


def call_of_case(case, unknown=()):
    arguments = with_tensors(case.inputs)
    return call_of(case.kernel, case.grid, arguments, case.constexprs, unknown)


class NotMarked(Exception):
    """The error of a call whose accesses depend on data that were not recorded."""


class Marked(Observer):
    """The bytes of each storage that programs store, and that they read before they store them."""

    def __init__(self, arguments, exchanges):
        self._arguments, self._exchanges = arguments, exchanges
        self._own = set()
        self.stored, self.read_first = {}, {}

    def access(self, access):
        if access.parts is None or not access.certain:
            raise NotMarked(access.reason)
        argument = self._arguments[access.argument]
        offsets, active = materialised(access.parts)
        size = argument.storage.nbytes
        stored = self.stored.setdefault(argument.storage, set())
        read_first = self.read_first.setdefault(argument.storage, set())
        for program, row, on in zip(
            access.parts.programs.tolist(), offsets.tolist(), active.tolist(), strict=True
        ):
            starts = {
                start + argument.offset_bytes for start, is_on in zip(row, on, strict=True) if is_on
            }
            bytes_ = {b for start in starts for b in range(start, start + access.element_bytes)}
            bytes_ &= set(range(size))
            keys = {(program, argument.storage, byte) for byte in bytes_}
            if access.kind != "store" and access.op.index not in self._exchanges:
                read_first |= {byte for _, _, byte in keys - self._own}
            if access.kind != "load":
                stored |= bytes_
                self._own |= keys


def with_copied_storages(arguments):
    """Return arguments whose storages are copies; those of one storage share its copy."""
    return with_storages(
        arguments, lambda s: Storage(s.nbytes, None if s.data is None else s.data.copy())
    )


def marked(call):
    """Return (stored, read first) as sets of bytes, for each storage of a call with all data."""
    arguments = with_copied_storages(call.arguments)
    used = {operand for op in call.module.ops for operand in op.operands}
    exchanges = {
        op.index
        for op in call.module.ops
        if op.name == "tt.atomic_rmw" and update_of(op) == "exch" and op.results[0] not in used
    }
    observer = Marked(arguments, exchanges)
    evaluate(
        call.module, arguments, call.grid, observers=(observer,), kernel=call.kernel, chunk_bytes=0,
    )  # fmt: skip
    return {
        index: (
            observer.stored.get(argument.storage, set()),
            observer.read_first.get(argument.storage, set()),
        )
        for index, argument in enumerate(arguments)
        if isinstance(argument, TensorArgument)
    }


def without_data(call, *names):
    """The same call, of which some tensors' contents were not recorded."""
    hidden = {
        argument.storage: replace(argument.storage, data=None)
        for argument in call.arguments
        if argument.name in names
    }
    arguments = tuple(
        replace(argument, storage=hidden.get(argument.storage, argument.storage))
        if isinstance(argument, TensorArgument)
        else argument
        for argument in call.arguments
    )
    return replace(call, arguments=arguments)


def bytes_of(ranges):
    """A set of bytes as a Python set."""
    return {byte for begin, end in ranges for byte in range(begin, end)}


def assert_bounds(effects, truth):
    """Assert that effects bound what was marked, and are equal to it where they say so."""
    for effect in effects.storages:
        stored, read_first = truth[effect.args[0]]
        assert bytes_of(effect.may_write) >= stored, effect
        assert bytes_of(effect.may_read) >= read_first, effect
        assert bytes_of(effect.writes) <= stored, effect
        assert bytes_of(effect.reads) <= read_first, effect
        if not effect.reason:
            assert bytes_of(effect.writes) == bytes_of(effect.may_write) == stored
            assert bytes_of(effect.reads) == bytes_of(effect.may_read) == read_first
