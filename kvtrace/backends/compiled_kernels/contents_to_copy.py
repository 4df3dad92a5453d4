"""The choice of tensors whose contents are copied at launches of compiled kernels, and when.

Only kernels with pointers to integers are watched; with the settings `all` and `stats`, all kernels
with pointers. The launches of a watched kernel are inspected
before they run, as often as the time budget allows. On the host a launch takes longer than its
inspection, so most launches are inspected; on a device a copy disturbs the times of an autotuner,
so only a kernel's first trial is inspected. If the first launch of a call was missed, it is
inspected once the hot path has found the call to be new: tensors that the kernel does not write are
unchanged. Which pointers are indices, and which are written, is read from the kernel's IR in the
background.
"""

import itertools
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kvtrace.capture.arguments import unseen
from kvtrace.capture.copied_contents import Listed
from kvtrace.capture.host_devices import memory_kind
from kvtrace.capture.hot import NO_DEVICE, Recorder
from kvtrace.capture.hot_choice import make_recorder
from kvtrace.capture.pacing import import_in_slices
from kvtrace.capture.records import AUTOTUNE, Parameter

if TYPE_CHECKING:
    from kvtrace.capture.copied_contents import Contents
    from kvtrace.capture.session import Session
    from kvtrace.ir.index_arguments import IndexArguments
    from kvtrace.ir.model import Module

#: Most launches that are inspected in a row because it is not known yet what the kernel writes.
EARLY: Final = 16
#: Launches of a kernel on a device that are inspected in a row; later ones at distances that double
#: after each `_STEP`. A copy makes the device's queue wait for another engine, which takes 11 us
#: alone, but 2 to 3 ms where processes share the device, whose turn comes then (an H200, driver
#: 580.159): four compiled Llamas with 64 in a row took 1.17 times as long for 200 steps.
IN_A_ROW: Final = 8
_STEP: Final = 4
_FARTHEST: Final = 1 << 20

#: Launches skipped at most before the next attempt after a lack of time: an exponent of two.
_REFUSED: Final = 10
_IN_TRIALS: Final = 15

#: Modules that read a kernel's IR, in the order in which they import each other.
READING: Final = (
    "kvtrace.ir.floats",
    "kvtrace.ir.locations",
    "kvtrace.ir.scanner",
    "kvtrace.ir.types",
    "kvtrace.ir.attributes",
    "kvtrace.ir.ops",
    "kvtrace.ir.model",
    "kvtrace.ir.flow",
    "kvtrace.ir.integers",
    "kvtrace.ir.feeding",
    "kvtrace.ir.attribute_reader",
    "kvtrace.ir.buffer_ops",
    "kvtrace.ir.parser",
    "kvtrace.ir.memory_sites",
    "kvtrace.ir.index_arguments",
    "kvtrace.ir.relocation",
)

#: Positions of a signature that the hot path can inspect.
_MOST_PLACES: Final = 512

#: Prefix of Triton's descriptor types.
_DESCRIPTOR: Final = "tensordesc"

#: Most distinct launches that are remembered (setting `all`).
_REMEMBERED: Final = 100_000


class Watch:
    """A kernel whose launches are inspected, with the time of the next inspection.

    Attributes:
        wait: Launches to skip before the next inspection.
        places: Positions of the inspected pointers in the flattened signature.
        written: Positions that the kernel writes to; None while unknown.
        settled: Whether `places` and `written` have been computed from the kernel's IR.
        look: The hot path's inspector, which has its own schedule; None if Python inspects.
        paths: Indices, within nested tuples, of each position among the inspector's arguments.
    """

    __slots__ = (
        "_inspected",
        "_refusals",
        "_skips_none",
        "look",
        "paths",
        "pick",
        "places",
        "settled",
        "wait",
        "written",
    )

    def __init__(self, places: frozenset[int], pick: Callable[[Any], Any], every: bool) -> None:
        """`pick` maps a launch's arguments to flattened values; with `every`, none is skipped."""
        self.wait = 0
        self.places = places
        self.written: frozenset[int] | None = None
        self.settled = False
        self.pick = pick
        self.look: Any = None
        self.paths: Mapping[int, tuple[int, ...]] = {}
        self._skips_none = every
        self._inspected = self._refusals = 0

    def listed(self, values: Any) -> Listed:
        """Return (position in the signature, value) of each tensor to inspect in a launch."""
        flat = self.pick(values)
        return [(position, flat[position]) for position in self.places]

    @property
    def targets(self) -> list[tuple[int, tuple[int, ...]]]:
        """(position, path in `paths`) of each tensor that the hot path inspects."""
        return [(p, self.paths[p]) for p in self.places if p in self.paths]

    def is_safe_after(self, flat: Sequence[Any]) -> bool:
        """Return whether a launch with these flattened values writes none of the inspected tensors.

        False while the written positions are unknown.
        """
        if self.written is None:
            return False
        written = {_storage(flat[position]) for position in self.written}
        return written.isdisjoint({_storage(flat[position]) for position in self.places})

    @property
    def is_new(self) -> bool:
        """No launch of the kernel has been inspected."""
        return self._inspected == 0

    @property
    def is_early(self) -> bool:
        """Every launch has to be inspected before it runs: written tensors are unknown."""
        return not self.settled and self._inspected < EARLY

    def count_inspection(self, on_host: bool = False) -> None:
        """Count an inspected launch, and set `wait`, which grows with the number of inspections.

        `wait` stays 0 if tensors are on the host, where only the time budget limits inspections.
        """
        self._inspected += 1
        if self._skips_none or on_host:
            return
        self._refusals = max(0, self._refusals - 1)
        beyond = self._inspected - IN_A_ROW
        is_near = beyond < 0 or self.is_early
        distance = 1 if is_near else 1 << beyond // _STEP + 1
        self.wait = min(max(distance, 1 << self._refusals), _FARTHEST) - 1

    def count_refusal(self, in_trials: bool) -> None:
        """Set `wait` after a launch was not inspected for lack of time; it doubles each time."""
        if in_trials:
            self.wait = _IN_TRIALS
        elif not self._skips_none:
            self._refusals = min(self._refusals + 1, _REFUSED)
            self.wait = (1 << self._refusals) - 1


