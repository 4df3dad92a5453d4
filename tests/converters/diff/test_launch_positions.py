"""Values that a program takes from outside: used in launches alone, or after the last one."""

import ast

import pytest

from kvtrace.converters.diff.callers import _tree, _value_may_follow
from kvtrace.converters.diff.outside_values import outside_uses
from kvtrace.converters.diff.program_forms import ProgramText


def lines_of(text):
    """The lines on which a text takes a value from outside."""
    return [line for line, _ in outside_uses([*ast.walk(text.tree)], set())]


@pytest.mark.parametrize(
    ("main", "follows"),
    [
        ("o = called(x)\nif os.environ['N']: o = o / 2", True),
        ("o = called(x)\nwith open('c.json') as f: o *= json.loads(f.read())", True),
        (
            "with open('c.json') as f:\n    text = f.read()\no = called(x)\no *= json.loads(text)",
            True,
        ),
        ("o = called(x)\no = post(o)", True),  # which reads a file
        ("n = float(os.environ['N'])\nm = n * 2\no = called(x)\no *= m", True),
        ("n = float(os.environ['N'])\nscale[(8,)](n)\no = called(x)", False),
        ("o = called(x)\nwith open('out.json', 'w') as f: f.write('1')", None),
        ("o = called(x)\no *= float(sys.argv[1])", None),
    ],
)
def test_what_is_read_from_outside_may_be_used_after_the_last_launch(main, follows):
    post = "return v * load('p')" if "post" in main else "return v"
    head = f"import os\ndef called(x):\n    scale[(8,)](x)\n    return x\ndef post(v): {post}\n"
    text = head + main
    calls = {number for number, line in enumerate(text.split("\n"), 1) if "called(" in line}
    own = ProgramText("run.py", _tree(text, set()), {3, *calls}, {3})
    found = [own.positions.value_may_follow(line) for line in lines_of(own)]

    assert (any(found) if found else None) == follows


CONF = "import os\nDEVICE = os.environ['D']\n"
LAUNCHED = "import torch\nimport conf\nx = torch.ones(9, device=conf.DEVICE)\nscale[(8,)](x)\n"


@pytest.mark.parametrize(
    ("conf", "after", "follows"),
    [
        (CONF, "print(x.sum())", False),
        (CONF, "print(conf.DEVICE)", True),
        (CONF, "if conf.DEVICE: x /= 2", True),
        (CONF + "os.putenv('D', DEVICE)\n", "print(x.sum())", True),
        ("import os\ndef post(x): return x if os.environ['D'] else -x\n", "conf.post(x)", True),
        ("import other\nDEVICE = other.DEVICE\n", "print(x.sum())", False),
        ("import other\nDEVICE = other.DEVICE\n", "print(conf.DEVICE)", True),
    ],
)
def test_what_a_module_reads_is_used_where_its_importers_use_its_names(conf, after, follows):
    main = ProgramText("run.py", _tree(LAUNCHED + after, set()), {4}, {4})
    inner = ProgramText("other.py", _tree(CONF, set()), is_module=True)
    module = ProgramText("conf.py", _tree(conf, set()), is_module=True)
    main.imported[2, 0, "conf"] = ["conf.py"]
    module.imported[1, 0, "other"] = ["other.py"] if "other" in conf else []
    reading = inner if "other" in conf else module
    line, *_ = lines_of(reading)

    assert _value_may_follow(reading, line, [main, module, inner], frozenset()) == follows
