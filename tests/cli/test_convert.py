import json

import pytest


def test_each_format_is_written_under_its_own_name(kvtrace, sound_trace, tmp_path):
    for name, file in (
        ("perfetto", "trace.perfetto-trace"),
        ("chrome", "trace.json"),
        ("csv", "trace-csv"),
    ):
        code, out, err = kvtrace("convert", name, sound_trace)

        assert (code, err) == (0, "")
        assert out.startswith(f"wrote {file} (")
        assert (tmp_path / file).exists()


def test_convert_accepts_a_run_and_a_setting(kvtrace, sound_trace, tmp_path):
    code, out, _ = kvtrace(
        "convert", "csv", sound_trace, "--run", "20260102", "--set", "table=marks", "-o", "m.csv"
    )

    assert code == 0
    assert "14 rows of marks" in out
    assert (tmp_path / "m.csv").read_text().startswith('"mark_id"')


def test_the_chrome_file_is_json(kvtrace, sound_trace, tmp_path):
    kvtrace("convert", "chrome", sound_trace, "-o", "t.json")

    assert len(json.loads((tmp_path / "t.json").read_text())["traceEvents"]) > 50


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("html", "TRACE"), "there is no converter 'html'"),
        (("perfetto", "TRACE", "--run", "nope"), "has no run 'nope'"),
        (("perfetto", "TRACE", "--set", "speed=1"), "has no setting 'speed'"),
        (("perfetto", "TRACE", "--set", "speed"), "--set needs NAME=VALUE"),
        (("csv", "TRACE", "--set", "table=a", "--set", "table=b"), "--set gives table twice"),
        (("csv", "TRACE", "--set", "table=launchs"), "no table 'launchs'"),
        (("perfetto", "TRACE", "-o", "missing/x"), "the folder missing of the output"),
        (("chrome", "TRACE", "-o", "TRACE"), "is a folder; name a file to write"),
    ],
)
def test_convert_reports_bad_input_in_one_sentence(
    kvtrace, sound_trace, tmp_path, arguments, sentence
):
    code, out, err = kvtrace(
        "convert", *(sound_trace if word == "TRACE" else word for word in arguments)
    )

    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_window_of_time_is_written(kvtrace, sound_trace, tmp_path):
    """Ten launches of the first run lie before 0.03 s, and all others behind it."""
    counts = []
    for window in ((), ("--to", "0.03"), ("--from", "0.03"), ("--from", "5", "--to", "6")):
        code, _, err = kvtrace("convert", "chrome", sound_trace, "-o", "t.json", *window)
        assert (code, err) == (0, "")
        events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
        counts.append(sum(event.get("cat") == "launch" for event in events))
    everything, first, rest, nothing = counts
    assert (first, rest, nothing) == (10, everything - 10, 0)


def test_a_window_that_ends_before_it_begins_is_refused(kvtrace, sound_trace):
    code, _, err = kvtrace("convert", "perfetto", sound_trace, "--from", "2", "--to", "1")
    assert (code, "--from 2.0 s is not before --to 1.0 s" in err) == (2, True)
