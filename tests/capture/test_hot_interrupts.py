"""Ctrl-C that arrives while the hot path asks the program's objects: the program gets it."""

import pytest
import torch

from tests.capture.recorders import Adapter, Function, Kernel, _hot

if _hot is None:
    pytest.skip("the C extension is not built", allow_module_level=True)


class Asked:
    """An object whose attributes raise KeyboardInterrupt, or what else was given, once."""

    def __init__(self, attribute, error):
        self.attribute, self.errors = attribute, [error]

    def answer(self, attribute, value):
        if attribute == self.attribute and self.errors:
            raise self.errors.pop()
        return value

    launchers = property(lambda self: self.answer("launchers", [Kernel()]))
    src = property(lambda self: self.answer("src", None))

    def __bool__(self):
        return self.answer("bool", False)

    def __len__(self):
        return self.answer("len", 1)

    def __getitem__(self, index):
        return self.answer("item", Kernel())

    def __getattr__(self, name):
        if name == "_kvtrace_watch":
            self.answer("watch", None)
        raise AttributeError(name)

    def launch(self, grid):
        return lambda *args: "launched"


@pytest.fixture
def problems():
    return []


@pytest.fixture
def recorder(problems):
    return _hot.Recorder(lambda value: (b"", None), problems.append, (torch.Tensor,), 10)


def warmed_up(recorder, error):
    """A launch whose `warmup` is an object of the program."""
    run = recorder.wrap(Function.run, Adapter())
    function = Function("launched")
    return lambda: run(function, grid=(1,), warmup=Asked("bool", error))


def chosen(attribute):
    def launch(recorder, error):
        class Choosing:
            launchers = Asked(attribute, error) if attribute != "launchers" else None
            run = recorder.wrap_choosing(run_on_stream, Adapter(), run_on_stream)

        class Asking(Choosing):
            launchers = property(lambda self: asked.launchers)

        asked = Asked(attribute, error)
        return (Asking() if attribute == "launchers" else Choosing()).run

    return lambda recorder, error: lambda: launch(recorder, error)(1, stream=0)


def run_on_stream(self, *args, stream):
    return "launched"


def compiled(recorder, error):
    """A launch of a compiled kernel, whose `src` names its owner."""
    getitem = recorder.wrap_getitem(Asked.launch, Adapter())
    return lambda: getitem(Asked("src", error), (1,))(1)


def watched(recorder, error):
    """A launch by the property `run`, which looks for what watches a kernel."""

    class Launcher:
        run = recorder.watched_property(property(lambda self: "launched"), lambda kernel: None)

    recorder.launching = 1
    kernel = type("Watched", (Asked, Launcher), {})("watch", error)
    return lambda: kernel.run


LAUNCHES = {
    "warmup": warmed_up,
    "src": compiled,
    "watch": watched,
    **{f"launchers {name}": chosen(name) for name in ("launchers", "len", "item")},
}


@pytest.fixture(autouse=True)
def _launching_nothing(recorder):
    yield
    recorder.launching = 0


@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_ctrl_c_reaches_the_program(launch, recorder, problems):
    with pytest.raises(KeyboardInterrupt):
        launch(recorder, KeyboardInterrupt())()
    assert problems == []


@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_other_errors_of_the_programs_objects_do_not_stop_the_launch(launch, recorder):
    assert launch(recorder, ValueError())() == "launched"
