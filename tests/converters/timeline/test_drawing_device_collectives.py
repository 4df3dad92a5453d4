"""Collectives of ranks on timelines."""

import numpy as np

from kvtrace.converters.timeline import chrome, perfetto
from kvtrace.converters.timeline.drawing import timelines
from tests.support.simulated_ranks import UNIT, changed, planned, simulated, write_ranks


def collectives_of(timeline):
    (part,) = [part for part in timeline.slices if part.category == "collective"]
    return part


def test_waiting_and_transfer_are_apart_and_flows_link_the_ranks(tmp_path):
    # given three ranks of which the second computes longer
    plans = changed(planned(3, 2), 1, range(2), work=20)
    selection = write_ranks(tmp_path / "out", simulated(plans))
    parts = [collectives_of(timeline) for timeline in timelines(selection)]
    # then the others wait for it, and a transfer of each collective is linked over all ranks
    names = [[part.captions[code].name for code in part.caption] for part in parts]
    assert set(names[0]) == set(names[2]) == {"waiting for rank 1", "AllReduce"}
    assert set(names[1]) == {"AllReduce"}
    flows = [part.flow[part.flow > 0].tolist() for part in parts]
    assert flows[0] == flows[1] == flows[2]
    assert len({*flows[0]}) == 4
    # and both add up to the collective's kernel
    transfers = [part.duration[part.flow > 0].tolist() for part in parts]
    assert transfers == [[3 * UNIT] * 4] * 3
    assert all(part.track.name == "collectives" for part in parts)


def test_job_without_ranks_has_no_track_of_collectives(tmp_path):
    selection = write_ranks(tmp_path / "out", simulated(planned(1, 2)))
    (timeline,) = timelines(selection)
    assert not [part for part in timeline.slices if part.category == "collective"]


def test_files_have_the_slices_and_perfetto_the_flows(tmp_path):
    selection = write_ranks(
        tmp_path / "out", simulated(changed(planned(2, 2), 1, range(2), work=9))
    )
    perfetto.CONVERTER.convert(selection, tmp_path / "p", {})
    chrome.CONVERTER.convert(selection, tmp_path / "c", {})
    drawn = [collectives_of(timeline) for timeline in timelines(selection)]
    flow = np.unique(drawn[0].flow[drawn[0].flow > 0])[0]
    assert (tmp_path / "p").read_bytes().count(int(flow).to_bytes(8, "little")) == 2
    assert b'"waiting for rank 0"' in (tmp_path / "c").read_bytes()
