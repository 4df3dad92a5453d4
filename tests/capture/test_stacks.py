"""Stacks of launches: frames are told apart by their code objects, not by equality of codes."""

import sys

from kvtrace.capture.stacks import user_frames

SOURCE = "def call(function):\n    return function()\n"


def function_in(file):
    names = {}
    exec(compile(SOURCE, file, "exec"), names)
    return names["call"]


def innermost(function):
    return user_frames(function(lambda: sys._getframe(1)))[0]


def test_equal_functions_of_two_files_have_frames_of_their_own_files():
    first, second = function_in("/v1/model.py"), function_in("/v2/model.py")
    assert first.__code__ == second.__code__  # Python compares no file names
    assert [innermost(first).file, innermost(second).file] == ["/v1/model.py", "/v2/model.py"]
    assert innermost(first).line == 2


def test_a_code_that_cannot_be_hashed_has_a_frame():
    call = function_in("/v1/compiled.py")
    code = call.__code__
    call.__code__ = code.replace(co_consts=(*code.co_consts, {}))  # as Dynamo makes them
    assert innermost(call).file == "/v1/compiled.py"


def test_frames_of_one_function_are_told_apart_by_line():
    names = {}
    exec(
        compile("def calls(f):\n    a = f()\n    b = f()\n    return a, b", "/x.py", "exec"), names
    )
    lines = names["calls"](lambda: user_frames(sys._getframe(1))[0].line)
    assert lines == (2, 3)
