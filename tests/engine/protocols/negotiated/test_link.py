"""A peer's link; the usual courses are in the transcripts, here are the others."""

from __future__ import annotations

from typing import Any

import pytest

from engine.core import NEVER, Command, Exit, Note, Reopen, Save, Send
from engine.protocols.negotiated import config as configs
from engine.protocols.negotiated import endpoints as ends
from engine.protocols.negotiated import kept, names
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated.config import Address, Config
from engine.protocols.negotiated.link import MAX_REDIRECTS, Link
from engine.protocols.negotiated.options import Options
from tests.helpers.negotiated import shown

HERE, OTHER, THIRD = "tcp://127.0.0.1:1", "tcp://127.0.0.1:2", "tcp://127.0.0.1:3"
INSIDE = "inproc://x"
CONFIG = Config(1, 1.0, 30.0, tuple(Address(end, f"{end}0") for end in (HERE, INSIDE, OTHER, THIRD)))
ALONE = Config(1, 1.0, 30.0, CONFIG.brokers[:1])
SLOWER = Config(1, 2.5, 30.0, ())
READY = {"services": ["ping"], "slots": 1, "holding": []}


def lines(commands: list[Command]) -> list[str]:
    """Commands in short; notes left out."""
    out = []
    for command in commands:
        match command:
            case Send(frames):
                out.append(shown(frames).split()[0])
            case Reopen(endpoint=endpoint):
                out.append(f"open {endpoint}")
            case Exit(reason, failed):
                out.append(f"{'fail' if failed else 'exit'}: {reason}")
            case Save(name, content):
                out.append(f"save {name}")
                assert kept.decode(content)
            case Note():
                pass
            case _:
                raise AssertionError(command)
    return out


def worker(saved: Config | None = None, **options: Any) -> Link:
    content = kept.encode({HERE: saved}) if saved is not None else None
    return Link(Options(**options), HERE, "worker-1", lambda: dict(READY), saved=content)


def told(link: Link, command: bytes, now: float, body: bytes = b"", **header: Any) -> list[str]:
    return lines(link.received((command, header, body), now))


def configure(link: Link, now: float = 0.0, config: Config = CONFIG, kind: str = "json", **more: Any) -> list[str]:
    header = {"config_type": kind, "config_version": config.version, "config_hash": config.hash, **more}
    return told(link, names.CONFIG, now, configs.encode(config, kind), **header)


def linked(**options: Any) -> Link:
    link = worker(**options)
    assert lines(link.start(0.0)) == ["CHECKCONFIG"]
    assert configure(link) == ["save negotiated", "READY"]
    assert told(link, names.READYOK, 0.0, time=0.0, heartbeat_interval=1.0) == []
    assert link.linked and link.links == 1
    link.heard = 0.0
    return link


def test_one_message_of_the_handshake_an_interval() -> None:
    link = worker()
    assert lines(link.start(0.0)) == ["CHECKCONFIG"]
    assert lines(link.tick(0.99)) == [] and link.wake_at() == 1.0
    assert lines(link.tick(1.0)) == ["CHECKCONFIG"] and lines(link.tick(1.0)) == []


def test_a_client_is_linked_by_its_configuration() -> None:
    link = Link(Options(), HERE, "client-1", None)
    link.start(0.0)
    assert configure(link) == ["save negotiated"] and link.linked
    assert link._group() == [HERE, f"{HERE}0", f"{OTHER}0", f"{THIRD}0"]


def test_the_group_is_tried_in_order_on_one_transport_and_then_from_the_start() -> None:
    link = linked()
    assert lines(link.tick(3.0)) == [f"open {OTHER}", "NEEDBROKER"]
    assert [lines(link.tick(3.0 + i)) for i in (1, 2)] == [["NEEDBROKER"], ["NEEDBROKER"]]
    assert lines(link.tick(6.0)) == [f"open {THIRD}", "NEEDBROKER"]
    assert lines(link.tick(9.0)) == [f"open {HERE}", "CHECKCONFIG"], "its preferred broker, which it was linked to"
    assert lines(link.tick(12.0)) == [f"open {OTHER}", "NEEDBROKER"]


