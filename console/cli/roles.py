"""The commands ``broker``, ``worker`` and ``client``: one role, no screen; on a terminal with a prompt.

Without a terminal, broker and worker run until a signal ends them or a thread of theirs dies, workers also until the
broker has sent the last one away; a client carries out the lines of its input.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import suppress

from console import bulks, pools, units
from console.cli.common import broker_of, configured, control_of, lab_of, settings_of, spoken, system_of
from console.cli.prompt import Prompt, words_of
from console.cli.runs import follow, met, one_line, send_traces
from console.cli.signals import Signals
from console.cli.standing import is_service, reload, watched
from console.cli.streams import Progress, announce, result, tell, unanswered
from console.cli.told import RoleLog, of_broker, of_run, table
from console.commands import WORDS, Command, Word
from console.history import History
from engine.drive.waiting import wait_until
from engine.errors import Refused
from engine.labs.audit import given_by, origin, who
from engine.labs.health import Workers
from engine.labs.live import LiveLab
from engine.labs.livefaults import NAMES
from engine.labs.otel import collector_of
from engine.labs.watcher import Watcher
from engine.parts.bulk import BulkSpec
from engine.parts.orders import Throttle
from engine.parts.plain import called
from engine.runs.summary import summary
from engine.settings.settings import Flag, Settings

LOOK = 0.25  # seconds between two looks at how things are
DRAIN = 30.0  # seconds that workers may take to finish after a signal
FINISH = 10.0  # seconds that a broker may wait after a signal for what its workers hold
STEP = 0.05  # seconds between two looks meanwhile
JOINED = 5.0  # seconds that workers may take to join, until it is said that they have not


def broker(options: Namespace, flags: list[Flag]) -> int:
    """Bind, say ``ready`` with the endpoints, and serve. Raises ``engine.labs.live.Refused`` where it can not bind."""
    settings = settings_of(flags)
    usual = (system_of(settings).endpoint,)
    bind = (options.bind,) if options.bind else settings.bind or usual
    given = {"journal": options.journal, "trust": options.trust, "listens": control_of(options)}
    lab = lab_of(settings, bind=bind, client=False, **given)
    told = RoleLog(lab, options.level)
    looks = 0

    def shown() -> None:
        nonlocal looks
        told.tell()
        looks += 1
        if looks % round(1 / LOOK) == 0:
            told.count(of_broker(lab.table()))
            if options.verbose:
                result(table(lab.table()))

    with Signals(is_service(options)) as signals:
        with (
            configured(settings, options.bind),
            lab,
            watched(lab, "broker", lab.endpoints, settings, options) as watcher,
        ):
            told.begin()
            announce(f"ready {' '.join(lab.endpoints)}\n")
            words = {"workers": lambda _: result(table(lab.table())), **of_jobs(lab, settings)}
            status = serve(
                lab, signals, reloading(shown, signals, watcher, settings), at_prompt("broker", lab, settings, words)
            )
            finish(lab, signals)
        return status if told.end(lab.unkept) else status or 1


def worker(options: Namespace, flags: list[Flag]) -> int:
    """Join a broker with so many workers, say ``ready`` when all have, and work; on a signal they drain and leave.

    On a terminal nobody joins until ``register`` or ``bulk`` is typed, where no number was asked for.
    """
    settings = settings_of(flags)
    connect = options.connect or broker_of(settings)
    count = options.count if options.count is not None else 0 if sys.stdin.isatty() else 1
    asked = {"connect": connect, "workers": count, "journal": options.journal, "trust": options.trust}
    lab = lab_of(settings, broker=False, client=False, role="worker", listens=control_of(options), **asked)
    told = RoleLog(lab, options.level)
    with Signals(is_service(options)) as signals:
        with lab, watched(lab, "worker", (connect,), settings, options) as watcher:
            told.begin()
            looks = 0
            while not joined(workers := look(lab)) and not lab.health().dead and not signals.wait(LOOK / 5):
                told.tell()
                looks += 1
                if looks == 40:
                    tell(f"no answer yet from a broker at {connect} to {units.several(count, 'worker')}; waiting")
                    if other := spoken(lab.system, connect):
                        tell(other)
            if signals.caught is None and workers is not None and joined(workers) and workers.here:
                announce(f"ready {units.several(workers.joined, 'worker')} at {connect}\n")
            prompt = at_prompt("worker", lab, settings, _of_worker(lab, told, connect))
            busy = (lambda: True) if prompt else (lambda: (workers := look(lab)) is None or workers.here > 0)
            status = serve(lab, signals, reloading(told.tell, signals, watcher, settings), prompt, busy)
            drain(lab, signals)
        return status if told.end(lab.unkept) else status or 1


def client(options: Namespace, flags: list[Flag]) -> int:
    """Carry out what is typed, or the lines of the input: single messages and bulk runs."""
    settings = settings_of(flags)
    connect = options.connect or broker_of(settings)
    collector = options.otel and collector_of(options.otel)
    lab = lab_of(settings, connect=connect, broker=False, workers=0, journal=options.journal)
    told = RoleLog(lab, options.level)
    failed: list[str] = []
    with Signals() as signals:
        with lab:
            told.begin()
            words = _of_client(lab, told, settings, signals, connect, failed, collector)
            prompt = at_prompt("client", lab, settings, words, always=True, refused=failed)
            status = serve(lab, signals, told.tell, prompt)
        status = status or (1 if failed and not sys.stdin.isatty() else 0)
        return status if told.end(lab.unkept) else status or 1


Act = Callable[[Command], object]


def at_prompt(
    role: str,
    lab: LiveLab,
    settings: Settings,
    acts: Mapping[str, Act],
    always: bool = False,
    refused: list[str] | None = None,
) -> Callable[[Callable[[], bool]], Prompt] | None:
    """What makes a prompt of this role's words; None without a terminal."""
    if not (always or sys.stdin.isatty()):
        return None
    words = words_of((*getattr(lab.system.words, role), *(NAMES if role == "worker" else ())), known(lab))

    def perform(command: Command) -> None:
        acts[command.name](command)

    history = History(settings.paths.history)
    return lambda look: Prompt(role, words, history, perform, look, refused, clears=role == "client")


