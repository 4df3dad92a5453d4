"""Operators that PyTorch's DebugMode logged and launches, walked in one order by `kvtrace diff`."""

import time

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
debug_mode = pytest.importorskip("torch.utils._debug_mode")

import triton.language as tl  # noqa: E402

import kvtrace  # noqa: E402
from kvtrace.cli import main  # noqa: E402
from kvtrace.converters.diff import compare  # noqa: E402
from kvtrace.schema.trace import resolve  # noqa: E402

HASHES = ["norm", "hash_tensor"]


@triton.jit
def scaled(x, out, n, SCALE: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * SCALE, mask=lanes < n)


def recorded(out, *, edit=None, hashes=HASHES, with_times=True):
    """Record two steps of a training program with its operators; `edit` is a changed place."""
    DebugMode, hooks = debug_mode.DebugMode, {"log_hook": lambda *_: {"time": time.time_ns()}}
    with (
        kvtrace.capture(out, check="digest"),
        DebugMode(record_stack_trace=True) as log,
        DebugMode.log_tensor_hashes(hashes, hash_inputs=True),
        DebugMode.dispatch_hooks(**(hooks if with_times else {})),
    ):
        torch.manual_seed(1)
        w = torch.randn(8, 8, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.2 if edit == "rate" else 0.1, foreach=True)
        for step in range(2):
            x = torch.randn(8, 8)
            x.view(-1)[8:16].mul_(4 if edit == "view" else 3)
            x.numpy()[0, 0] += step if edit == "host" else 0
            if edit == "seed" and step:
                torch.manual_seed(7)
            hidden = torch.nn.functional.dropout(x @ w, 0.5)
            hidden = hidden * float("nan") if edit == "nan" else hidden
            hidden = hidden.relu() if edit == "other" and step else hidden
            out_of = torch.zeros_like(hidden)
            scaled[(1,)](hidden, out_of, 64, SCALE=3 if edit == "kernel" else 2, BLOCK=64)
            (hidden * out_of).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    text = out.with_suffix(".txt")
    text.write_text(log.debug_string())
    assert main(["import", str(text), "--into", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("operators") / "a")


def results(before, after):
    return compare(resolve(before), resolve(after)).results


def test_equal_runs_are_equal_in_one_line(plain, tmp_path, capsys):
    found = results(plain, recorded(tmp_path / "b"))
    assert (found.compared, found.operators > 30) == (2, True)
    assert (found.differing, found.first, found.unlike) == (0, None, ())
    assert main(["diff", str(plain), str(tmp_path / "b")]) == 0
    text = f"results of 2 launches and {found.operators} operators were compared by digest: all are"
    assert text in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("edit", "texts"),
    [
        ("view", ("call 1 of aten::mul_.Tensor at ", "arguments were changed (4, was 3)")),
        ("seed", ("call 2 of aten::bernoulli_", "were equal, by their hashes: it draws random")),
        ("rate", ("of aten::mm at ", "call 1 of aten::_foreach_add_.List at ",
                  "changed (alpha=-0.2, was alpha=-0.1)")),
        ("host", ("call 3 of aten::mm at ", "its input argument 1 differed already",
                  "of aten::detach at ", "the host, a copy")),
        ("other", ("other operators are called: call 1 of aten::relu at ",
                   "before call 2 of aten::zeros_like at ", "after that, launch 2 of scaled")),
        ("kernel", ("launch 1 of scaled is the first", "(constexpr SCALE 2 → 3), its")),
    ],
)  # fmt: skip
def test_origin_is_named(plain, tmp_path, edit, texts):
    first = results(plain, recorded(tmp_path / "b", edit=edit)).first
    assert all(text in first.why for text in texts), first.why


def test_what_cannot_be_placed_or_compared_is_never_equal(plain, tmp_path):
    untimed = results(plain, recorded(tmp_path / "b", with_times=False))
    assert untimed.unlike == ("operators have no times, so none is placed between launches",)
    other = results(plain, recorded(tmp_path / "c", hashes="norm"))
    assert other.operators == 0
    assert "its hashes are of other functions or settings" in " ".join(other.unlike)
    nan = recorded(tmp_path / "d", edit="nan", hashes="norm")
    assert results(nan, nan).operators < results(plain, plain).operators
