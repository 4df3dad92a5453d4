"""What tensors hold at launches of compiled kernels: which are copied, when, and how.

Only kernels with pointers to integers are watched. A watched kernel's launches are inspected before
they run, as often as there is time. On the host a launch takes longer than a look at it, so that
there mostly is; on a device a copy disturbs what an autotuner times, so that of its trials only a
kernel's first is inspected. The first launch of a call that was missed so is inspected when the hot
path has found the call to be new: what the kernel does not write is still there. Which pointers
matter, and which are written, is read from the kernel's IR in the background.
"""

import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kvtrace.capture.copied_contents import Listed
from kvtrace.capture.host_devices import memory_kind
from kvtrace.capture.hot import Recorder
from kvtrace.capture.hot_choice import tensor_types
from kvtrace.capture.records import AUTOTUNE, Parameter

if TYPE_CHECKING:
    from kvtrace.capture.copied_contents import Contents
    from kvtrace.capture.session import Session

#: Launches of a kernel on a device that are checked in a row; later ones at growing distances.
IN_A_ROW: Final = 64
_STEP: Final = 16
_FARTHEST: Final = 1 << 20

#: Launches that pass at most before it is tried again, where there was no time: a power of two.
_REFUSED: Final = 10
_IN_TRIALS: Final = 15

#: Places of a signature that the native hot path can look at.
_MOST_PLACES: Final = 512

#: How Triton's types of descriptors begin.
_DESCRIPTOR: Final = "tensordesc"

#: Launches that are remembered as seen, at most (setting `all`).
_SEEN: Final = 100_000


class Watch:
    """What is known of a kernel whose launches are inspected, and when the next one is.

    Attributes:
        wait: launches that pass before one is inspected.
        places: places in the flattened signature of the pointers that are inspected.
        written: places that the kernel writes to; None while that is not known.
        settled: whether the kernel's IR has been read.
        look: looks at launches in the native hot path, and knows when; None where Python does.
        paths: where the arguments that it is handed have each place, as indices within tuples.
    """

    __slots__ = (
        "_everything",
        "_refused",
        "_taken",
        "look",
        "paths",
        "pick",
        "places",
        "settled",
        "wait",
        "written",
    )

    def __init__(self, places: frozenset[int], pick: Callable[[Any], Any], every: bool) -> None:
        """`pick` gives the flattened values of a launch, `every`: no launch is left out."""
        self.wait = 0
        self.places = places
        self.written: frozenset[int] | None = None
        self.settled = False
        self.pick = pick
        self.look: Any = None
        self.paths: Mapping[int, tuple[int, ...]] = {}
        self._everything = every
        self._taken = self._refused = 0

    def listed(self, values: Any) -> Listed:
        """The tensors to look at, of a launch with these values."""
        flat = self.pick(values)
        return [(place, flat[place]) for place in self.places]

    @property
    def targets(self) -> list[tuple[int, tuple[int, ...]]]:
        """What is inspected, and where `look` finds it among the arguments."""
        return [(place, self.paths[place]) for place in self.places if place in self.paths]

    def is_safe_after(self, flat: Sequence[Any]) -> bool:
        """Whether what is inspected is the same after a launch: the kernel writes none of it."""
        if self.written is None:
            return False
        changed = {_storage(flat[place]) for place in self.written}
        return changed.isdisjoint({_storage(flat[place]) for place in self.places})

    @property
    def is_new(self) -> bool:
        """Whether no launch has been inspected."""
        return self._taken == 0

    @property
    def is_early(self) -> bool:
        """Whether what the kernel writes is not known yet, so that a launch missed is lost."""
        return not self.settled and self._taken < IN_A_ROW

    def took(self, on_host: bool = False) -> None:
        """Wait for the next one, longer the more have been inspected or had to be left out.

        `on_host`: it is left to the time that there is.
        """
        self._taken += 1
        if self._everything or on_host:
            return
        self._refused = max(0, self._refused - 1)
        beyond = self._taken - IN_A_ROW
        distance = 1 << beyond // _STEP + 1 if beyond >= 0 else 1
        self.wait = min(max(distance, 1 << self._refused), _FARTHEST) - 1

    def refused(self, in_trials: bool) -> None:
        """Wait, longer the more often there was no time."""
        if in_trials:
            self.wait = _IN_TRIALS
        elif not self._everything:
            self._refused = min(self._refused + 1, _REFUSED)
            self.wait = (1 << self._refused) - 1


