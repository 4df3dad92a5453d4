"""Kernels that are launched from C, without Triton's `run`, from their second launch on.

In facebookexperimental/triton, since July 2026, `kernel[grid]` is a C object that launches known
kernels without calling Python, also autotuned ones. So while a session records, `kernel[grid]`
calls the kernel's `run`, as in Triton; `run` itself makes known launches in C unless there is a
launch hook. An empty hook, with which Triton's own launcher is used, is added if launches are
inspected before they are made: if all tensors' contents are recorded, or launches are checked or
judged. Without the hook, index tensors are inspected after each call's first launch. (The JSON of
launch metadata in pull requests 1385 and 1430 describes kernels, not launches.)

Such a `kernel[grid]` is recognized by its code, not by a version: Triton's own makes a function and
looks up no name.
"""

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from kvtrace.backends.replacements import Replacements
from kvtrace.capture.session import Session


class DispatcherHooks:
    """Hooks that make `kernel[grid]` call `run` in kernel classes that launch from C."""

    def __init__(
        self,
        bases: tuple[type, ...],
        session: Session,
        replaced: Replacements,
        knobs: Any,
        *,
        inspected: bool,
    ) -> None:
        """Prepare the hooks.

        Args:
            bases: Triton's base classes of kernels.
            session: The recording.
            replaced: The object to which replacements are added.
            knobs: `triton.knobs.runtime`, which has the launch hooks.
            inspected: Whether launches are inspected before they are made.

        """
        self._bases = bases
        self._session = session
        self._replaced = replaced
        self._knobs = knobs
        self._inspected = inspected
        self._checked_classes: set[type] = set()
        #: C may launch kernels without the launcher that inspects.
        self.unasked = False

    def hook_all(self) -> None:
        """Hook all kernel classes that exist by now."""
        for base in self._bases:
            for kind in _derived(base):
                self.hook(kind)

    def hook(self, kind: type) -> None:
        """Hook a kernel class if its `kernel[grid]` launches from C; each class is checked once."""
        if kind in self._checked_classes or not issubclass(kind, self._bases):
            return
        self._checked_classes.add(kind)
        owner = next((base for base in kind.__mro__ if "__getitem__" in vars(base)), None)
        if owner is None or not bypasses_run(vars(owner)["__getitem__"]):
            return
        try:
            self._replaced.put(owner, "__getitem__", _launch_by_run)
            if self._inspected:
                self._add_empty_hook()
            self.unasked = not self._inspected
        except (AttributeError, TypeError) as error:
            self._report("warning", f"launches of {kind.__name__} from C are not recorded: {error}")
            return
        self._report("info", f"kernel[grid] of {kind.__name__} {self._change()}")

    def _change(self) -> str:
        if self._inspected:
            return (
                "launches from C, without run; a recording makes it call run. As launches are "
                "inspected, Triton's own launcher makes all of them: each takes some microseconds "
                "more"
            )
        return (
            "launches from C, without run; a recording makes it call run, which still launches "
            "known kernels from C: each launch takes as long as run's part in Python, and index "
            "tensors are recorded at each call's first launch"
        )

    def _add_empty_hook(self) -> None:
        """Add a launch hook that does nothing, which makes `run` use Triton's own launcher."""
        chain = self._knobs.launch_enter_hook
        add: Callable[[Any], None] | None = getattr(chain, "add", None)
        if add is not None:
            if _do_nothing not in getattr(chain, "calls", ()):
                add(_do_nothing)
                self._replaced.undone_by(lambda: chain.remove(_do_nothing))
        elif chain is None:
            self._replaced.put(self._knobs, "launch_enter_hook", _do_nothing)

    def _report(self, level: str, text: str) -> None:
        self._session.message(level, "launches-past-run", text)


def bypasses_run(getitem: Any) -> bool:
    """Return whether a `__getitem__` differs from Triton's, which only returns a lambda."""
    return not isinstance(getitem, FunctionType) or bool(getitem.__code__.co_names)


def _derived(kind: type) -> Iterator[type]:
    yield kind
    derived: list[type] = kind.__subclasses__()
    for subclass in derived:
        yield from _derived(subclass)


def _launch_by_run(kernel: Any, grid: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: kernel.run(*args, grid=grid, warmup=False, **kwargs)


def _do_nothing(*_: Any) -> None:
    return
