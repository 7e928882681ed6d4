"""Attached over tcp with a key: looked at, ordered, refused, and let in again once the key is authorized."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli.asking import chosen, status_at
from engine.catalogue import CATALOGUE
from engine.drive.control.dial import Far
from engine.drive.control.found import beyond
from engine.drive.security import keys
from engine.drive.security.curve import Curve
from engine.errors import Refused
from engine.labs.attaching import Around
from engine.labs.live import LiveLab
from engine.labs.remote import Remote
from tests.engine.drive.control.test_keyed import folder, lab, said
from tests.helpers.processes import until

__all__ = ["folder", "lab"]


def place(folder: Path, lab: LiveLab, name: str) -> Far:
    assert lab._curve is not None
    return Far(lab._curve.control, Curve(folder, name, "depot"))


def test_a_viewer_attaches_and_looks_and_an_operator_orders_too(folder: Path, lab: LiveLab) -> None:
    far, worker = place(folder, lab, "v1"), lab.table().workers[0].key
    around = Around(folder / "nothing", CATALOGUE, folder, far=lambda endpoint: far)
    found = around.named(far.endpoint)
    assert (found.system, found.role, found.name) == ("conversation", "broker", far.endpoint)
    with around.lab(found) as viewer:
        assert isinstance(viewer, Remote)
        until(lambda: viewer.feed.picture("broker") is not None)
        with pytest.raises(Refused, match="may look, and give no orders: that takes an operator's key"):
            viewer.stop_worker(worker)
    assert lab.registered() == 1
    found = beyond(place(folder, lab, "op"))
    with around.lab(found) as operator:
        assert isinstance(operator, Remote)
        until(lambda: operator.feed.picture("broker") is not None)
        operator.stop_worker(worker)
        until(lambda: lab.registered() == 0)


def test_its_status_is_told_over_tcp_where_no_socket_of_this_user_is_there(folder: Path, lab: LiveLab) -> None:
    far = place(folder, lab, "v1")
    assert chosen(folder / "c", far.endpoint, lambda endpoint: far) is far
    lab.words["status"] = lambda fields: ("status", {"Status": b'{"schema": "roundhouse.status/1"}'})
    assert status_at(far)["schema"] == "roundhouse.status/1"
    assert isinstance(chosen(folder / "c", lab.endpoints[0], lambda endpoint: far), Path)


def test_whose_key_is_refused_is_told_why(folder: Path, lab: LiveLab) -> None:
    w1 = keys.own(folder, "w1")
    with pytest.raises(Refused, match="refuses this key: w1"):
        beyond(place(folder, lab, "w1"))
    until(lambda: f"{w1.words} may not do what is done there by a viewer" in said(lab))


def test_a_viewer_that_is_revoked_says_so_and_is_back_once_it_is_authorized(folder: Path, lab: LiveLab) -> None:
    far = place(folder, lab, "v1")
    with Around(folder / "nothing", CATALOGUE, folder, far=lambda endpoint: far).lab(beyond(far)) as viewer:
        assert isinstance(viewer, Remote)
        keys.revoke(folder, "v1")
        until(lambda: viewer.stale)
        until(lambda: any("refuses this key: v1" in fact.text for fact in viewer.feed.since(0)[0]))
        keys.authorize(folder, far.curve.own._replace(secret=""))
        until(lambda: not viewer.stale)