def test_a_peer_that_was_never_linked_gives_up_after_the_group() -> None:
    link = worker(saved=CONFIG)
    link.start(0.0)
    assert lines(link.tick(3.0)) == [f"open {OTHER}", "NEEDBROKER"]
    assert lines(link.tick(6.0)) == [f"open {THIRD}", "NEEDBROKER"]
    tried = ", ".join((HERE, OTHER, THIRD))
    assert lines(link.tick(9.0)) == [f"fail: no broker of the group answers: tried {tried}"]
    assert link.state == "ended" and link.wake_at() == NEVER and link.tick(99.0) == []


def test_a_saved_configuration_without_another_broker_says_so() -> None:
    link = worker(saved=Config(1, 1.0, 30.0, (Address(HERE, f"{HERE}0"),)))
    link.start(0.0)
    (failure,) = lines(link.tick(3.0))
    assert failure.startswith("fail: ") and "names no other" in failure


def test_what_was_kept_and_can_not_be_read_counts_as_none() -> None:
    link = Link(Options(), HERE, "worker-1", lambda: dict(READY), saved=b"\xff")
    assert link.config is None and lines(link.start(0.0)) == ["CHECKCONFIG"]


def test_changebroker_names_the_preferred_broker() -> None:
    link = linked()
    link.tick(3.0)
    assert told(link, names.CHANGEBROKER, 3.1, code=301, endpoint=THIRD) == [f"open {THIRD}", "CHECKCONFIG"]
    assert link.preferred == link.endpoint == THIRD
    assert configure(link, 3.2)[-1] == "READY"


def test_the_broker_that_an_operator_named_is_never_forgotten() -> None:
    """O26. The one that it was sent to names itself alone, and dies."""
    link = linked()
    assert ends.whereabouts(link.first, link.endpoint) == [("broker", HERE)]
    link.tick(3.0)
    told(link, names.CHANGEBROKER, 3.1, code=301, endpoint=THIRD)
    assert configure(link, 3.2, Config(2, 1.0, 30.0, (Address(THIRD, f"{THIRD}0"),)))[-1] == "READY"
    told(link, names.READYOK, 3.3, time=0.0, heartbeat_interval=1.0)
    assert ends.whereabouts(link.first, link.endpoint)[1] == (
        "told of",
        f"{HERE}, which is asked again when {THIRD} is silent",
    )
    link.heard = 3.3
    assert lines(link.tick(6.0)) == ["PING"], "it does not switch back while the other one answers"
    assert lines(link.tick(6.3)) == [f"open {HERE}", "NEEDBROKER"]


@pytest.mark.parametrize("endpoint", ["", OTHER, INSIDE])
def test_changebroker_to_itself_stays(endpoint: str) -> None:
    link = linked()
    link.tick(3.0)
    assert told(link, names.CHANGEBROKER, 3.1, code=301, endpoint=endpoint) == ["CHECKCONFIG"]
    assert link.preferred == link.endpoint == OTHER


def test_brokers_that_send_it_to_and_fro_are_borne_a_while() -> None:
    link = linked()
    for i in range(MAX_REDIRECTS):
        there = OTHER if i % 2 else THIRD
        moved = told(link, names.DISCONNECTERROR, 0.5, code=301, message="", endpoint=there)
        assert moved == [f"open {there}", "CHECKCONFIG"]
    assert told(link, names.DISCONNECTERROR, 0.5, code=301, message="", endpoint=HERE) == []
    assert link.state == "out" and lines(link.tick(1.5)) == ["CHECKCONFIG"]


@pytest.mark.parametrize(
    ("code", "before", "after"),
    [
        (301, "", "linked"),  # without an endpoint: nowhere to go
        (400, "", "linked"),
        (403, "fail", "exit"),
        (408, "out", "out"),
        (415, "fail", "fail"),
        (426, "CHECKCONFIG", "linked"),
        (429, "out", "out"),
        (501, "", "linked"),
        (503, "fail", "fail"),
    ],
)
def test_what_each_code_does_before_and_after_the_first_link(code: int, before: str, after: str) -> None:
    joining, joined = worker(), linked()
    joining.start(0.0)
    configure(joining)
    for link, wanted in ((joining, before), (joined, after)):
        out = told(link, names.DISCONNECTERROR, 0.5, code=code, message="why")
        assert link.told == code
        if wanted in ("fail", "exit"):
            assert out == [f"{wanted}: the broker says {code}: why"] and link.state == "ended"
        elif wanted == "out":
            assert out == [] and link.state == "out" and link.wake_at() == 3.5
            assert lines(link.tick(3.5)) == ["CHECKCONFIG"]
        elif wanted == "CHECKCONFIG":
            assert out == ["CHECKCONFIG"] and link.state == "checking"
        else:
            assert out == [] and link.state == (wanted or "joining")