class ContentsWatcher:
    """The watched kernels of one session, and the inspection of their launches."""

    def __init__(self, session: "Session", contents: "Contents") -> None:
        self._session = session
        self._contents = contents
        self._setting = session.settings.tensors
        self._watched: weakref.WeakKeyDictionary[Any, Watch | None] = weakref.WeakKeyDictionary()
        #: The identities of inspected launches, with the setting `all`.
        self._identities: Recorder | None = None
        self._numbers = itertools.count()

    # -- kernels ----------------------------------------------------------------------------

    def watch(
        self,
        kernel: Any,
        parameters: Sequence[Parameter],
        pick: Callable[[Any], Any],
        module: Callable[[], Any],
        at_once: bool = False,
    ) -> Watch | None:
        """Return the watch of a kernel, made at the first call; None if the kernel needs none.

        Args:
            kernel: The compiled kernel.
            parameters: The flattened signature.
            pick: A function from the values passed to `before` to flattened values.
            module: A function that returns the kernel's parsed IR; None if the kernel is gone.
            at_once: Whether the IR is read now; otherwise in the background thread.

        """
        if kernel in self._watched:
            return self._watched[kernel]
        positions = _pointers(parameters, includes_floats=self._setting == "all")
        kernel_watch = None
        if positions:
            kernel_watch = Watch(positions, pick, self._setting != "index")
        self._watched[kernel] = kernel_watch
        if kernel_watch is not None and at_once:
            self._find_pointers(kernel_watch, parameters, module)
        elif kernel_watch is not None:
            self._session.later(lambda: self._find_pointers(kernel_watch, parameters, module))
        return kernel_watch

    def _find_pointers(
        self, watch: Watch, parameters: Sequence[Parameter], module: Callable[[], Any]
    ) -> None:
        """Set the watch's `written` from the kernel's IR, and remove places that are no indices."""
        import_in_slices(READING)
        pointers = pointers_of(module)
        watch.written = places_of(pointers.written, pointers, parameters)
        if self._setting == "index":
            watch.places &= places_of(pointers.read, pointers, parameters)
        watch.settled = True
        if watch.look is not None:
            watch.look.settle(watch.targets)

    @property
    def looks(self) -> Any:
        """The hot path's copier; None if Python copies."""
        return self._contents.looks((EARLY, IN_A_ROW, _STEP, _FARTHEST, _REFUSED, _IN_TRIALS))

    def look(self, watch: Watch, paths: Mapping[int, tuple[int, ...]], *launched: Any) -> Any:
        """Return the hot path's inspector of a watch, and store it; None if Python inspects.

        `paths` has the path of each position in the launch's arguments; `launched` is empty, or has
        a launcher of Triton's, the number of its values, and the launch's owner.
        """
        looks = self.looks
        if looks is None or len(paths) > _MOST_PLACES:
            return None
        watch.paths = paths
        watch.look = self._session.recorder.look(looks, watch, watch.targets, *launched)
        if watch.settled:  # before `watch.look` was set
            watch.look.settle(watch.targets)
        return watch.look

    # -- launches ---------------------------------------------------------------------------

    @unseen
    def before(
        self, watch: Watch, grid: tuple[Any, ...], values: tuple[Any, ...], stream: int
    ) -> int:
        """Copy a launch's watched tensors, within the time budget; return their number, or 0."""
        begin = time.perf_counter_ns()
        listed = watch.listed(values)
        on_host = all(memory_kind(value) == "cpu" for _, value in listed)
        is_trial = not on_host and in_trials(self._session)
        if watch.is_new or (not is_trial and (watch.is_early or self._contents.allows())):
            if self._setting == "all" and not self._is_new(watch, grid, values):
                listed = [(position, value) for position, value in listed if _holds_integers(value)]
            watch.count_inspection(on_host)
            number = self._contents.take(listed, stream, watch)
        else:
            watch.count_refusal(is_trial)
            if not is_trial:
                self._contents.refuse()
            number = 0
        self._contents.spend(time.perf_counter_ns() - begin)
        return number

    def after(self, kernel: Any, values: Sequence[Any]) -> None:
        """Copy the watched tensors of a new call after its first launch, unless copied before.

        `values` are flattened. Nothing is copied if the kernel writes to the tensors. The time
        budget is ignored.
        """
        self._contents.follow()
        watch = self._watched.get(kernel)
        if watch is None:
            return
        begin = time.perf_counter_ns()
        recorder = self._session.recorder
        copy_id = recorder.tag(0)
        if not self._contents.has(copy_id) and watch.places and watch.is_safe_after(values):
            listed = [(position, values[position]) for position in watch.places]
            copy_id = self._contents.take(listed, current_stream(), watch, copy_id) or copy_id
        recorder.tag(copy_id)
        self._contents.spend(time.perf_counter_ns() - begin)

    def _is_new(self, watch: Watch, grid: tuple[Any, ...], values: tuple[Any, ...]) -> bool:
        """Return whether no launch with equal grid and arguments was inspected, and remember it."""
        if self._identities is None:
            session = self._session
            self._identities = make_recorder(session.identities, session.problem, _REMEMBERED)
        launch = _Launch(next(self._numbers))
        self._identities.record(launch, None, watch, grid, values, {}, 0, 0)
        return launch.is_new


