"""A witness believes messages alone."""

from __future__ import annotations

from typing import Any

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Woken
from engine.parts.explain import Decoded
from engine.parts.explored import Explored
from engine.sim.explore.model import Model
from engine.sim.explore.properties import Observed, Rules, Witness
from tests.engine.sim.explore.scenes import begun, scene

EXPLAIN = SYSTEMS["negotiated"].explain
STRICT = Rules(EXPLAIN, True, True, False, (b"w1", b"w2"))
LAX, PAIR = STRICT._replace(strict=False), STRICT._replace(strict=False, alone=False)
ONE, TWO = (b"c", b"\x01" + bytes(7)), (b"c", b"\x02" + bytes(7))


def says(leg: Any, peer: bytes, task: bytes = b"", client: bytes = b"", alias: bytes = b"") -> Decoded:
    return Decoded("X", peer=peer, task=task, client=client, alias=alias, leg=leg)


def asked() -> Witness:
    witness = Witness()
    for client, task in (ONE, TWO, ONE):  # a client may ask again
        assert witness.came(says("request", client, task)) is None
    return witness


def test_a_task_goes_out_once_in_order() -> None:
    witness = asked()
    assert not witness.gave(says("give", b"w1"), ONE, STRICT, set())
    assert witness.gave(says("give", b"w2"), ONE, STRICT, set()) == "task 1 is given twice"
    assert not witness.gave(says("give", b"w2"), ONE, LAX, set())
    witness, before = asked(), [ONE, TWO]
    assert not witness.gave(says("give", b"w1"), TWO, STRICT, set())
    assert witness.overtaken(before) == "task 2 overtakes 1"
    assert not witness.gave(says("give", b"w1"), ONE, STRICT, set()) and not witness.overtaken(before)
    assert Witness().gave(says("give", b"w1"), ONE, LAX, set()) == "task 1 is given, and nobody waits for it"
    assert not Witness().gave(says("give", b"w1"), ONE, PAIR, set())


def test_a_request_that_came_twice_may_be_two() -> None:
    witness = asked()
    assert witness.open == [ONE, TWO]
    for _ in range(3):
        witness.came(says("request", *ONE), twice=True)
    assert witness.open == [ONE, TWO, ONE]


def test_who_was_used_longest_ago_is_next() -> None:
    witness = asked()
    assert not witness.gave(says("give", b"w1"), ONE, STRICT, {b"w1", b"w2"})
    wrong = witness.gave(says("give", b"w1"), TWO, STRICT, {b"w1", b"w2"})  # of the next event
    assert wrong == "b'w1' is given a task, though b'w2' was used longer ago"
    witness = asked()
    assert not witness.gave(says("give", b"w1"), ONE, STRICT, {b"w1"})
    assert not witness.gave(says("give", b"w1"), TWO, STRICT, {b"w1"})  # nobody else has room


def test_an_answer_goes_to_who_asked_once() -> None:
    witness = asked()
    witness.gave(says("give", b"w1", alias=b"7"), ONE, STRICT, set())
    assert witness.came(says("answer", b"w1", alias=b"7")) == ONE
    assert witness.came(says("answer", b"w2", task=TWO[1], client=b"c")) == TWO
    assert witness.replied(says("reply", b"c", TWO[1]), LAX, [ONE]) == "the answer to task 1 goes to task 2 of b'c'"
    assert not witness.replied(says("reply", b"c", ONE[1]), LAX, [ONE])
    assert "who does not wait for it" in witness.replied(says("reply", b"c", ONE[1]), LAX, [ONE])
    assert not witness.replied(says("reply", b"c", ONE[1]), PAIR, [ONE])
    assert "is not its client" in witness.replied(says("reply", b"d", ONE[1], client=b"c"), LAX, [])


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_witness_stands_beside_every_broker(name: str) -> None:
    model = Model(scene(name))
    core: Any = model.seats[0].core
    assert type(core) is Observed and not core.wrong
    assert model.copier.fingerprint(core) == model.copier.fingerprint(model.copier.thaw(model.copier.freeze(core)))
    before = model.copier.fingerprint(core)
    core.witness.open.append(ONE)
    assert model.copier.fingerprint(core) != before
    assert core.wake_at() == core.core.wake_at() and core.snapshot(0.0) == core.core.snapshot(0.0)


def test_a_system_asks_of_each_step_what_it_wants() -> None:
    model = Model(scene())
    core: Any = model.seats[0].core
    own = Explored(
        mark=lambda core, now: ("before", now), step=lambda before, core, now: f"{before} and {now}" if now > 8 else ""
    )
    core.rules.value = core.rules.value._replace(own=own)
    core.handle(Woken(), 8.0)
    assert not core.wrong
    core.handle(Woken(), 9.0)
    assert core.wrong == "('before', 9.0) and 9.0"


def test_what_it_sees_is_an_error_of_its_core() -> None:
    model = Model(scene())
    core: Any = model.seats[0].core
    core.check()
    core.wrong = "a reply to nobody"
    with pytest.raises(AssertionError, match="a reply to nobody"):
        core.check()


@pytest.mark.parametrize(("faults", "same"), [((), False), (("kill",), True)])
def test_what_only_the_strict_rules_need_tells_states_apart_only_there(faults: tuple[str, ...], same: bool) -> None:
    model, state = begun(faults=faults)
    part = model.seat(state, 0).part
    assert part is not None
    for field in ("used", "waiting", "open"):
        core = model.parts.core(part)
        getattr(core.witness, field).append(b"x")
        assert (model.copier.fingerprint(core) == model.copier.fingerprint(model.parts.core(part))) == (
            same and field != "open"
        )