def test_what_is_not_expected_changes_nothing() -> None:
    link = linked()
    state = dict(vars(link))
    assert configure(link, 0.5) == []
    assert told(link, names.READYOK, 0.5, time=0.0, heartbeat_interval=9.0) == []
    assert told(link, names.CHANGEBROKER, 0.5, endpoint=OTHER) == []
    assert vars(link) == state
    link.received((names.FORCENEGOTIATE, {}, b""), 0.5)
    assert link.state == "checking"
    assert told(link, names.FORCENEGOTIATE, 0.6) == [], "it is negotiating"
    assert told(link, names.PONG, 0.6, time=0.0, echo=0.0, config_version=1) == [] and link.rtt is None


def test_f11_a_peer_whose_clock_jumped_says_so_when_it_is_put_out() -> None:
    link = linked()
    for offset, wanted in ((3600.0, "; our own wall clock jumped +3600 s"), (0.0, "")):
        link.set_clock(offset, 0.0)
        (note,) = link.received((names.DISCONNECTERROR, {"code": 408, "message": "wrong"}, b""), 0.5)
        assert note == Note("bad", f"the broker says 408: wrong{wanted}")


STRANGERS = ("tcp://192.0.2.7:6717", "tcp://example.org:1", "tcp://127.0.0.1.example.org:1", "tcp://0.0.0.0:1")


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("command", [names.CHANGEBROKER, names.DISCONNECTERROR])
def test_a_broker_that_sends_us_to_a_stranger_is_not_followed(command: bytes, stranger: str) -> None:
    """O14."""
    link = linked()
    if command == names.CHANGEBROKER:
        link.received((names.FORCENEGOTIATE, {}, b""), 0.5)
    out = link.received((command, {"code": 301, "message": "", "endpoint": stranger}, b""), 0.5)
    assert [type(one) for one in out] == [Note, Note] and stranger in str(out[1]) and "negotiated.group" in str(out[1])
    assert (link.endpoint, link.preferred, link.state) == (HERE, HERE, "out")
    assert [incident.reason for incident in link.violations.newest()] == ["sends us to a stranger"]
    assert lines(link.tick(3.5)) == ["CHECKCONFIG"], "the same broker, after a while"


@pytest.mark.parametrize("setting", ["primary", "fallback", "group"])
def test_a_broker_may_send_us_to_who_is_configured(setting: str) -> None:
    far = "tcp://192.0.2.7:6717"
    link = linked(**{setting: far})
    moved = told(link, names.DISCONNECTERROR, 0.5, code=301, message="", endpoint=far)
    assert moved == [f"open {far}", "CHECKCONFIG"] and link.violations.total == 0


def test_an_ipc_path_is_a_stranger_unless_it_is_configured() -> None:
    here, there = "ipc:///run/a", "ipc:///run/b"
    for options, wanted in ((Options(), []), (Options(group=there), [f"open {there}", "CHECKCONFIG"])):
        link = Link(options, here, "worker-1", lambda: dict(READY))
        link.start(0.0)
        assert told(link, names.DISCONNECTERROR, 0.5, code=301, message="", endpoint=there) == wanted


def test_strangers_of_a_configuration_are_never_tried() -> None:
    group = (*CONFIG.brokers[:1], *(Address(stranger, stranger) for stranger in STRANGERS))
    config = Config(2, 1.0, 30.0, group)
    link = worker()
    link.start(0.0)
    out = link.received(config_of(config), 0.0)
    assert lines(out) == ["save negotiated", "READY"] and "names 4 brokers" in str(out)
    assert link._group() == [HERE]
    again = worker(saved=config)
    again.start(0.0)
    assert lines(again.tick(3.0))[0].startswith("fail: "), "nor when they were kept"


