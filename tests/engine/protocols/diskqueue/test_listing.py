"""What a driver knows of its source; with whole drivers: test_driver.py."""

from __future__ import annotations

from engine.protocols.diskqueue.config import LISTING_LIFE, LISTING_WORTH
from engine.protocols.diskqueue.listing import Listing
from engine.protocols.diskqueue.operations import Done, Entry, List


def answer(*found: str, still: bool = True) -> Done:
    entries = tuple(Entry(name, at, 1) for at, name in enumerate(found))
    return Done(List("src"), entries=entries, still=still, odd=(("d.ready", "a folder"),))


def taken(listing: Listing, now: float) -> str:
    item = listing.next(now)
    return item.id if item else ""


def test_it_is_worked_through_in_order_and_then_there_is_nothing() -> None:
    listing = Listing()
    assert taken(listing, 0.0) == ""
    assert listing.read(answer("b.ready", "a.ready", "c.failed"), 1.0, 1.0) == (("d.ready", "it is a folder"),)
    assert [taken(listing, 1.0) for _ in range(4)] == ["b", "a", "c", ""]


def test_it_grows_too_old() -> None:
    listing = Listing()
    listing.read(answer("a.ready", "b.ready"), 0.0, 0.0)
    assert taken(listing, LISTING_LIFE) == "a"
    assert taken(listing, LISTING_LIFE + 0.1) == ""
    listing.read(answer("a.ready"), 0.0, 2.0)
    assert taken(listing, 2.0 + 2.0 * LISTING_WORTH) == "a", "one that took long is worth more"


def test_what_an_earlier_document_left_is_replaced() -> None:
    listing = Listing()
    listing.read(answer("a.ready", "a.failed_twice"), 0.0, 0.0)
    item = listing.next(0.0)
    assert item is not None and listing.leftovers(item) == {"a.failed_twice"}


def test_only_a_folder_that_kept_still_proves_that_all_is_done() -> None:
    listing = Listing()
    for found, still, finished in (
        (("done",), True, True),
        (("done",), False, False),
        (("done", "a.ready"), True, False),
    ):
        listing.read(answer(*found, still=still), 0.0, 0.0)
        assert listing.finished == finished
