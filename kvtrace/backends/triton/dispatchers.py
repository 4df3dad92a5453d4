"""Kernels that are launched past `run`, from C, once they are known.

In facebookexperimental/triton, since July 2026, `kernel[grid]` gives an object of C that looks a
launch up and makes it by itself, of an autotuned kernel, too; `run` looks up in C what it can. The
JSON of launch metadata there (its pull requests 1385 and 1430) describes kernels, not launches, so
these are had where they are made: while a session records, `kernel[grid]` is what it is in Triton,
a call of the kernel's `run`. That makes known launches in C as long as nobody listens to them. A
hook that does nothing listens only where launches are to be inspected before they are made, which
takes Triton's own launcher: where all tensors' contents are kept, or launches checked or judged.
Without it, of index tensors each call's first launch is inspected, after it was made.

Such a `kernel[grid]` is known by what it does, not by a version: Triton's own makes a function and
asks nothing.
"""

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from kvtrace.backends.replacements import Replacements
from kvtrace.capture.session import Session


class WholeLaunches:
    """Has launches of kernels, by class, pass `run`; undone with what else was replaced."""

    def __init__(
        self,
        bases: tuple[type, ...],
        session: Session,
        replaced: Replacements,
        knobs: Any,
        *,
        inspected: bool,
    ) -> None:
        """Prepare it.

        Args:
            bases: Triton's classes of what `kernel[grid]` launches.
            session: The recording.
            replaced: Receives what is replaced.
            knobs: `triton.knobs.runtime`, which has the hooks of launches.
            inspected: Whether launches are inspected when they are made.

        """
        self._bases = bases
        self._session = session
        self._replaced = replaced
        self._knobs = knobs
        self._inspected = inspected
        self._seen: set[type] = set()
        #: Whether kernels may be launched without asking for the launcher that inspects.
        self.unasked = False

    def see_all(self) -> None:
        """See to all classes that there are by now."""
        for base in self._bases:
            for each in _derived(base):
                self.see(each)

    def see(self, kind: type) -> None:
        """See to a class: one that is derived later is seen at its first launch."""
        if kind in self._seen or not issubclass(kind, self._bases):
            return
        self._seen.add(kind)
        owner = next((each for each in kind.__mro__ if "__getitem__" in vars(each)), None)
        if owner is None or not passes_run_by(vars(owner)["__getitem__"]):
            return
        try:
            self._replaced.put(owner, "__getitem__", _by_run)
            if self._inspected:
                self._listen()
            self.unasked = not self._inspected
        except (AttributeError, TypeError) as error:
            self._tell("warning", f"launches of {kind.__name__} past run are not recorded: {error}")
            return
        self._tell("info", f"kernel[grid] of {kind.__name__} {self._change()}")

    def _change(self) -> str:
        if self._inspected:
            return (
                "launches from C, past run; while recorded, it calls run, and because launches are "
                "inspected a launch hook has all of them made by Triton's own launcher: each takes "
                "some microseconds more"
            )
        return (
            "launches from C, past run; while recorded, it calls run, which launches known kernels "
            "from C itself: a launch takes as long as run's part in Python, and of tensors that "
            "kernels index with, what each call's first launch found is kept"
        )

    def _listen(self) -> None:
        """Put a hook that does nothing where `run` asks whether anybody listens."""
        chain = self._knobs.launch_enter_hook
        add: Callable[[Any], None] | None = getattr(chain, "add", None)
        if add is not None:
            if _nothing not in getattr(chain, "calls", ()):
                add(_nothing)
                self._replaced.undone_by(lambda: chain.remove(_nothing))
        elif chain is None:
            self._replaced.put(self._knobs, "launch_enter_hook", _nothing)

    def _tell(self, level: str, text: str) -> None:
        self._session.message(level, "launches-past-run", text)


def passes_run_by(getitem: Any) -> bool:
    """Whether a `__getitem__` does more than Triton's, which makes a function and asks nothing."""
    return not isinstance(getitem, FunctionType) or bool(getitem.__code__.co_names)


def _derived(kind: type) -> Iterator[type]:
    yield kind
    derived: list[type] = kind.__subclasses__()
    for each in derived:
        yield from _derived(each)


def _by_run(kernel: Any, grid: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: kernel.run(*args, grid=grid, warmup=False, **kwargs)


def _nothing(*_: Any) -> None:
    return
