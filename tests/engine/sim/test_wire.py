"""Links: what arrives, in which order, and what does not."""

from __future__ import annotations

import pytest

from engine.core import MAIN, Cancel, Connected, Disconnected, Event, Exit, Received, Reopen, Seat, Socket, Unsent
from engine.sim.wire import Link
from engine.sim.world import World
from tests.helpers.toys import Probe, dealer, router

HERE = "tcp://here:1"


def pair(seed: int = 0, queue: int = 1_000, outbox: int = 1_000) -> tuple[World, Probe, Probe]:
    """A router ``b``, a dealer ``a`` with the routing id A, connected."""
    world = World(seed, queue=queue, outbox=outbox)
    broker, peer = Probe(), Probe()
    world.add("b", router(broker, HERE))
    world.add("a", dealer(peer, HERE, b"A"))
    world.run_for(1.0)
    return world, broker, peer


def say(world: World, name: str, *messages: list[bytes]) -> None:
    for frames in messages:
        world.order(name, frames)


def numbers(n: int, *front: bytes) -> list[list[bytes]]:
    return [[*front, b"%d" % i] for i in range(n)]


def test_a_router_sees_the_routing_id_and_a_dealer_only_the_frames() -> None:
    world, broker, peer = pair()
    say(world, "a", [b"", b"hello"])
    say(world, "b", [b"A", b"", b"there"])
    world.run_for(1.0)
    assert broker.got == [[b"A", b"", b"hello"]]
    assert peer.got == [[b"", b"there"]]


def test_a_peer_without_a_routing_id_gets_a_new_one_for_every_connection() -> None:
    world = World()
    broker, peer = Probe(), Probe()
    world.add("b", router(broker, HERE))
    world.add("a", dealer(peer, HERE))
    say(world, "a", [b"1"])
    world.run_for(1.0)
    world.reset("a", "b")
    say(world, "a", [b"2"])
    world.run_for(1.0)
    (first, one), (second, two) = broker.got
    assert (one, two) == (b"1", b"2")
    assert first != second and len(first) == len(second) == 5 and first[0] == second[0] == 0


def test_a_send_to_an_unknown_routing_id_comes_back_at_once() -> None:
    world, broker, peer = pair()
    say(world, "b", [b"nobody", b"x"])
    world.run_for(0.0)
    assert broker.of(Unsent) == [Unsent([b"nobody", b"x"], "unreachable")]
    assert peer.got == []


def test_order_holds_whatever_delay_each_message_draws() -> None:
    world, broker, peer = pair(seed=7)
    world.link(Link(delay=(0.0, 0.5)))
    say(world, "a", *numbers(200))
    say(world, "b", *numbers(200, b"A"))
    world.run_for(5.0)
    assert broker.got == numbers(200, b"A")
    assert peer.got == numbers(200)


def test_messages_of_one_moment_are_one_batch_of_at_most_64() -> None:
    world, broker, _ = pair()
    world.link(Link(delay=(0.01, 0.01)))
    say(world, "a", *numbers(100))
    world.run_for(1.0)
    batches = [event.messages for event in broker.of(Received) if isinstance(event, Received)]
    assert [len(batch) for batch in batches] == [64, 36]
    assert broker.got == numbers(100, b"A")


def test_loss_loses_some_and_duplicates_double_some_in_order() -> None:
    world, broker, _ = pair(seed=3)
    world.link(Link(loss=0.3), "a", "b")
    say(world, "a", *numbers(300))
    world.run_for(5.0)
    kept = [int(frames[1]) for frames in broker.got]
    assert 150 < len(kept) < 270 and kept == sorted(set(kept))
    broker.events.clear()
    world.link(Link(duplicate=0.3), "a", "b")
    say(world, "a", *numbers(300))
    world.run_for(5.0)
    kept = [int(frames[1]) for frames in broker.got]
    assert 330 < len(kept) < 450 and kept == sorted(kept) and set(kept) == set(range(300))


def test_a_corrupt_link_changes_one_frame_of_some_messages_and_never_what_the_sender_holds() -> None:
    world, broker, _ = pair(seed=3)
    sent = [[b"front", b"", b"%03d" % i] for i in range(300)]
    world.link(Link(corrupt=0.3), "a", "b")
    say(world, "a", *sent)
    world.run_for(5.0)
    got = [frames[1:] for frames in broker.got]
    wrong = [(was, now) for was, now in zip(sent, got, strict=True) if was != now]
    assert 60 < len(wrong) < 120
    for was, now in wrong:
        assert sum(a != b for a, b in zip(was, now, strict=True)) == 1
    assert {len(now[2]) for _, now in wrong} == {0, 1, 2, 3}, "some are cut short"
    assert sent == [[b"front", b"", b"%03d" % i] for i in range(300)]