class Watching:
    """Watches the kernels of one session."""

    def __init__(self, session: "Session", contents: "Contents") -> None:
        """Watch nothing yet."""
        self._session = session
        self._contents = contents
        self._setting = session.settings.tensors
        self._watched: weakref.WeakKeyDictionary[Any, Watch | None] = weakref.WeakKeyDictionary()
        self._keys = Recorder(
            session.identities, session.problem, tensor_types(sys.modules.get("torch")), _SEEN
        )
        self._seen: set[tuple[Any, ...]] = set()

    # -- kernels ----------------------------------------------------------------------------

    def watch(
        self,
        kernel: Any,
        parameters: Sequence[Parameter],
        pick: Callable[[Any], Any],
        module: Callable[[], Any],
        at_once: bool = False,
    ) -> Watch | None:
        """Return the watch of a kernel, made when first asked for; None if it needs none.

        Args:
            kernel: what the watch is remembered for.
            parameters: the flattened signature.
            pick: gives the flattened values of a launch from what is handed to `before`.
            module: reads the kernel's IR; None if the kernel is gone.
            at_once: read it now, for what is written has to be known; else in the background.

        """
        if kernel in self._watched:
            return self._watched[kernel]
        everything = self._setting == "all"
        places = frozenset(
            place
            for place, parameter in enumerate(parameters)
            if _is_pointer(parameter.type, everything)
        )
        made = Watch(places, pick, self._setting != "index") if places else None
        self._watched[kernel] = made
        if made is not None and at_once:
            self._analyse(made, parameters, module)
        elif made is not None:
            self._session.later(lambda: self._analyse(made, parameters, module))
        return made

    def _analyse(
        self, watch: Watch, parameters: Sequence[Parameter], module: Callable[[], Any]
    ) -> None:
        from kvtrace.schema.errors import KvtraceError
        from kvtrace.verdicts.contents.index_arguments import IndexArguments, index_arguments

        found = IndexArguments(None, None)
        try:
            read = module()
            if read is not None:
                found = index_arguments(read)
        except KvtraceError:  # reported where the kernel is recorded
            found = IndexArguments(None, None)
        watch.written = places_of(found.written, parameters)
        if self._setting == "index":
            watch.places &= places_of(found.read, parameters)
        watch.settled = True
        if watch.look is not None:
            watch.look.settle(watch.targets)

    @property
    def looks(self) -> Any:
        """What copies in the native hot path; None where Python does."""
        return self._contents.looks((IN_A_ROW, _STEP, _FARTHEST, _REFUSED, _IN_TRIALS))

    def look(self, watch: Watch, paths: Mapping[int, tuple[int, ...]], *launched: Any) -> Any:
        """Return what looks at a watch's launches in the native hot path; None where Python does.

        `paths` say where the arguments have each place of the signature; `launched` are a launcher
        of Triton's, how many values it takes, and whose launch it has to be.
        """
        looks = self.looks
        if looks is None or len(paths) > _MOST_PLACES:
            return None
        watch.paths = paths
        recorder: Any = self._session.recorder
        watch.look = recorder.look(looks, watch, watch.targets, *launched)
        if watch.settled:  # since its targets were read
            watch.look.settle(watch.targets)
        return watch.look

    # -- launches ---------------------------------------------------------------------------

    def before(
        self, watch: Watch, grid: tuple[Any, ...], values: tuple[Any, ...], stream: int
    ) -> int:
        """Look at a launch that comes now; give the number of what was copied, or 0."""
        begin = time.perf_counter_ns()
        listed = watch.listed(values)
        on_host = all(memory_kind(value) == "cpu" for _, value in listed)
        trial = not on_host and in_trials(self._session)
        if watch.is_new or (not trial and (watch.is_early or self._contents.allows())):
            if self._setting == "all" and not self._is_new(watch, grid, values):
                listed = [(place, value) for place, value in listed if _holds_integers(value)]
            watch.took(on_host)
            number = self._contents.take(listed, stream, watch)
        else:
            watch.refused(trial)
            if not trial:
                self._contents.refuse()
            number = 0
        self._contents.spend(time.perf_counter_ns() - begin)
        return number

    def after(self, kernel: Any, values: Sequence[Any]) -> None:
        """Look at the launch that has just been found to be a call's first, if nothing has been.

        `values` are flattened. What a call's first launch had is kept whatever time there is.
        """
        self._contents.follow()
        watch = self._watched.get(kernel)
        if watch is None:
            return
        begin = time.perf_counter_ns()
        recorder = self._session.recorder
        number = recorder.tag(0)
        if not self._contents.has(number) and watch.places and watch.is_safe_after(values):
            listed = [(place, values[place]) for place in watch.places]
            number = self._contents.take(listed, current_stream(), watch, number) or number
        recorder.tag(number)
        self._contents.spend(time.perf_counter_ns() - begin)

    def _is_new(self, watch: Watch, grid: tuple[Any, ...], values: tuple[Any, ...]) -> bool:
        """Whether no launch of this kind has been met."""
        key = (id(watch), *self._keys.key(0, grid, values, {}))
        if key in self._seen:
            return False
        if len(self._seen) >= _SEEN:
            self._seen.clear()
        self._seen.add(key)
        return True


