"""What stands between the pure side and a disk is plain values."""

from __future__ import annotations

from typing import get_args

from engine.protocols.diskqueue import operations
from engine.protocols.diskqueue.operations import TROUBLE, Done, Error, Exists, Operation
from engine.sim.disk import SimDisk
from engine.sim.driver import describe


def test_trouble_is_what_is_nobodys_failure() -> None:
    assert set(get_args(Error)) - TROUBLE == {"", "gone", "exists", "odd", "foreign"}


def test_every_operation_is_a_value_that_the_simulated_disk_answers() -> None:
    disk = SimDisk("q")
    for kind in get_args(Operation):
        operation = kind(*["q", "x", "y", "z"][: len(kind._fields)])
        assert operation == kind(*operation)
        assert disk.perform(operation, "1").operation is operation
        assert describe(operation).split()[0] == kind.__name__.lower()


def test_an_answer_without_more_means_done() -> None:
    assert Done(Exists("q", "x")) == Done(Exists("q", "x"), "", "", (), False)
    assert operations.Processed("done").text == ""
