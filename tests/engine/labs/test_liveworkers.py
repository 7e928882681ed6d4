"""Pools and transports of a lab that runs, with real sockets."""

from __future__ import annotations

import pytest

from engine.catalogue import SYSTEMS
from engine.drive.waiting import wait_until
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.labs.pool import SPARE
from engine.parts.bulk import BulkSpec
from engine.settings.pools import NamedPool
from tests.helpers.processes import WAIT, free_endpoint


def test_pools_have_their_own_threads_slots_and_transport_and_all_of_them_work() -> None:
    with LiveLab(SYSTEMS["roundrobin"], bind=(free_endpoint(),), workers=1, slots=4) as lab:
        lab.bulk(2, "slow", 2)
        lab.bulk(1, "far", transport="tcp")
        assert lab.wait_registered(4, WAIT) and lab.wait_linked(WAIT)
        table = {lab.seat_of(row.key): row for row in lab.table().workers}
        assert {seat: row.slots for seat, row in table.items()} == {
            "worker-1": 4, "worker-2": 2, "worker-3": 2, "worker-4": 4,
        }  # fmt: skip
        assert [lab.pool_of(table[f"worker-{n}"].key) for n in (1, 2, 3, 4)] == ["", "slow", "slow", "far"]
        assert list(lab.pool_pictures()) == ["pool", "pool.slow", "pool.far"]
        lab.run(BulkSpec("ping", 40, in_flight=10, timeout=WAIT))
        assert lab.wait_run(WAIT) and lab.report()["succeeded"] == 40
        assert all(view.done for view in lab.crew().values())
        lab.endbulk("slow")
        assert wait_until(lambda: lab.workers().here == 2, WAIT)
        with pytest.raises(Refused, match="there are slow, far"):
            lab.endbulk("fast")


def test_runs_go_over_tcp_when_they_are_told_to_and_their_records_say_so() -> None:
    with LiveLab(SYSTEMS["roundrobin"], bind=(free_endpoint(),), workers=2, slots=4) as lab:
        assert lab.wait_registered(2, WAIT) and lab.transport == ""
        lab.choose_lane("packed")
        lab.choose_transport("tcp")
        assert lab.transport == "tcp"
        assert wait_until(lambda: lab.workers().here == 2 and lab.registered() == 2, WAIT) and lab.wait_linked(WAIT)
        lab.run(BulkSpec("ping", 20, timeout=WAIT))
        assert lab.wait_run(WAIT)
        record = lab.report()
        assert (record["succeeded"], record["transport"], record["lane"]) == (20, "tcp", "packed")
        lab.choose_lane("seed")
        lab.choose_transport("inproc")
        assert lab.transport == "" and lab.wait_linked(WAIT)
        lab.run(BulkSpec("ping", 5, timeout=WAIT))
        assert lab.wait_run(WAIT)
        assert (lab.report()["transport"], lab.report()["lane"]) == ("inproc", "seed")
        for transport, words in (("inproc", "over inproc already"), ("udp", "there are inproc and tcp")):
            with pytest.raises(Refused, match=words):
                lab.choose_transport(transport)


def test_workers_that_come_over_tcp_need_file_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    with LiveLab(SYSTEMS["roundrobin"], bind=(free_endpoint(),), workers=3, slots=4) as lab:
        assert lab.wait_registered(3, WAIT)
        lab.bulk(1, "far", transport="tcp")
        monkeypatch.setattr("engine.labs.pool.descriptors_left", lambda: SPARE + 11)
        with pytest.raises(Refused, match=r"^3 more workers: 12 file descriptors are needed, 11 left"):
            lab.choose_transport("tcp")
        assert lab.transport == "" and lab.crew().keys() == {"worker-1", "worker-2", "worker-3", "worker-4"}
        lab.bulk(7)  # inside this process they need fewer
        monkeypatch.setattr("engine.labs.pool.descriptors_left", lambda: SPARE + 28)
        lab.choose_transport("tcp")
        monkeypatch.setattr("engine.labs.pool.descriptors_left", lambda: SPARE + 3)
        with pytest.raises(Refused, match=r"^1 more worker: 4 file descriptors are needed, 3 left"):
            lab.bulk(8)


def test_workers_of_a_broker_elsewhere_go_where_they_were_told() -> None:
    with LiveLab(SYSTEMS["roundrobin"], connect=free_endpoint(), workers=0, broker=False) as lab:
        with pytest.raises(Refused, match="the broker is elsewhere"):
            lab.choose_transport("tcp")
        with pytest.raises(Refused, match="the broker is elsewhere"):
            lab.bulk(2, "slow", 2, "tcp")
        lab.bulk(2, "slow", 2)
        assert lab.workers().here == 2


def test_workers_that_are_left_for_later_are_started_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.labs.liveworkers.AT_ONCE", 2)
    pools = (NamedPool("slow", 3),)
    lab = LiveLab(SYSTEMS["roundrobin"], bind=(free_endpoint(),), workers=5, pools=pools, later=True)
    with lab:
        assert lab.workers().here == 0 and lab.table().workers == ()
        lab.fill()
        assert lab.workers().here == 8 and lab.wait_registered(8, WAIT)
        assert [lab.pool_of(row.key) for row in lab.table().workers].count("slow") == 3
    with LiveLab(SYSTEMS["roundrobin"], bind=(free_endpoint(),), workers=5, later=True) as lab:
        lab._closing.set()
        lab.fill()
        assert lab.workers().here == 0, "workers were started of a lab that closes"
