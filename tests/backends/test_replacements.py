"""What is replaced in other libraries is put back, and what a first call makes is made once."""

from typing import Any

from kvtrace.backends.replacements import Replacements


class Library:
    """Stands for a class of another library."""

    def run(self, *args: Any) -> tuple[Any, ...]:
        return ("theirs", *args)


def raise_it(error: Exception) -> None:
    raise error


def test_first_call_replaces_the_method_by_the_made_function() -> None:
    original, made, replaced = Library.run, [], Replacements()

    def make() -> Any:
        made.append("made")
        return lambda self, *args: ("ours", *original(self, *args))

    replaced.put_at_first_call(Library, "run", make, raise_it)
    assert made == []
    assert Library().run(1) == ("ours", "theirs", 1)
    assert Library().run(2) == ("ours", "theirs", 2)
    assert made == ["made"]
    replaced.undo()
    assert Library.run is original


def test_replacement_is_made_once_also_below_another_hook() -> None:
    original, made, replaced = Library.run, [], Replacements()

    def make() -> Any:
        made.append("made")
        return original

    replaced.put_at_first_call(Library, "run", make, raise_it)
    ours = Library.run
    theirs = Library.run = lambda self, *args: ours(self, *args)  # type: ignore[method-assign]
    try:
        for number in range(3):
            assert Library().run(number) == ("theirs", number)
        assert made == ["made"]
        replaced.undo()
        assert Library.run is theirs
    finally:
        Library.run = original  # type: ignore[method-assign]


def test_failing_make_leaves_the_original_method() -> None:
    original, told, replaced = Library.run, [], Replacements()

    def make() -> Any:
        raise RuntimeError("not today")

    replaced.put_at_first_call(Library, "run", make, told.append)
    assert Library().run(1) == ("theirs", 1)
    assert Library().run(2) == ("theirs", 2)
    assert [str(error) for error in told] == ["not today"]  # it is not asked again
    replaced.undo()
    assert Library.run is original