def places_of(positions: frozenset[int] | None, parameters: Sequence[Parameter]) -> frozenset[int]:
    """Return the places in the flattened signature of the IR function's arguments at positions.

    All pointers where it is not known which (None), or where descriptors, which are several
    arguments each, move the positions.
    """
    real = [n for n, each in enumerate(parameters) if each.type != "constexpr"]
    moved = any(each.type.startswith(_DESCRIPTOR) for each in parameters)
    if positions is None or moved or any(position >= len(real) for position in positions):
        return frozenset(n for n in real if is_memory(parameters[n]))
    return frozenset(real[position] for position in positions)


def is_memory(parameter: Parameter) -> bool:
    """Whether a parameter is a pointer, or a descriptor with one."""
    return parameter.type.startswith(("*", _DESCRIPTOR))


def holds_integers(parameter: Parameter) -> bool:
    """Whether a parameter is a pointer to integers."""
    return _is_pointer(parameter.type, everything=False)


def in_trials(session: "Session") -> bool:
    """Whether the thread's launches are trials of autotuning, whose times are compared."""
    phase = session.recorder.swap_phase(AUTOTUNE)
    session.recorder.swap_phase(phase)
    return phase == AUTOTUNE


def current_stream() -> int:
    """The handle of the stream that the running thread launches on."""
    from triton.runtime import driver

    return int(driver.active.get_current_stream(driver.active.get_current_device()))


def _is_pointer(kind: str, everything: bool) -> bool:
    """Whether a parameter's type is a pointer to integers, or to anything."""
    if not kind.startswith("*"):
        return False
    return everything or kind.lstrip("*").removeprefix("k")[:1] in ("i", "u")


def _holds_integers(value: Any) -> bool:
    name = str(getattr(value, "dtype", "")).removeprefix("torch.")
    return name.startswith(("int", "uint", "bool"))


def _storage(value: Any) -> Any:
    """What two tensors have in common where one's memory may be the other's."""
    base = getattr(value, "base", value)
    if hasattr(base, "untyped_storage"):
        return base.untyped_storage().data_ptr()
    return id(value)
