"""Arrows out of two ends: what arrived, what was overtaken, what the socket refused; and whose task it was."""

from __future__ import annotations

from itertools import count

from engine.core import Frames
from engine.parts.explain import Decoded, Direction, Leg, Role
from engine.parts.inflight import TaskKey
from engine.tracing.links import Arrow, Entry, arrows, life

NUMBERS = count(1)
TASK = (b"c", b"\7")


def seen(
    seat: str,
    direction: Direction,
    *frames: bytes,
    link: bytes = b"w",
    part: int = 0,
    number: int = 0,
    leg: Leg = "",
    alias: bytes = b"",
    task: TaskKey | None = None,
    at: float | None = None,
) -> Entry:
    """What one end saw; the broker's frames begin with the peer's id."""
    role: Role = "broker" if seat == "broker" else "worker"
    peer = link if role == "broker" else None
    decoded = Decoded(frames[-1].decode(), (), peer, alias=alias, leg=leg)
    whole: Frames = [link, *frames] if role == "broker" else list(frames)
    there = "w" if role == "broker" else "broker"
    ends = (there, seat) if direction == "in" else (seat, there)
    number = number or next(NUMBERS)
    at = float(number) if at is None else at
    return Entry(
        number, part, at, seat, seat, role, direction, *ends, decoded.command, (), 1, "", "", task, decoded, whole,
        "main", link, None,
    )  # fmt: skip


def shown(found: list[Arrow]) -> list[tuple[str, str, str, str]]:
    return [(arrow.entry.command, arrow.source, arrow.target, arrow.state) for arrow in found]


def test_a_send_and_its_reception_are_one_arrow() -> None:
    (arrow,) = arrows([seen("w", "out", b"PING", at=1.0), seen("broker", "in", b"PING", at=1.5)])
    assert shown([arrow]) == [("PING", "w", "broker", "arrived")]
    assert (arrow.transit, arrow.at) == (0.5, 1.0)


def test_equal_messages_are_matched_in_order() -> None:
    sent = [seen("w", "out", b"PING", at=at) for at in (1.0, 2.0)]
    found = arrows([*sent, *(seen("broker", "in", b"PING", at=at) for at in (3.0, 5.0))])
    assert [arrow.transit for arrow in found] == [2.0, 3.0]


def test_what_is_overtaken_is_lost_and_what_is_not_is_under_way() -> None:
    found = arrows([seen("w", "out", b"a"), seen("w", "out", b"b"), seen("w", "out", b"c"), seen("broker", "in", b"b")])
    assert [arrow.state for arrow in found] == ["lost", "arrived", "under way"]
    assert found[2].transit is None


def test_directions_and_links_are_kept_apart() -> None:
    found = arrows(
        [
            seen("w", "out", b"x"),
            seen("broker", "out", b"x"),
            seen("broker", "in", b"x", link=b"v"),
            seen("w", "in", b"x"),
        ]
    )
    assert [arrow.state for arrow in found] == ["under way", "arrived", "heard"]


def test_a_duplicate_is_heard() -> None:
    found = arrows([seen("w", "out", b"x"), seen("broker", "in", b"x"), seen("broker", "in", b"x")])
    assert [arrow.state for arrow in found] == ["arrived", "heard"]


def test_what_the_socket_refused() -> None:
    found = arrows([seen("broker", "out", b"x"), seen("broker", "refused", b"x"), seen("broker", "refused", b"y")])
    assert [(arrow.state, arrow.entry.direction) for arrow in found] == [("refused", "out"), ("refused", "refused")]


def test_parts_of_one_message_are_matched_one_by_one() -> None:
    sent = [seen("w", "out", b"xy", number=900, part=part) for part in (0, 1)]
    heard = [seen("broker", "in", b"xy", number=901, part=part) for part in (0, 1)]
    found = arrows([*sent, *heard])
    assert [(arrow.state, [end.part for end in arrow.ends]) for arrow in found] == [
        ("arrived", [0, 0]),
        ("arrived", [1, 1]),
    ]


def test_the_other_end_and_the_answer_are_told_the_task() -> None:
    found = arrows(
        [
            seen("broker", "out", b"job", leg="give", task=TASK),
            seen("w", "in", b"job", leg="give"),
            seen("w", "out", b"result", leg="answer"),
            seen("broker", "in", b"result", leg="answer"),
            seen("broker", "in", b"result", leg="answer", link=b"v"),
        ]
    )
    assert [[end.task for end in arrow.ends] for arrow in found] == [[TASK, TASK], [TASK, TASK], [None]]
    assert [arrow.task for arrow in found] == [TASK, TASK, None]


def test_an_alias_tells_a_workers_tasks_apart() -> None:
    other = (b"c", b"\x08")
    found = arrows(
        [
            seen("broker", "out", b"JOB 1", leg="give", alias=b"1", task=TASK),
            seen("broker", "out", b"JOB 2", leg="give", alias=b"2", task=other),
            seen("broker", "in", b"UPDATE 1", leg="answer", alias=b"1"),
        ]
    )
    assert [arrow.task for arrow in found] == [TASK, other, TASK]


def test_a_note_is_no_message() -> None:
    note = seen("w", "note", b"joined")._replace(source="w", target="w")
    assert shown(arrows([note])) == [("joined", "w", "w", "note")]


def legs(*entries: Entry) -> list[tuple[str, float]]:
    found = life(TASK, arrows(entries))
    return [(leg.what, leg.after) for leg in found.legs]


def test_a_life_has_a_leg_for_each_end() -> None:
    def end(seat: str, way: Direction, leg: Leg, at: float, link: bytes = b"w") -> Entry:
        return seen(seat, way, leg.encode(), leg=leg, task=TASK, at=at, link=link)

    whole = [
        end("client", "out", "request", 1.0, b"c"),
        end("broker", "in", "request", 2.0, b"c"),
        end("broker", "out", "give", 4.0),
        end("w", "in", "give", 5.0),
        end("w", "out", "answer", 6.0),
        end("broker", "in", "answer", 7.0),
        end("broker", "out", "reply", 7.0, b"c"),
        end("client", "in", "reply", 8.5, b"c"),
    ]
    found = life(TASK, arrows(whole))
    assert [(leg.what, leg.after) for leg in found.legs] == [
        ("sent", 0.0),
        ("queued", 1.0),
        ("given", 2.0),
        ("taken", 1.0),
        ("answered", 1.0),
        ("returned", 1.0),
        ("relayed", 0.0),
        ("received", 1.5),
    ]
    assert (found.deliveries, found.seconds, found.ended) == (1, 7.5, True)
    assert not life(TASK, arrows(whole[:6])).ended
    at_once = [whole[1], whole[2]._replace(at=2.0)]
    assert [leg.what for leg in life(TASK, arrows(at_once)).legs] == ["accepted", "given"]


def test_a_second_delivery_and_a_refused_one() -> None:
    given = [
        seen("broker", "out", b"job", leg="give", task=TASK, at=at, link=link)
        for at, link in ((1.0, b"w"), (3.0, b"v"))
    ]
    refused = seen("broker", "refused", b"job", leg="give", at=1.0)
    assert legs(given[0], given[1]) == [("given", 0.0), ("given again", 2.0)]
    assert legs(given[0], refused) == [("given", 0.0), ("refused by the socket", 0.0)]


def test_nothing_is_known_of_a_strange_task() -> None:
    found = life((b"c", b"?"), arrows([seen("w", "out", b"x")]))
    assert (found.legs, found.deliveries, found.seconds, found.ended) == ((), 0, 0.0, False)