def test_a_message_of_empty_frames_can_not_be_corrupted() -> None:
    world, broker, _ = pair()
    world.link(Link(corrupt=1.0))
    say(world, "a", [b"", b""])
    world.run_for(1.0)
    assert broker.got == [[b"A", b"", b""]]


def test_a_corrupt_stream_has_a_wrong_bit_and_goes_on() -> None:
    world, bound, _, at_bound, at_peer = stream()
    world.link(Link(corrupt=1.0))
    say(world, "a", [at_peer, b"eight by"], [at_peer, b"eight by"])
    world.run_for(1.0)
    got = b"".join(chunk for _, chunk in bound.got)
    pairs = list(zip(got, b"eight byeight by", strict=True))
    assert sum((a ^ b).bit_count() for a, b in pairs) == 2 and bound.got[0][0] == at_bound


def test_a_link_of_two_seats_leaves_the_others_alone() -> None:
    world, broker, _ = pair()
    other = Probe()
    world.add("c", dealer(other, HERE, b"C"))
    world.run_for(1.0)
    world.link(Link(loss=1.0), "a", "b")
    say(world, "a", [b"lost"])
    say(world, "c", [b"kept"])
    world.run_for(1.0)
    assert broker.got == [[b"C", b"kept"]]


def test_a_cut_holds_what_was_sent_before_and_during_it_and_healing_lets_it_through_in_order() -> None:
    world, broker, peer = pair()
    world.link(Link(delay=(0.1, 0.3)))
    say(world, "a", *numbers(10))
    world.run_for(0.0)
    world.cut("a", "b")
    for frames in numbers(20)[10:]:
        say(world, "a", frames)
        world.run_for(0.1)
    say(world, "b", [b"A", b"back"])
    world.run_for(30.0)
    assert broker.got == [] and peer.got == []
    world.heal("a", "b")
    world.run_for(1.0)
    assert broker.got == numbers(20, b"A")
    assert peer.got == [[b"back"]]
    assert broker.of(Unsent) == []


def test_a_full_connection_refuses_a_router_and_fills_a_dealers_outbox() -> None:
    world, broker, peer = pair(queue=3, outbox=2)
    world.cut("a", "b")
    say(world, "b", *numbers(5, b"A"))
    say(world, "a", *numbers(7))
    world.run_for(1.0)
    assert broker.of(Unsent) == [Unsent([b"A", b"3"], "full"), Unsent([b"A", b"4"], "full")]
    assert peer.of(Unsent) == [Unsent([b"5"], "full"), Unsent([b"6"], "full")]
    world.heal("a", "b")
    world.run_for(1.0)
    assert peer.got == numbers(3)
    assert broker.got == numbers(5, b"A")


def test_a_dealer_without_its_broker_waits_with_a_bounded_outbox_and_delivers_on_connect() -> None:
    world = World(outbox=2)
    peer, broker = Probe(), Probe()
    world.add("a", dealer(peer, HERE, b"A"))
    say(world, "a", *numbers(3))
    world.run_for(3600.0)
    assert peer.of(Unsent) == [Unsent([b"2"], "full")]
    world.add("b", router(broker, HERE))
    world.run_for(1.0)
    assert broker.got == numbers(2, b"A")


def test_a_dealer_with_two_brokers_takes_them_in_turn() -> None:
    world = World()
    peer, one, two = Probe(), Probe(), Probe()
    world.add("one", router(one, "x"))
    world.add("two", router(two, "y"))
    world.add("a", Seat(peer, (Socket("dealer", connect=("x", "y"), routing_id=b"A"),)))
    world.run_for(1.0)
    say(world, "a", *numbers(4))
    world.run_for(1.0)
    assert [len(one.got), len(two.got)] == [2, 2]
    assert sorted(one.got + two.got) == numbers(4, b"A")


def test_a_reset_loses_what_was_under_way_and_the_peer_connects_again() -> None:
    world, broker, peer = pair()
    world.link(Link(delay=(0.1, 0.1)))
    say(world, "a", [b"lost"])
    say(world, "b", [b"A", b"lost"])
    world.run_for(0.05)
    world.reset("a", "b")
    say(world, "a", [b"kept"])
    say(world, "b", [b"A", b"refused"])
    world.run_for(1.0)
    assert broker.got == [[b"A", b"kept"]]
    assert broker.of(Unsent) == [Unsent([b"A", b"refused"], "unreachable")]
    assert peer.got == []