def known(lab: LiveLab) -> tuple[Word, ...]:
    """The words of all systems, and those about jobs where this one takes them."""
    if lab.system.orders is None:
        return WORDS
    from console.jobs.line import WORDS as OF_JOBS  # with the protocol of jobs, which others need not load

    return (*WORDS, *OF_JOBS)


def of_jobs(lab: LiveLab, settings: Settings) -> dict[str, Act]:
    """What the words about jobs do, where the system takes jobs."""
    if lab.system.orders is None:
        return {}
    from console.cli.jobprompt import carry_out
    from console.jobs.line import WORDS as OF_JOBS

    def act(command: Command) -> None:
        result(carry_out(command, settings.paths.control, lab.endpoints[0], settings.paths.jobs))

    return dict.fromkeys((word.name for word in OF_JOBS), act)


def _of_worker(lab: LiveLab, told: RoleLog, connect: str) -> dict[str, Act]:
    def bulk(command: Command) -> None:
        wanted = command.argument if isinstance(command.argument, pools.Wanted) else pools.Wanted()
        joins(lambda: lab.bulk(*wanted))

    def joins(order: Callable[[], None]) -> None:
        order()
        here = lab.workers().here
        if lab.wait_registered(here, JOINED):
            result(f"{units.several(here, 'worker')} registered at {connect}\n")
        else:
            some = f"{lab.workers().joined} of {units.several(here, 'worker')} registered"
            tell(f"{some}; no answer yet from {connect}, waiting")

    def ends(command: Command) -> None:
        before = lab.crew()
        lab.endbulk(str(command.argument))
        lab.wait_left(before, JOINED)
        left = {name: view for name, view in before.items() if name not in lab.crew()}
        result(f"{units.several(len(left), 'worker')} stopped\n")
        told.count("messages passed: " + ", ".join(f"{called(name)} {view.done:,}" for name, view in left.items()))

    def leaves(_: Command) -> None:
        before = lab.crew()
        lab.deregister()
        lab.wait_left(before, JOINED)
        result("deregistered\n")

    def hurts(command: Command) -> None:
        line = f"{command.name} {command.argument}"
        if command.name == "slow":
            with suppress(ValueError):
                lab.slow(seconds := float(str(command.argument)))
                result(f"our workers answer {seconds:g} s late\n")
                return
        does = lab.hurts(line)
        lab.hurt(line)
        result(f"{does}\n")

    return {
        **dict.fromkeys(NAMES, hurts),
        "register": lambda _: joins(lab.register),
        "bulk": bulk,
        "endbulk": ends,
        "deregister": leaves,
    }


