"""A driver's configuration: the original's names, both ways."""

from __future__ import annotations

import pytest

from engine.errors import Refused
from engine.protocols.diskqueue.config import (
    Accounts,
    DriverConfig,
    DriverTimes,
    driver_config,
    parameter_file,
    read_times,
)
from engine.protocols.diskqueue.parameters import read_parameters

LEAST = {"disk_queue_src": "/a", "disk_queue_dst": "/b", "disk_queue_worker_ext": ".3"}


def test_the_defaults_are_the_originals() -> None:
    found = driver_config(LEAST)
    assert found == DriverConfig("/a", "/b", "3", "copy", 10, 0, "", "", "", True)


def test_a_parameter_file_gives_back_what_was_written_into_it() -> None:
    config = DriverConfig("/a", "/b", "12", "copy", 500, 9, "/w/times", "/w/quit")
    text = parameter_file(config)
    assert driver_config(read_parameters("/w/worker.par", lambda path: text).values) == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"disk_queue_src": ""}, "disk_queue_src: missing"),
        ({"disk_queue_dst": ""}, "disk_queue_dst: missing"),
        ({"queue_driver": "icews"}, "queue_driver: 'icews' is not disk"),
        ({"disk_queue_worker_ext": "3"}, "disk_queue_worker_ext: '3' is not a dot and 1 to 9 digits"),
        ({"disk_queue_worker_ext": ".x"}, "disk_queue_worker_ext: '.x' is not a dot and 1 to 9 digits"),
        ({"disk_queue_max_dst_files": "-1"}, "disk_queue_max_dst_files: '-1' is not a number from 0"),
        ({"disk_queue_max_dst_bytes": "1e3"}, "disk_queue_max_dst_bytes: '1e3' is not a number from 0"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(change: dict[str, str], message: str) -> None:
    with pytest.raises(Refused) as error:
        driver_config({**LEAST, **change})
    assert str(error.value) == message


def test_the_timer_file_is_tab_separated_milliseconds() -> None:
    times = DriverTimes(1.5, 0.25, 0.0, 2.0, 7)
    assert times.text() == "Work\t1500\nWait\t250\nBlock\t0\nOverhead\t2000\nDocs\t7\n"
    assert read_times(times.text()) == times


@pytest.mark.parametrize(
    "text", ["", "Work\t1\n", "Work\tx\n", "nonsense", "Work\t1\nWait\t1\nBlock\t1\nOverhead\t1\nDocs\tinf\n"]
)
def test_a_torn_timer_file_is_none(text: str) -> None:
    assert read_times(text) is None


def test_time_goes_on_the_account_that_it_passed_in() -> None:
    accounts = Accounts()
    for account, now in (("overhead", 5.0), ("work", 7.0), ("wait", 7.5)):
        accounts.add(account, now)
    assert accounts.times(3) == DriverTimes(2.0, 0.5, 0.0, 0.0, 3)
