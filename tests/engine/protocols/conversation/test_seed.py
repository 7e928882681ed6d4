"""Single statements of seed 001 that its walks and dialogues show only beside others; docs/seeds.md names them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from engine.core import Exit, Finished, Received, Send, Start, Started
from engine.protocols.conversation import header, messages
from engine.protocols.conversation.header import ERROR, JOB, OK, STOP, UPDATE, Decoder, pack, pack_body
from engine.protocols.conversation.machine import Cl
from engine.protocols.conversation.options import Options
from engine.protocols.conversation.worker import Worker
from tests.helpers.conversation import Bench, message, words


def joined(slots: int = 4) -> Worker:
    worker = Worker(Options(), slots)
    worker.handle(Started(), 1.0)
    hear(worker, "OK(0)", f"OK({slots})")
    return worker


def hear(worker: Worker, *texts: str) -> list[object]:
    """Messages of the server, and what the worker does."""
    return [did for text in texts for did in worker.handle(Received([[message(text)]]), 1.0)]


def sent(did: Sequence[object]) -> list[str]:
    return [words(command.frames[0]) for command in did if isinstance(command, Send)]


def test_magic_type_padding_and_arg0_stand_in_this_order_in_2_2_4_and_4_bytes_little_endian() -> None:
    raw = pack(STOP, 0x0403_0201, 0x0807_0605)
    assert raw == b"\x47\xc0" + b"\x04\x00" + b"\x05\x06\x07\x08" + b"\x01\x02\x03\x04"
    assert pack_body(JOB, b"rest") == b"\x47\xc0\x02\x00" + bytes(4) + b"\x04\x00\x00\x00" + b"rest"


def test_without_a_reason_the_padding_is_empty() -> None:
    for raw in (pack(OK, 7), pack(STOP, 7), pack_body(UPDATE, b"x")):
        assert raw[4:8] == bytes(4)


@pytest.mark.parametrize(("kind", "has"), [(OK, False), (JOB, True), (UPDATE, True), (STOP, False), (ERROR, False)])
def test_the_type_says_whether_arg0_is_the_length_of_a_rest(kind: int, has: bool) -> None:
    raw = pack(kind, 3)
    found = Decoder(100).feed(raw + (b"abc" if has else b""))
    assert found == [(kind, 0, 3, b"abc" if has else b"")]
    assert Decoder(100).feed(raw + b"abc"[:2]) == ([] if has else found), "a rest is waited for, and only by these"


def test_a_rest_is_read_by_its_type() -> None:
    task, update = message("JOB 3/7 #0 echo"), message("UPDATE 3/7 done")
    [(_, _, _, body)] = Decoder(1000).feed(task)
    assert [found.number for found in messages.tasks(body) if not isinstance(found, str)] == [7]
    [(_, _, _, body)] = Decoder(1000).feed(update)
    assert messages.update(body) == messages.Update(3, 7, True, "done")


def test_a_message_is_a_type_an_argument_and_a_rest_and_a_number_becomes_little_endian() -> None:
    [(kind, _, arg0, rest)] = Decoder(1000).feed(pack_body(UPDATE, b"abc"))
    assert (kind, arg0, rest) == (UPDATE, 3, b"abc")
    assert pack(OK, 258)[8:12] == (258).to_bytes(4, "little")


def test_nproc_and_max_nproc_begin_as_max_proc() -> None:
    worker = Worker(Options(), 4)
    assert (worker.max_nproc, worker.free) == (4, 4)


def test_a_worker_says_nothing_of_its_own_before_the_servers_ok() -> None:
    worker = Worker(Options(), 4)
    assert [did.frames for did in worker.handle(Started(), 1.0) if isinstance(did, Send)] == [[b""]], "its opening"
    assert sent(hear(worker, "OK(0)")) == ["OK(4)"]
    assert worker.state == Cl.INIT1
    hear(worker, "OK(4)")
    assert worker.state == Cl.LOOP0


def test_a_job_takes_its_processors_while_it_runs_and_no_longer() -> None:
    worker = joined()
    did = hear(worker, "JOB 3/1 #1 echo 3")
    assert worker.free == 1 and [type(each) for each in did] == [Start]
    assert sent(hear(worker, "JOB 3/2 #2 echo 2")) == ["ERROR(1) #2"]
    assert sent(worker.handle(Finished(1, True, b"done"), 1.0)) == ["UPDATE 3/1 done free 4"]
    assert worker.free == 4


def test_what_was_stopped_does_not_come_back_when_a_job_finishes() -> None:
    worker = joined()
    hear(worker, "JOB 3/1 #1 echo 3", "STOP(3)")
    assert (worker.max_nproc, worker.free) == (1, 0)
    assert sent(worker.handle(Finished(1, True, b"done"), 1.0)) == ["UPDATE 3/1 done free 1"]


def test_a_stop_of_more_than_there_are_leaves_none_and_not_fewer() -> None:
    worker = joined()
    did = hear(worker, "STOP(9)")
    assert worker.max_nproc == 0 and did[-1] == Exit("stopped")


def test_a_worker_with_processors_left_goes_on_after_its_update() -> None:
    worker = joined()
    hear(worker, "JOB 3/1 #1 echo")
    worker.handle(Finished(1, True, b"done"), 1.0)
    assert worker.state == Cl.UPDATE1
    hear(worker, "OK(4)")
    assert worker.state == Cl.LOOP0
    assert any(isinstance(did, Start) for did in hear(worker, "JOB 3/2 #2 echo"))


def test_an_error_goes_both_ways() -> None:
    assert sent(hear(joined(1), "JOB 3/1 #1 echo 2")) == ["ERROR(1) #1"]
    bench = Bench()
    bench.do("open p1")
    assert bench.do("say p1 47c0090000000000ffffff00")[-1] == "p1 < ERROR(3)"


def test_no_more_is_given_than_a_worker_has_processors() -> None:
    bench = Bench()
    bench.do("open t1")
    bench.do("say t1 OK(2)")
    said = bench.do("ask c1 1 submit echo 5")
    assert [line for line in said if line.startswith("t1 <")] == ["t1 < JOB 1/1 #1", "t1 < JOB 1/2 #2"]


def test_a_stop_at_once_leaves_without_an_update() -> None:
    worker = joined()
    hear(worker, "JOB 3/1 #1 echo")
    did = hear(worker, "STOP(now)")
    assert did[-1] == Exit("stopped at once") and not any("UPDATE" in line for line in sent(did))
    assert header.STOP_NOW == 0xFFFF_FFFF and header.STOP_ALL == 0