def _of_client(
    lab: LiveLab,
    told: RoleLog,
    settings: Settings,
    signals: Signals,
    connect: str,
    failed: list[str],
    collector: str | None,
) -> dict[str, Act]:
    def act(command: Command) -> None:
        kind, bulk = "data" if command.name.endswith("data") else "ping", isinstance(command.argument, bulks.Asked)
        asked = command.argument if isinstance(command.argument, bulks.Asked) else bulks.Asked(1)
        spec: BulkSpec = bulks.spec(
            "data" if kind == "data" else "ping", asked, settings.run, lab.system.window(lab.options)
        )
        if not met(lab, signals, spec.timeout):
            failed.append(command.name)
            if signals.caught is None:
                tell(unanswered(lab.system.name, connect))
            return
        lab.run(spec._replace(tracked=command.name != "ping"))
        follow(lab, signals, Progress(command.name))
        record = lab.report()
        result(summary(record) if bulk else one_line(command.name, record))
        if (view := lab.run_view()) is not None:
            told.count(of_run(view))
        send_traces(lab, collector)
        if record["verdict"] != "pass":
            failed.append(command.name)

    return dict.fromkeys(lab.system.words.client, act)


def reloading(shown: Callable[[], None], signals: Signals, watcher: Watcher, settings: Settings) -> Callable[[], None]:
    """``shown``, and what a service does that is asked to read its configuration again."""

    def act() -> None:
        shown()
        if signals.asks_to_reload():
            reload(watcher, settings)

    return act


def drain(lab: LiveLab, signals: Signals) -> None:
    """After a signal: let the workers finish what they hold, until a second signal or ``DRAIN`` seconds later."""
    with suppress(Refused):  # they are leaving already, or there are none
        if signals.caught is not None:
            with given_by((who(), f"{origin()}, by a signal")):
                lab.remove_workers(lab.workers().here)
            for _ in range(round(DRAIN / STEP)):
                if not any(view.running for view in lab.crew().values()) or signals.again(STEP):
                    return
            tell(f"workers still hold tasks after {DRAIN:.0f} s; they are given up")


def finish(lab: LiveLab, signals: Signals) -> None:
    """After a signal: let a broker's workers finish, until a second signal or ``FINISH`` seconds later.

    Nothing more is given out where its system can pause; where not, what waits is worked on meanwhile. What is lost
    with the broker is told.
    """
    if signals.caught is None:
        return
    pauses = Throttle in lab.system.takes
    with suppress(Refused):  # its plug is pulled, or it is too busy to say
        if pauses:
            with given_by((who(), f"{origin()}, by a signal")):
                lab.steer(Throttle(0.0))
        if held := lab.table().in_flight:
            what = units.several(held, "task") + ("" if pauses else ", and what waits")
            tell(
                f"ends once workers have finished {what}, after {FINISH:.0f} s at most; a second signal ends it at once"
            )
    resting = at_rest(lab)
    wait_until(lambda: signals.again(0) or resting(), FINISH, STEP)
    try:
        view = lab.table()
    except Refused as refusal:
        tell(f"what is lost is not known: {refusal}")
        return
    if view.kept is None and view.backlog + view.in_flight:
        parts = f"{view.backlog:,} that waited, {view.in_flight:,} with workers"
        tell(f"{units.several(view.backlog + view.in_flight, 'task')} lost ({parts}): this broker has no store")


def at_rest(lab: LiveLab) -> Callable[[], bool]:
    """What tells whether workers hold nothing, at two looks in a row: then the last answers have left."""
    looks = 0

    def seen() -> bool:
        nonlocal looks
        try:
            looks = 0 if lab.table().in_flight else looks + 1
        except Refused:  # it is too busy to say, and is asked again
            looks = 0
        return looks > 1

    return seen


def look(lab: LiveLab) -> Workers | None:
    """The workers of this process; None while their thread is too busy to say, which is no reason to end."""
    try:
        return lab.workers()
    except Refused:
        return None


def joined(workers: Workers | None) -> bool:
    """Whether a broker has taken in all that are here."""
    return workers is not None and workers.joined >= workers.here


def serve(
    lab: LiveLab,
    signals: Signals,
    shown: Callable[[], None],
    prompt: Callable[[Callable[[], bool]], Prompt] | None = None,
    busy: Callable[[], bool] = lambda: True,
) -> int:
    """Until a signal comes (128 + its number), a thread has died (1), or nothing is left to do (0; 1 after errors).

    At a ``prompt`` also until it is left. ``shown`` is called at each look.
    """

    dead: tuple[str, ...] = ()

    def goes_on() -> bool:
        nonlocal dead
        shown()
        dead = lab.health().dead
        return not dead and busy()

    if prompt is not None:
        prompt(goes_on).run(signals)
    else:
        while goes_on() and not signals.wait(LOOK):
            pass
    shown()
    return signals.status(1 if dead or lab.health().failed else 0)