class _Launch:
    """A launch as a recorder of identities asks for it; `number` is for its watch, if that is new.

    Attributes:
        is_new: No launch with equal grid and arguments was recorded before.

    """

    __slots__ = ("_number", "is_new")

    def __init__(self, number: int) -> None:
        self._number = number
        self.is_new = False

    def new_kernel(self, _owner: Any, _kernel: Any) -> tuple[int, int, int]:
        """Return the number as kernel id, and no device."""
        return (self._number, NO_DEVICE, -1)

    def new_call(self, *_call: Any) -> int:
        """Note that the call is new; it is not recorded."""
        self.is_new = True
        return -1


def places_of(
    positions: frozenset[int] | None, pointers: "IndexArguments", parameters: Sequence[Parameter]
) -> frozenset[int]:
    """Return positions in the flattened signature for positions of the IR function's `pointers`.

    All pointers if `positions` is None, or if `pointers` do not fit the signature. A descriptor is
    several arguments of the function, but the order of memory arguments is the same.
    """
    memory = [n for n, parameter in enumerate(parameters) if is_memory(parameter)]
    if positions is None or len(memory) != len(pointers.memory):
        return frozenset(memory)
    place_of = dict(zip(pointers.memory, memory, strict=True))
    return frozenset(place_of[position] for position in positions)


def pointers_of(module: Callable[[], "Module | None"]) -> "IndexArguments":
    """Return the pointers of a kernel's IR by use; none is known if there is no readable IR."""
    from kvtrace.ir.index_arguments import IndexArguments, index_arguments
    from kvtrace.schema.errors import KvtraceError

    try:
        ir_module = module()
        return IndexArguments(None, None) if ir_module is None else index_arguments(ir_module)
    except KvtraceError:  # reported where the kernel is recorded
        return IndexArguments(None, None)


def is_memory(parameter: Parameter) -> bool:
    """Return whether a parameter is a pointer, or a descriptor, which has a pointer."""
    return parameter.type.startswith(("*", _DESCRIPTOR))


def holds_integers(parameter: Parameter) -> bool:
    """Return whether a parameter is a pointer to integers."""
    return _is_pointer(parameter.type, includes_floats=False)


def in_trials(session: "Session") -> bool:
    """Return whether the running thread's launches are an autotuner's trials."""
    phase = session.recorder.swap_phase(AUTOTUNE)
    session.recorder.swap_phase(phase)
    return phase == AUTOTUNE


def current_stream() -> int:
    """Return the handle of the stream that the running thread launches on."""
    from triton.runtime import driver

    return int(driver.active.get_current_stream(driver.active.get_current_device()))


def _is_pointer(kind: str, includes_floats: bool) -> bool:
    """Return whether a parameter's type is a pointer to integers, or to any type."""
    if not kind.startswith("*"):
        return False
    return includes_floats or kind.lstrip("*").removeprefix("k")[:1] in ("i", "u")


def _pointers(parameters: Sequence[Parameter], *, includes_floats: bool) -> frozenset[int]:
    """Return the positions of pointers to integers, or to any type."""
    return frozenset(
        position
        for position, parameter in enumerate(parameters)
        if _is_pointer(parameter.type, includes_floats)
    )


def _holds_integers(value: Any) -> bool:
    name = str(getattr(value, "dtype", "")).removeprefix("torch.")
    return name.startswith(("int", "uint", "bool"))


def _storage(value: Any) -> Any:
    """Return an identity that two tensors share if they have the same storage."""
    base = getattr(value, "base", value)
    if hasattr(base, "untyped_storage"):
        return base.untyped_storage().data_ptr()
    return id(value)
