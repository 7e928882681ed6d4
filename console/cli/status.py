"""``roundhouse status``: one picture of a running process, for people or as JSON."""

from __future__ import annotations

import csv
import io
import json
from argparse import Namespace
from typing import Any

from console import units
from console.cli.asking import chosen, status_at
from console.cli.common import far_of, fleet_of, settings_of
from console.cli.signals import Signals
from console.cli.streams import deliver, result
from console.text import clean
from engine.settings.settings import Flag

EVERY = 2.0  # seconds between two pictures of --watch
ROWS = 20  # workers that are listed for people
TROUBLE = ("lost", "late", "silent", "drain", "linking")


def status(options: Namespace, flags: list[Flag]) -> int:
    """Print it, once or again and again until a signal comes. Raises Refused where nobody answers."""
    settings = settings_of(flags)
    path = chosen(settings.paths.control, options.target, far_of(settings), fleet_of(settings))
    with Signals() as signals:
        while True:
            found = status_at(path)
            if options.csv is not None:
                result(table(found, options.csv))
            elif options.json is not None:
                if not deliver(json.dumps(found) + "\n", options.json):
                    return 1
            else:
                result(picture(found))
            if not options.watch or signals.wait(EVERY):
                return signals.status(0)


def table(status: dict[str, Any], name: str) -> str:
    """One list of a status as CSV, with a line of column names. A cell that a spreadsheet would calculate is quoted."""
    rows = status[name]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    into = io.StringIO()
    writer = csv.writer(into, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([cell(row.get(column)) for column in columns] for row in rows)
    return into.getvalue()


def cell(value: Any) -> Any:
    """A value in a table for programs and spreadsheets; what is not known is empty."""
    if isinstance(value, dict):
        return json.dumps(value)
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def picture(status: dict[str, Any]) -> str:
    """A status in a few lines."""
    totals, ledger = status["totals"], status["ledger"]
    where = " ".join(status["endpoints"]) or "nowhere"
    up = units.age(status["uptime_s"])
    lines = [f"{status['system']} {status['role']} at {where}, process {status['pid']}, up {up}"]
    if not status["serving"]:
        lines.append("stands by: another broker serves")
    states = f"{totals['lost']:,} lost, {totals['late']:,} late"
    lines.append(f"workers    {totals['alive']:,} of {totals['workers']:,} alive, {states}; "
                 f"{totals['free']:,} of {totals['slots']:,} slots free")  # fmt: skip
    if ledger is not None:
        failed = sum(ledger["failed"].values())
        lines.append(f"tasks      {ledger['sent']:,} sent, {ledger['succeeded']:,} succeeded, {failed:,} failed, "
                     f"{ledger['dropped']:,} dropped{balance(ledger)}")  # fmt: skip
        lines.append(f"now        {status['backlog']:,} in the backlog{oldest(status)}, "
                     f"{status['in_flight']:,} in flight{rates(status)}")  # fmt: skip
    for queue in status["queues"]:
        counts = ", ".join(f"{queue[key]:,} {key.replace('_', ' ')}" for key in ("ready", "working", "failed_twice"))
        lines.append(f"queue      {queue['name']}: {counts}{'; ' + queue['trouble'] if queue['trouble'] else ''}")
    if store := status.get("store"):  # an older process does not tell
        trouble = f"; TROUBLE: {store['trouble']}" if store["trouble"] else ""
        lines.append(f"store      {store['tasks']:,} tasks kept, {store['waiting']:,} of them not loaded{trouble}")
    lines += asked(status.get("control"))  # an older process does not tell
    lines += [f"dead       {words}" for words in status["health"]["dead"]]
    lines += [f"unwritten  {words}" for words in status["unkept"]]
    lines += [f"alert      {alert['severity']} {alert['state']}: {alert['text']}" for alert in status["alerts"]]
    lines += listed(status["workers"])
    return "".join(f"{clean(line)}\n" for line in lines)


REASONS = {
    "frames": "not one frame",
    "message": "no message",
    "version": "of another version",
    "fields": "with wrong fields",
    "old_version": "of an old ZMTP",
    "stranger": "of another user",
    "no_key": "without a key that may",
    "endless": "cut off for a message without an end",
    "put_off": "put off for want of descriptors",
}
"""Why requests are malformed and connections refused, in words."""


def asked(control: dict[str, Any] | None) -> list[str]:
    """Who looks and gives orders over the control socket, and who was refused."""
    if control is None:
        return []
    counts = (f"{units.several(control['viewers'], 'viewer')}, {control['orders']:,} orders, "
              f"{control['refused']:,} refused, {control['failed']:,} failed, "
              f"{control['unsent']:,} answers not taken; {control['requests']:,} requests in all")  # fmt: skip
    lines = [f"control    {counts}"]
    for name, of in (("malformed", control["malformed"]), ("refused", control["connections"])):
        if some := [f"{count:,} {REASONS.get(why, why)}" for why, count in of.items() if count]:
            lines.append(f"{name:<10} {'connections' if name == 'refused' else 'requests'}: {', '.join(some)}")
    return lines


def balance(ledger: dict[str, Any]) -> str:
    """Whether every task is accounted for, where that is known and is not so."""
    return " · THE LEDGER DOES NOT BALANCE" if ledger["balanced"] is False else ""


def oldest(status: dict[str, Any]) -> str:
    """How long the oldest task has waited."""
    return f" (the oldest for {units.age(status['oldest_s'])})" if status["oldest_s"] else ""


def rates(status: dict[str, Any]) -> str:
    """How fast it is."""
    told = status["rates"] or {}
    done, seconds = told.get("done_per_s"), told.get("done_seconds")
    over = f" over the last {seconds:.0f} s" if seconds else ""
    return "" if done is None else f", {units.short(done)} done a second{over}"


def listed(workers: list[dict[str, Any]]) -> list[str]:
    """Some workers, those in trouble first."""
    shown = sorted(workers, key=lambda worker: worker["state"] not in TROUBLE)[:ROWS]
    lines = [
        f"  {worker['name']:<20} {worker['state']:<8} {worker['free']:>4} of {worker['slots']:<4} free"
        + ("" if worker["done"] is None else f"  {worker['done']:>9,} done")
        for worker in shown
    ]
    more = len(workers) - len(shown)
    return [*lines, f"  and {more:,} more"] if more > 0 else lines