def test_what_is_kept_counts_for_the_broker_that_said_it_only() -> None:
    content = kept.encode({OTHER: CONFIG})
    link = Link(Options(), HERE, "worker-1", lambda: dict(READY), saved=content)
    assert link.config is None and link._group() == [HERE]
    link.start(0.0)
    (save,) = [one for one in link.received(config_of(CONFIG), 0.0) if isinstance(one, Save)]
    assert kept.decode(save.content) == {OTHER: CONFIG, HERE: CONFIG}
    assert Link(Options(), OTHER, "worker-1", lambda: dict(READY), saved=content).config == CONFIG


def config_of(config: Config) -> wire.Message:
    header = {"config_type": "json", "config_version": config.version, "config_hash": config.hash}
    return names.CONFIG, header, configs.encode(config, "json")


def test_a_connection_that_stands_again_is_a_new_link() -> None:
    """O22. What was under way on the one before may be lost, and only a new negotiation tells."""
    link = linked()
    assert link.connected(0.1) == [], "the first one"
    link.disconnected()
    assert link.state == "linked" and lines(link.connected(0.2)) == ["CHECKCONFIG"]
    assert link.connected(0.3) == []
    link.disconnected()
    assert link.connected(0.4) == [], "it is negotiating"


def up(link: Link, now: float) -> None:
    assert configure(link, now, ALONE)[-1] == "READY"
    told(link, names.READYOK, now, time=0.0, heartbeat_interval=1.0)


def alone() -> Link:
    """Linked at 0 to a broker that knows no other."""
    link = worker()
    link.start(0.0)
    configure(link, config=ALONE)
    told(link, names.READYOK, 0.0, time=0.0, heartbeat_interval=1.0)
    return link


def reopened(commands: list[Command]) -> bytes | None:
    (command,) = (one for one in commands if isinstance(one, Reopen))
    return command.routing_id


def test_f8_a_peer_that_is_deaf_twice_in_a_row_takes_another_id() -> None:
    """O20. Of two live peers of one id the newest is heard, and the other one is told nothing."""
    link = alone()
    assert reopened(link.tick(3.0)) is None
    up(link, 3.1)
    out = link.tick(6.1)
    assert reopened(out) == b"worker-1-2"
    assert Note("bad", "another peer has our id worker-1: we are worker-1-2 from now on") in out
    up(link, 6.2)
    assert reopened(link.tick(9.2)) is None, "it is counted anew for the new id"


def test_f8_is_inferred_in_the_brokers_longer_interval_too() -> None:
    link = worker()
    link.start(0.0)
    for at, wanted in ((0.0, None), (15.1, b"worker-1-2")):
        assert configure(link, at, ALONE)[-1] == "READY"
        told(link, names.READYOK, at, time=0.0, heartbeat_interval=5.0)
        link.heard = at
        assert reopened(link.tick(at + 15.0)) == wanted


@pytest.mark.parametrize("why", ["the connection ended", "the broker was away", "long ago"])
def test_silence_that_has_another_reason_leaves_the_id(why: str) -> None:
    link = alone()
    if why == "the connection ended":
        link.disconnected()
    assert reopened(link.tick(3.0)) is None
    at = 5.5 if why == "the broker was away" else 3.1
    up(link, at)
    if why == "long ago":
        at = link.heard = 60.0
    assert reopened(link.tick(at + 3.0)) is None


def test_pong_tells_round_trip_and_skew() -> None:
    link = linked()
    link.wall_offset = 1000.0
    assert lines(link.tick(1.0)) == ["PING"]
    told(link, names.PONG, 1.5, time=1011.25, echo=1001.0, config_version=1)
    assert (link.rtt, link.skew) == (0.5, 10.0)


def test_the_brokers_interval_counts_where_it_is_longer() -> None:
    link = worker()
    link.start(0.0)
    configure(link)
    told(link, names.READYOK, 0.0, time=0.0, heartbeat_interval=5.0)
    link.heard = 0.0
    assert link.wake_at() == 5.0 and lines(link.tick(5.0)) == ["PING"]
    assert lines(link.tick(14.9)) == ["PING"] and lines(link.tick(15.0))[0].startswith("open")