def test_of_two_peers_of_one_routing_id_the_newer_is_heard_and_the_older_is_deaf_until_reset() -> None:
    world, broker, older = pair()
    newer = Probe()
    world.add("n", dealer(newer, HERE, b"A"))
    world.run_for(1.0)
    say(world, "a", [b"older"])
    say(world, "n", [b"newer"])
    say(world, "b", [b"A", b"to whom"])
    world.run_for(5.0)
    assert broker.got == [[b"A", b"newer"]]
    assert (older.got, newer.got) == ([], [[b"to whom"]])
    world.reset("a", "b")
    world.run_for(1.0)
    say(world, "a", [b"again"])
    world.run_for(1.0)
    assert broker.got == [[b"A", b"newer"], [b"A", b"again"]]


def test_a_deaf_peer_hears_its_broker_go() -> None:
    world, _, _ = pair()
    world.add("n", dealer(Probe(), HERE, b"A"))
    world.run_for(1.0)
    world.crash("n")
    broker = Probe()
    world.restart("b", router(broker, HERE))
    world.run_for(1.0)
    say(world, "a", [b"heard"])
    world.run_for(1.0)
    assert broker.got == [[b"A", b"heard"]]


def test_reopen_takes_another_routing_id_and_another_endpoint() -> None:
    world, broker, _ = pair()
    other = Probe()
    world.add("c", router(other, "tcp://there:2"))
    world.order("a", Reopen(MAIN, b"A2"))
    world.run_for(1.0)
    say(world, "a", [b"1"])
    world.run_for(1.0)
    assert broker.got == [[b"A2", b"1"]]
    world.order("a", Reopen(MAIN, None, "tcp://there:2"))
    world.run_for(1.0)
    say(world, "a", [b"2"])
    say(world, "b", [b"A2", b"gone"])
    world.run_for(1.0)
    assert other.got == [[b"A2", b"2"]]
    assert len(broker.got) == 1 and broker.of(Unsent) == [Unsent([b"A2", b"gone"], "unreachable")]


def test_what_was_sent_before_leaving_still_arrives() -> None:
    world, broker, _ = pair()
    say(world, "a", [b"goodbye"])
    world.order("a", Exit("done"))
    world.run_for(1.0)
    assert broker.got == [[b"A", b"goodbye"]]
    say(world, "b", [b"A", b"late"])
    world.run_for(1.0)
    assert broker.of(Unsent) == [Unsent([b"A", b"late"], "unreachable")]


def test_several_sockets_of_one_seat_are_told_apart() -> None:
    world = World()
    middle, peer = Probe(), Probe()
    world.add(
        "m", Seat(middle, (Socket("router", bind=("x",), name="front"), Socket("router", bind=("y",), name="back")))
    )
    world.add("a", Seat(peer, (Socket("dealer", connect=("y",), routing_id=b"A"),)))
    say(world, "a", [b"hello"])
    world.run_for(1.0)
    assert middle.of(Received) == [Received([[b"A", b"hello"]], "back")]


def test_two_seats_can_not_bind_one_endpoint() -> None:
    world, _, _ = pair()
    with pytest.raises(AssertionError, match="bound already, by b"):
        world.add("c", router(Probe(), HERE))


# ---- streams --------------------------------------------------------------------------------------------------------


def stream(seed: int = 0) -> tuple[World, Probe, Probe, bytes, bytes]:
    """A bound and a connected stream, and the ids under which each knows the other."""
    world = World(seed)
    bound, peer = Probe(), Probe()
    world.add("b", Seat(bound, (Socket("stream", bind=(HERE,)),)))
    world.add("a", Seat(peer, (Socket("stream", connect=(HERE,)),)))
    world.run_for(1.0)
    ((at_bound, nothing),), ((at_peer, nothing_too),) = bound.got, peer.got
    assert nothing == nothing_too == b""
    bound.events.clear()
    peer.events.clear()
    return world, bound, peer, at_bound, at_peer


@pytest.mark.parametrize("seed", range(5))
def test_a_stream_splits_and_joins_bytes_and_keeps_their_order(seed: int) -> None:
    world, bound, peer, at_bound, at_peer = stream(seed)
    texts = [bytes(range(i, i + 20)) for i in range(40)]
    say(world, "a", *[[at_peer, text] for text in texts])
    say(world, "b", [at_bound, b"back"])
    world.run_for(5.0)
    chunks = [data for _, data in bound.got]
    assert {peer for peer, _ in bound.got} == {at_bound} and b"" not in chunks
    assert b"".join(chunks) == b"".join(texts)
    assert any(chunk not in texts for chunk in chunks) and len(chunks) != len(texts)
    assert b"".join(data for _, data in peer.got) == b"back"


