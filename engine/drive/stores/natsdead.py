"""Dead tasks of a shared backlog: its letters in the stream NAME-dead, for an operator, who may have them tried again.

The rules of this file:

- A letter is under ``NAME.dead.REASON``, the reason in hexadecimal digits. Its number in the stream is what it is
  revived by; its ``Nats-Msg-Id`` has the task's key and the number of the task's message.
- To revive: the outcome is removed, the task put anew, the letter deleted, in this order. A process that dies between
  these loses nothing: the letter is still there, and is tried once more.
- Where its id was asked for anew meanwhile, the letter is only forgotten: an empty one with ``GONE`` behind its reason
  stands for it in the books. An empty one of ``REVIVED`` stands for each task that was revived.
"""

from __future__ import annotations

from base64 import b64decode
from collections import deque
from typing import Any, NamedTuple

import msgpack

from engine.drive.stores.dead import Dead
from engine.drive.stores.natslink import Answer, Ask, Link, headers_of
from engine.drive.stores.natsstreams import (
    ANSWERED,
    FENCE,
    NO_MESSAGE,
    SECOND,
    WRONG_LAST,
    Lease,
    Streams,
    delivery_of,
    result_of,
)
from engine.parts.store import DEAD, MOST_DEAD, Unavailable

REVIVED = "revived"
GONE = "\0"
LOST, TRIED = "Roundhouse-Lost", "Roundhouse-Tried"  # headers of a letter
OF = "Roundhouse-Letter"  # header of a task that was revived: the number of its letter
FETCHED = 500  # letters that are asked for at a time
KEEPS = 10 * SECOND  # for which the server keeps a consumer that asks for nothing


class Letters(NamedTuple):
    """What the books say of them: how many tasks failed by reason, how many can be revived, how many were."""

    failed: dict[str, int]
    dead: int
    revived: int


def subject_of(name: str, why: str) -> str:
    """Where letters of this reason are, in the backlog of this name."""
    return f"{name}.dead.{why.encode().hex()}"


def why_of(subject: str) -> str:
    """The reason in a subject; empty where it is none of ours."""
    try:
        return bytes.fromhex(subject.rpartition(".")[2]).decode()
    except ValueError:
        return ""


def letter_of(name: str, lease: Lease, why: str) -> Ask:
    """A dead letter: the task with its reason, written once however often it is asked for."""
    body = msgpack.packb([why, lease.origin, lease.client, *lease.message])
    told = {LOST: str(lease.lost), TRIED: str(lease.delivery)}
    return Ask(subject_of(name, why), body, {"Nats-Msg-Id": f"{lease.key.hex()}.{lease.seq}", **told})


async def letters(streams: Streams) -> Letters:
    """Raises Unavailable."""
    asked = {"subjects_filter": f"{streams.name}.dead.*"}
    found = (await streams.api(f"STREAM.INFO.{streams.dead}", asked))["state"].get("subjects") or {}
    failed: dict[str, int] = {}
    for subject, n in found.items():
        why = why_of(subject).removesuffix(GONE)
        failed[why] = failed.get(why, 0) + n
    revived = failed.pop(REVIVED, 0)
    dead = sum(found.get(subject_of(streams.name, why), 0) for why in DEAD)
    return Letters(failed, dead, revived)


async def listed(link: Link, streams: Streams) -> list[Dead]:
    """Those that can be revived, the newest first, ``MOST_DEAD`` of them. Raises Unavailable."""
    config = {
        "ack_policy": "none",
        "deliver_policy": "all",
        "inactive_threshold": KEEPS,
        "mem_storage": True,
        "num_replicas": 1,
        "filter_subjects": [subject_of(streams.name, why) for why in DEAD],
    }
    made = await streams.api(f"CONSUMER.CREATE.{streams.dead}", {"stream_name": streams.dead, "config": config})
    ask = Ask(f"$JS.API.CONSUMER.MSG.NEXT.{streams.dead}.{made['name']}", b'{"batch":%d,"no_wait":true}' % FETCHED)
    found: deque[Dead] = deque(maxlen=MOST_DEAD)
    while True:
        came, whole = await link.several(ask, FETCHED, ANSWERED)
        if not whole:
            raise Unavailable(link.why or f"the stream {streams.dead} does not answer")
        found.extend(map(_dead, came))
        if len(came) < FETCHED:
            break
    await streams.api(f"CONSUMER.DELETE.{streams.dead}.{made['name']}", {})
    return [*reversed(found)]


def _dead(letter: Answer) -> Dead:
    at = delivery_of(letter.reply)
    why, _origin, client, *message = msgpack.unpackb(letter.payload)
    leases, lost = (int(letter.headers.get(name, "0")) for name in (TRIED, LOST))
    return Dead(at.seq, at.stamp / SECOND, why, client, message, max(0, leases - 1), lost)


async def revive(streams: Streams, number: int) -> bool:
    """Have it tried again; whether it is. Raises Unavailable."""
    said = await streams.api(f"STREAM.MSG.GET.{streams.dead}", {"seq": number}, allowed=(NO_MESSAGE,))
    why = why_of(said["message"]["subject"]) if "error" not in said else ""
    if why not in DEAD:
        return False
    letter: dict[str, Any] = said["message"]
    words, _, seq = headers_of(b64decode(letter["hdrs"])).get("Nats-Msg-Id", "").partition(".")
    key, (_why, *task) = bytes.fromhex(words), msgpack.unpackb(b64decode(letter["data"]))
    there = (await streams.newest(streams.results, "result", [key])).get(key)
    stays = there is None or result_of(there).seq == int(seq)
    if stays and there is not None:
        await streams.api(f"STREAM.PURGE.{streams.results}", {"filter": f"{streams.name}.result.{words}"})
    if stays:
        stays = await _put(streams, words, msgpack.packb(task), number)
    await _write(streams, Ask(subject_of(streams.name, REVIVED if stays else why + GONE), b"", _once(number)))
    await streams.api(f"STREAM.MSG.DELETE.{streams.dead}", {"seq": number, "no_erase": True})
    return stays


async def _put(streams: Streams, key: str, task: bytes, number: int) -> bool:
    """Whether the task waits; not where another one with its key does."""
    subject, letter = f"{streams.name}.task.{key}", {OF: str(number)}
    (answer,), _ = await streams.settle([Ask(subject, task, FENCE | letter)])
    error = streams.wrong(answer)
    if error is not None and error.code == WRONG_LAST:  # or by who died before the letter was deleted
        said = await streams.api(f"STREAM.MSG.GET.{streams.tasks}", {"last_by_subj": subject}, allowed=(NO_MESSAGE,))
        return "error" not in said and headers_of(b64decode(said["message"]["hdrs"])).get(OF) == str(number)
    if error is not None:
        raise Unavailable(f"{streams.name}: {error.text}")
    return True


async def _write(streams: Streams, ask: Ask) -> None:
    (answer,), _ = await streams.settle([ask])
    if (error := streams.wrong(answer)) is not None:
        raise Unavailable(f"{streams.name}: {error.text}")


def _once(number: int) -> dict[str, str]:
    return {"Nats-Msg-Id": f"{REVIVED}.{number}"}
