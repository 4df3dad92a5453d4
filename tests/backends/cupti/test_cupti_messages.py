"""What is said of kernels that ran without a launch."""

from kvtrace.backends.cupti.timeline import foreign_message


def test_kernels_without_a_launch_are_counted_by_name() -> None:
    # given executions by symbol, two of which read alike
    row = foreign_message({"_Z5fusedIiEvPf": 3, "_Z5fusedIfEvPf": 4, "triton_poi_0": 50})
    # then one row counts them all, and names the most frequent first
    assert (row["level"], row["code"], row["count"]) == ("info", "kernels-without-launch", 57)
    assert row["text"].endswith(": triton_poi_0 (50), fused (7)")


def test_a_great_many_names_stay_one_sentence() -> None:
    row = foreign_message({f"{'kernel' * 30}{number}": number + 1 for number in range(500)})
    assert row["count"] == 500 * 501 // 2
    assert len(row["text"]) < 1100