def test_a_stream_tells_of_the_end_and_of_the_next_connection() -> None:
    world, bound, peer, at_bound, at_peer = stream()
    world.reset("a", "b")
    world.run_for(1.0)
    assert [data for _, data in bound.got] == [b"", b""]
    assert bound.got[0] == [at_bound, b""] != bound.got[1]
    assert peer.got == [[at_peer, b""], [at_peer, b""]]  # the side that connected keeps its id, as libzmq does
    say(world, "b", [at_bound, b"to the old one"])
    world.run_for(1.0)
    assert bound.of(Unsent) == [Unsent([at_bound, b"to the old one"], "unreachable")]


def test_an_empty_frame_hangs_up_on_a_stream() -> None:
    world, bound, peer, at_bound, at_peer = stream()
    say(world, "a", [at_peer, b"last"], [at_peer, b""])
    world.run_for(5.0)
    assert b"".join(data for _, data in bound.got) == b"last" and bound.got[-1] == [at_bound, b""]
    assert peer.got == []


def test_a_lost_piece_breaks_a_stream() -> None:
    world, bound, peer, at_bound, at_peer = stream()
    world.link(Link(loss=1.0))
    say(world, "a", [at_peer, b"lost"])
    world.run_for(1.0)
    assert bound.got[0] == [at_bound, b""] and len(bound.got) == 2
    assert peer.got == [[at_peer, b""], [at_peer, b""]]


def test_a_first_word_that_is_lost_breaks_a_stream_whose_other_side_has_not_heard_of_it() -> None:
    world = World()
    world.link(Link(loss=1.0))
    bound, peer = Probe(lambda frames: None if frames[1] else [frames[0], b"hello"]), Probe()
    world.add("b", Seat(bound, (Socket("stream", bind=(HERE,)),)))
    world.add("a", Seat(peer, (Socket("stream", connect=(HERE,)),)))
    world.run_for(0.03)
    ((at_bound, _), (again, _)), ((at_peer, _), (again_too, _)) = bound.got, peer.got
    assert (at_bound, at_peer) == (again, again_too)  # connected, disconnected


def test_cancelling_what_does_not_run_is_of_no_effect() -> None:
    world, _, peer = pair()
    before = len(peer.events)
    world.order("a", Cancel("nothing"))
    world.run_for(1.0)
    assert len(peer.events) == before + 1


def changes(core: Probe) -> list[Event]:
    return [event for _, event in core.events if isinstance(event, Connected | Disconnected)]


def test_both_ends_are_told_of_a_reset_and_of_the_connection_behind_it() -> None:
    world, broker, peer = pair()
    assert changes(peer) == [Connected()] and changes(broker) == []  # who says nothing is nobody
    say(world, "a", [b"1"])
    world.run_for(1.0)
    world.reset("a", "b")
    world.run_for(1.0)
    assert changes(peer) == [Connected(), Disconnected(), Connected()]
    assert changes(broker) == [Connected(peer=b"A"), Disconnected(peer=b"A")]
    say(world, "a", [b"2"])
    world.run_for(1.0)
    assert [event for _, event in broker.events][-2:] == [Connected(peer=b"A"), Received([[b"A", b"2"]])]


def test_a_takeover_is_told_to_the_router_and_to_nobody_else() -> None:
    world, broker, older = pair()
    say(world, "a", [b"1"])
    world.run_for(1.0)
    newer = Probe()
    world.add("n", dealer(newer, HERE, b"A"))
    say(world, "n", [b"2"])
    world.run_for(1.0)
    assert changes(broker) == [Connected(peer=b"A")] * 2
    world.crash("a")
    world.run_for(1.0)
    assert changes(broker) == [Connected(peer=b"A")] * 2 and changes(older) == changes(newer) == [Connected()]
    world.crash("n")
    world.run_for(1.0)
    assert changes(broker)[2:] == [Disconnected(peer=b"A")]


def test_a_cut_line_and_inproc_tell_nothing() -> None:
    world, broker, peer = pair()
    say(world, "a", [b"1"])
    world.run_for(1.0)
    world.cut("a", "b")
    world.run_for(60.0)
    assert changes(peer) == [Connected()] and changes(broker) == [Connected(peer=b"A")]
    within, inner = Probe(), Probe()
    world.add("r", router(within, "inproc://within"))
    world.add("d", dealer(inner, "inproc://within", b"D"))
    say(world, "d", [b"1"])
    world.run_for(1.0)
    world.reset("d", "r")
    world.run_for(1.0)
    assert within.got == [[b"D", b"1"]] and changes(within) == changes(inner) == []


def test_a_close_of_its_own_is_not_told() -> None:
    world, broker, peer = pair()
    say(world, "a", [b"1"])
    world.run_for(1.0)
    world.order("a", Reopen())
    world.run_for(1.0)
    assert changes(peer) == [Connected(), Connected()]
    assert changes(broker) == [Connected(peer=b"A"), Disconnected(peer=b"A")]