@pytest.mark.parametrize("kind", ["json", "xml", "zfl"])
def test_each_form_is_understood_and_kept(kind: str) -> None:
    link = worker(config_type=kind)
    link.start(0.0)
    assert configure(link, kind=kind) == ["save negotiated", "READY"] and link.config == CONFIG


def test_a_configuration_that_is_not_what_it_says_is_not_taken() -> None:
    link = worker()
    link.start(0.0)
    assert configure(link, config_hash="0" * 64) == []
    assert configure(link, kind="xml") == []
    assert link.state == "checking" and link.config is None and lines(link.tick(1.0)) == ["CHECKCONFIG"]


def test_another_configuration_under_the_saved_version_is_fetched_at_once() -> None:
    saved = Config(1, 2.0, 30.0, ())
    link = worker(saved=saved)
    link.start(0.0)
    header = {"config_type": "json", "config_version": 1, "config_hash": CONFIG.hash}
    (sent,) = [command for command in link.received((names.CONFIG, header, b""), 0.1) if isinstance(command, Send)]
    assert {**(wire.decode_header(sent.frames[1]) or {}), names.CHECK: 0} == {"config_type": "json", names.CHECK: 0}
    assert configure(link, 0.2) == ["save negotiated", "READY"]


def test_a_pause_is_not_the_brokers_silence() -> None:
    link = linked()
    link.grace(10.0)
    assert lines(link.tick(12.9)) == ["PING"] and lines(link.tick(13.0))[0].startswith("open")


HOUR = 3600.0


@pytest.mark.parametrize("shift", [HOUR, -HOUR])
def test_a_broker_whose_time_is_way_off_in_pong_is_left_alone_for_a_while(shift: float) -> None:
    """O29."""
    link = linked()
    assert told(link, names.PONG, 1.1, time=1.05 + shift, echo=1.0, config_version=1) == []
    assert link.state == "out" and link.violations.total == 1 and link.wake_at() == 4.1
    assert lines(link.tick(4.1)) == ["CHECKCONFIG"]


def test_a_pong_that_was_long_on_its_way_says_nothing_of_clocks() -> None:
    link = linked()
    told(link, names.PONG, 61.0, time=31.0, echo=1.0, config_version=1)
    assert link.linked and link.violations.total == 0


def test_nobody_is_judged_just_after_our_own_clock_has_jumped() -> None:
    link = linked()
    link.set_clock(HOUR, 1.0)
    told(link, names.PONG, 1.2, time=1.1, echo=1.0 + HOUR, config_version=1)
    assert link.linked
    told(link, names.PONG, 2.2, time=2.1, echo=2.0 + HOUR, config_version=1)
    assert link.state == "out"


def test_another_version_in_pong_is_negotiated_anew() -> None:
    link = linked()
    assert told(link, names.PONG, 1.0, time=1.0, echo=1.0, config_version=2) == ["CHECKCONFIG"]
    assert link.state == "checking"


def test_time_and_version_of_work_are_looked_at() -> None:
    link = linked()
    out: list[Command] = []
    header = {"time": 1.0 - HOUR, "config_version": 1}
    assert link.work(header, out, 1.0) and link.linked, "it may have been late on its way"
    assert link.work({**header, "config_version": 2}, out, 1.0) and lines(out) == ["CHECKCONFIG"]
    other, out = linked(), []
    assert not other.work({**header, "time": 1.0 + HOUR}, out, 1.0) and other.state == "out"


def test_readyok_of_a_broker_whose_clock_is_ahead_links_nobody() -> None:
    link = worker()
    link.start(0.0)
    configure(link)
    told(link, names.READYOK, 0.0, time=HOUR, heartbeat_interval=1.0)
    assert link.state == "out"


def test_a_longer_interval_of_the_configuration_is_asked_for() -> None:
    """O30."""
    link = worker()
    link.start(0.0)
    (ready,) = [
        command
        for command in link.received(
            (
                names.CONFIG,
                {"config_type": "json", "config_version": 1, "config_hash": SLOWER.hash},
                configs.encode(SLOWER, "json"),
            ),
            0.0,
        )
        if isinstance(command, Send)
    ]
    assert (wire.decode_header(ready.frames[1]) or {})["heartbeat_interval"] == 2.5
