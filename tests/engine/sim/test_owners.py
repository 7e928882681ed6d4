"""Who may do what, as a system with owners and modes decides it; both disks together: ``tests/sim/test_disks.py``."""

from __future__ import annotations

from engine.sim.owners import READ, ROOT, SEARCH, STRANGER, USER, WRITE, Access


def test_the_owner_has_the_owners_bits_and_others_the_last() -> None:
    access = Access(USER, 0o604)
    assert access.allows(USER, READ | WRITE) and not access.allows(USER, SEARCH)
    assert access.allows(STRANGER, READ) and not access.allows(STRANGER, READ | WRITE)
    assert not Access(USER, 0o077).allows(USER, READ), "who owns it is not one of the others"
    assert Access(USER, 0).allows(ROOT, READ | WRITE | SEARCH)


def test_a_sticky_folder_keeps_what_is_neither_ones_own_nor_in_ones_own_folder() -> None:
    sticky = Access(USER, 0o1777)
    assert sticky.keeps(STRANGER, USER) and sticky.keeps(STRANGER, ROOT)
    assert not sticky.keeps(STRANGER, STRANGER)
    assert not sticky.keeps(USER, STRANGER) and not sticky.keeps(ROOT, STRANGER)
    assert not Access(USER, 0o777).keeps(STRANGER, USER)
