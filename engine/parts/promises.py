"""The promises about faults that all protocols share: they need what every broker shows, and four times."""

from __future__ import annotations

from engine.parts.fault import Aim
from engine.parts.promise import Observation, Promise
from engine.parts.store import FOUND
from engine.parts.view import WorkerRow

SLACK = 0.25  # seconds: messages that are under way, and the watch's own step


def _rows(sight: Observation) -> dict[bytes, WorkerRow]:
    return {row.key: row for row in sight.broker.workers if row.state != "lost"} if sight.broker else {}


def _failed(sight: Observation) -> int:
    return sum(n for _, n in sight.broker.ledger.failed) if sight.broker else 0


def books(within: float) -> Promise:
    def balanced(_: Observation, now: Observation) -> bool:
        ledgers = [view.ledger for view in (now.broker, now.client and now.client.run) if view]
        return all(ledger.balanced for ledger in ledgers)

    return Promise(
        "the ledger balances after every message: nothing is lost, nothing is counted twice",
        within,
        balanced,
        always=True,
    )


def nothing_fails(within: float) -> Promise:
    return Promise(
        "no task that was accepted fails", within, lambda before, now: _failed(now) <= _failed(before), always=True
    )


def kept_again(within: float) -> Promise:
    """Of a broker with a store that is started anew: it may have taken more than its picture told."""

    def there(before: Observation, now: Observation) -> bool:
        held = before.broker.kept.tasks if before.broker and before.broker.kept else 0
        return now.broker is not None and now.broker.kept is not None and now.count(FOUND) >= held

    return Promise("every task that was accepted and had not ended is there again", within, there)


def lost(aim: Aim, within: float) -> Promise:
    """A silent worker is lost: its row is gone, and so is what it held."""
    words = f"{aim.label} is lost within {within:g} s, and what it held is given to others"
    return Promise(words, within + SLACK, lambda _, now: now.broker is not None and now.row(aim.key) is None)


def gone(aim: Aim, since: float, within: float) -> Promise:
    """A peer that joined and is never heard again stops being a worker."""
    words = f"silent, {aim.label} is no worker any more after {within:g} s"
    end = since + within + SLACK
    return Promise(words, end, lambda _, now: now.broker is not None and now.row(aim.key) is None, since)


def no_worker(aim: Aim, within: float) -> Promise:
    """A peer that sends garbage never becomes a worker."""
    return Promise(f"{aim.label} is never a worker", within, lambda _, now: now.row(aim.key) is None, always=True)


def one_row(aim: Aim, within: float) -> Promise:
    """One routing id is one worker, however many peers use it."""

    def one(_: Observation, now: Observation) -> bool:
        rows = now.broker.workers if now.broker else ()
        return sum(row.key == aim.key for row in rows) <= 1

    return Promise(f"there is one row of {aim.label}, never two", within, one, always=True)


def kept_until_its_time(aim: Aim, within: float) -> Promise:
    def judged(_: Observation, now: Observation) -> bool:
        row = now.row(aim.key)
        return row is None or now.broker is None or now.broker.at <= row.lost_at + SLACK

    return Promise(f"{aim.label} is not counted on past the time that its row shows", within, judged, always=True)


def never_lost(aim: Aim, within: float) -> Promise:
    return Promise(
        f"{aim.label} is not lost",
        within,
        lambda before, now: before.row(aim.key) is None or now.row(aim.key) is not None,
        always=True,
    )


def back(aim: Aim, since: float, within: float) -> Promise:
    """A worker is in the table with every slot free or at work; a client is linked."""
    if aim.kind == "client":
        words = f"the client is linked again within {within:g} s"
        return Promise(words, since + within, lambda _, now: bool(now.client and now.client.linked), since)

    def at_work(_: Observation, now: Observation) -> bool:
        row = now.row(aim.scene.workers().get(aim.seat, aim.key))  # it may have taken another name
        return row is not None and row.state in ("ready", "busy") and row.free + row.in_flight == row.slots

    words = f"{aim.label} is in the table within {within:g} s, every slot of it free or at work"
    return Promise(words, since + within, at_work, since)


def everybody_back(aim: Aim, since: float, within: float) -> Promise:
    alive = set(aim.scene.workers().values())

    def home(before: Observation, now: Observation) -> bool:
        states = {key: row.state for key, row in _rows(now).items()}
        there = all(states.get(key) in ("ready", "busy") for key in _rows(before).keys() & alive)
        return there and bool(now.client and now.client.linked)

    words = f"every worker is in the table and the client linked within {within:g} s"
    return Promise(words, since + within, home, since)


def others_untouched(aim: Aim, within: float) -> Promise:
    def same(before: Observation, now: Observation) -> bool:
        rows = _rows(now)
        return all(
            key in rows and rows[key].slots == row.slots and rows[key].violations == row.violations
            for key, row in _rows(before).items()
            if key != aim.key
        )

    return Promise("nobody else is lost, blamed or given other slots for it", within, same, always=True)


def blamed(aim: Aim, times: int, within: float) -> Promise:
    words = f"the broker has counted {times} violations of {aim.label}" if times > 1 else f"{aim.label} is blamed"
    return Promise(words, within, lambda before, now: now.blamed(aim.key) >= before.blamed(aim.key) + times)


def slots_bounded(aim: Aim, within: float) -> Promise:
    """A worker is never given more than its slots, whatever it claims."""

    def bounded(_: Observation, now: Observation) -> bool:
        row = now.row(aim.key)
        return row is None or (0 <= row.free <= row.slots and row.in_flight <= row.slots)

    return Promise(f"{aim.label} is never given more than its slots", within, bounded, always=True)
