"""Kernels that are launched past `JITFunction.run`, from C, once they are known.

In some forks of Triton `kernel[grid]` gives an object of C that looks a launch up and makes it by
itself (facebookexperimental/triton, `@triton.jit(c_cache=True)`), and `run` takes such a way too,
as long as nobody listens to launches. While a session records, `kernel[grid]` is what it is in
Triton, a call of the kernel's `run`, and a hook that does nothing listens.
"""

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from kvtrace.backends.replacements import Replacements
from kvtrace.capture.session import Session


class WholeLaunches:
    """Has launches of kernels, by class, pass `run`; undone with what else was replaced."""

    def __init__(self, base: type, session: Session, replaced: Replacements, knobs: Any) -> None:
        """`base` is `JITFunction`, `knobs` `triton.knobs.runtime` with the hooks of launches."""
        self._base = base
        self._session = session
        self._replaced = replaced
        self._knobs = knobs
        self._seen: set[type] = set()

    def see_all(self) -> None:
        """See to all classes that there are by now."""
        for each in _derived(self._base):
            self.see(each)

    def see(self, kind: type) -> None:
        """See to a class: one that is derived later is seen at its first launch."""
        if kind in self._seen or not issubclass(kind, self._base):
            return
        self._seen.add(kind)
        owner = next((each for each in kind.__mro__ if "__getitem__" in vars(each)), None)
        if owner is None or not _passes_run_by(vars(owner)["__getitem__"]):
            return
        try:
            self._replaced.put(owner, "__getitem__", _by_run)
            self._listen()
        except (AttributeError, TypeError) as error:
            self._tell("warning", f"launches of {kind.__name__} past run are not recorded: {error}")
            return
        self._tell(
            "info", f"kernel[grid] of {kind.__name__} may pass by run; while recorded, it calls it"
        )

    def _listen(self) -> None:
        """Put a hook that does nothing where `run` asks whether anybody listens."""
        chain = self._knobs.launch_enter_hook
        add: Callable[[Any], None] | None = getattr(chain, "add", None)
        if add is not None:
            add(_nothing)
            self._replaced.undone_by(lambda: chain.remove(_nothing))
        elif chain is None:
            self._replaced.put(self._knobs, "launch_enter_hook", _nothing)

    def _tell(self, level: str, text: str) -> None:
        self._session.message(level, "launches-past-run", text)


def _derived(kind: type) -> Iterator[type]:
    yield kind
    derived: list[type] = kind.__subclasses__()
    for each in derived:
        yield from _derived(each)


def _passes_run_by(getitem: Any) -> bool:
    """Whether a `__getitem__` does more than Triton's, which makes a function and asks nothing."""
    return not isinstance(getitem, FunctionType) or bool(getitem.__code__.co_names)


def _by_run(kernel: Any, grid: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: kernel.run(*args, grid=grid, warmup=False, **kwargs)


def _nothing(*_: Any) -> None:
    return
