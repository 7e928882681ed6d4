"""What an operator sees of a broker of seed 004. Rows of workers that did not change are kept."""

from __future__ import annotations

from collections.abc import Collection
from heapq import nlargest
from itertools import islice
from operator import itemgetter

from engine.parts.explain import show
from engine.parts.inflight import Task
from engine.parts.valve import terms
from engine.parts.view import SHOWN_ORDER, BrokerView, Detail, State, TaskRow, WorkerRow
from engine.protocols.negotiated.member import Member
from engine.protocols.negotiated.pair import ROLES, Pair
from engine.protocols.negotiated.service import Service

LATE = 2  # intervals of silence after which a worker is shown as late
SHOWN_SERVICES = 16  # whose queues are shown
SHOWN_CLIENTS = 16  # whose requests are shown, those first that have most waiting


def broker(service: Service, pair: Pair | None, inspected: bytes | None, now: float) -> BrokerView:
    """The picture of a broker, serving or not. Workers and tasks of one that does not are in its terms only."""
    dispatcher = service.dispatcher
    serving = pair is None or pair.standby.active
    in_flight, queued = (dispatcher.in_flight.count, dispatcher.queued + service.kept) if serving else (0, 0)
    rows = tuple(_row(service, member, now) for member in dispatcher.members.values()) if serving else ()
    clients, oldest = service.callers.view(lambda: _tasks(service) if serving else ((), (), ()), now)
    limits = service.valve.view() if service.valve is not None else ()
    return BrokerView(
        at=now,
        workers=rows,
        backlog=queued,
        in_flight=in_flight,
        ledger=service.ledger.view(in_flight, queued),
        counters=(("violations", service.violations.total), *sorted(service.counters.items())),
        incidents=service.violations.newest(),
        detail=_detail(service, inspected) if inspected is not None else None,
        legs=service.legs.view(),
        terms=(*terms(limits), *_terms(service, pair, now)),
        serving=serving,
        walked=(
            *(dispatcher.walked() if serving else ()),
            *(pair.standby.walk.walked() if pair is not None else ()),
        ),
        apart=sum(len(dispatcher.queues[name].suspects.waiting) for name in dispatcher.suspected) if serving else 0,
        order=_order(service) if serving else (),
        peaks=dispatcher.peak.view() if serving else (),
        clients=clients if serving else (),
        oldest=oldest,
        limits=limits,
    )


def _order(service: Service) -> tuple[bytes, ...]:
    """The LRU queue of the first service: there is one of each."""
    first = next(iter(service.dispatcher.queues.values()), None)
    return tuple(islice(first.ready, SHOWN_ORDER)) if first is not None else ()


def _terms(service: Service, pair: Pair | None, now: float) -> tuple[tuple[str, str], ...]:
    dispatcher = service.dispatcher
    terms = [("config_version", str(service.config.version))]
    if pair is not None:
        peer = "silent" if pair.standby.doubtful(now) else pair.standby.peer_state or "not heard"
        terms += [("role", ROLES[pair.role]), ("state", pair.standby.state), ("peer", peer)]
        terms.append(("replica", pair.copy(dispatcher)))
    if pair is None or pair.standby.active:
        drifted = sum(member.version != service.config.version for member in dispatcher.members.values())
        terms.append(("drifted workers", str(drifted)))
    for name in list(dispatcher.queues)[:SHOWN_SERVICES]:
        queue = dispatcher.queues[name]
        words = f"{len(queue.ready)} ready, {queue.queued} queued, {queue.held} waited for"
        terms.append((f"service {name}", words))
    if pair is None or pair.standby.active:
        waiting = [(owner.waiting, client, owner) for client, owner in dispatcher.owners.items() if owner.waiting]
        for _, client, owner in nlargest(SHOWN_CLIENTS, waiting, key=itemgetter(0)):
            words = (
                f"{owner.waiting} wait, of {len(owner.tasks)} for {len(owner.services)} services, {owner.size} bytes"
            )
            terms.append((f"client {show(client)}", words))
    return tuple(terms)


def _row(service: Service, member: Member, now: float) -> WorkerRow:
    interval = service.options.heartbeat + member.extra / service.options.silence
    state: State
    if member.draining or not member.services:
        state = "drain"
    elif now - member.heard >= LATE * interval or member.away:
        state = "late"
    else:
        state = "ready" if member.free else "busy"
    row = member.row
    wrong, took = service.violations.count(member.key), member.served.view(now)
    if row is None or row.took is not took or (row.state, row.heard, row.violations) != (state, member.heard, wrong):
        row = member.row = _fresh(service, member, state)._replace(took=took)
    return row


def _fresh(service: Service, member: Member, state: State) -> WorkerRow:
    current = service.config.version
    drift = "" if member.version == current else f" (served: {current})"
    return WorkerRow(
        key=member.key,
        name=member.name,
        state=state,
        slots=member.slots,
        free=member.free,
        in_flight=member.slots - member.free,
        done=member.done,
        failed=member.failed,
        violations=service.violations.count(member.key),
        joined=member.joined,
        heard=member.heard,
        lost_at=member.heard + service.expiry + member.extra,
        rtt=None,  # only the worker knows: it asks, the broker answers
        terms=(
            ("services", ", ".join(member.services) or "none: leaving"),
            ("config_version", f"{member.version}{drift}"),
            ("skew", f"{round(member.skew, 2) + 0.0:+.2f} s"),
            ("link", "known from the other broker, not heard yet" if member.away else "joined"),
            ("state", member.state),
        ),
    )


def _detail(service: Service, key: bytes) -> Detail:
    tasks = service.dispatcher.in_flight.of(key)
    rows = tuple(TaskRow(task.key[0], task.key[1], task.kind, task.given, task.attempt) for task in tasks)
    return Detail(key, rows, service.violations.of(key), (("violations", service.violations.count(key)),))


def _tasks(service: Service) -> tuple[Collection[Task], tuple[()], list[Task]]:
    queues = service.dispatcher.queues.values()
    return service.dispatcher.tasks.values(), (), [task for queue in queues for task in queue.heads()]
