"""What all commands share: the settings, and a lab with them."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from console.cli.storearguments import STORE, asked, stored
from console.cli.streams import tell
from engine.catalogue import CATALOGUE, QUEUES, SYSTEMS
from engine.drive.control.dial import Far, Place
from engine.drive.control.place import NOWHERE, place_of
from engine.drive.security import curve
from engine.drive.security.users import Trust, User
from engine.errors import Refused
from engine.labs.attaching import Around
from engine.labs.audit import FILE, Audit
from engine.labs.elsewhere import Elsewhere
from engine.labs.live import LiveLab
from engine.labs.spoken import spoken_at
from engine.parts.store import SQLITE
from engine.runs.history import History
from engine.settings.fleet import FleetEntry
from engine.settings.paths import Paths
from engine.settings.settings import Flag, Known, Settings, read_settings
from engine.system import System, store_of


def known() -> Known:
    """All settings that exist, with the options of every system."""
    return Known(
        {name: system.options for name, system in CATALOGUE.items()},
        unbound=tuple(QUEUES),
    )


def settings_of(flags: list[Flag], judged: Known | None = None) -> Settings:
    """Flags over environment over file; ``judged`` in place of ``known()``. Raises ``tomlfile.Wrong``."""
    paths, judged = Paths.of_user(), judged or known()
    if asked(flags):
        others = [flag for flag in flags if flag.place != STORE]
        flags = stored(flags, read_settings(paths, judged, os.environ, others).system)
    return read_settings(paths, judged, os.environ, flags)


def system_of(settings: Settings) -> System:
    """The system that was asked for. Raises ``engine.labs.pool.Refused`` where it has no broker."""
    if settings.system not in SYSTEMS:
        raise Refused(f"{settings.system} has no broker; its commands are pipeline, drive and feed")
    return SYSTEMS[settings.system]


def stored_of(settings: Settings) -> tuple[System, str]:
    """The system that was asked for and the name of its store, its usual file where none is set.

    Raises ``Refused`` where it has none.
    """
    system = system_of(settings)
    if not system.store:
        raise Refused(f"{system.name} keeps its tasks in memory")
    return system, store_of(system, settings.options[system.name]) or SQLITE


def control_of(options: Namespace) -> Path | None:
    """Where its control socket is to be; None for the usual place."""
    path: Path | None = getattr(options, "control", None)
    return path


def around_of(settings: Settings) -> Around:
    """What else runs on this machine."""
    paths = settings.paths
    far = far_of(settings)
    return Around(
        paths.control,
        CATALOGUE,
        paths.runs,
        readonly=settings.readonly,
        besides=os.getpid(),
        far=far,
        fleet=fleet_of(settings),
    )


def fleet_of(settings: Settings) -> dict[str, Callable[[], Place]]:
    """The control sockets of ``[[fleet]]``; one that needs keys which can not be used is refused when it is asked."""
    return {entry.name: partial(_place, settings, entry) for entry in settings.fleet}


def _place(settings: Settings, entry: FleetEntry) -> Place:
    if entry.endpoint.startswith("ipc://"):
        return Path(entry.endpoint[6:]).absolute()
    own, server = entry.curve or settings.security.curve, entry.server_key or settings.security.server_key
    if not own or not server:
        raise Refused(f"{entry.name} is reached over tcp, which takes keys: curve and server_key in its [[fleet]]")
    return Far(entry.endpoint, curve.Curve(settings.paths.keys, own, server))


def far_of(settings: Settings) -> Callable[[str], Far] | None:
    """What makes of an endpoint a control socket over tcp, for our key; None where we have none."""
    own, server = settings.security.curve, settings.security.server_key
    return (lambda endpoint: Far(endpoint, curve.Curve(settings.paths.keys, own, server))) if own and server else None


def broker_of(settings: Settings) -> str:
    """The default endpoint to join: where a broker of this user listens."""
    return settings.bind[0] if settings.bind else system_of(settings).endpoint


@contextmanager
def configured(settings: Settings, asked: str | None = None, else_: str = "") -> Iterator[None]:
    """Why an endpoint is refused; also that it is from the configuration, where nobody ``asked`` for it here.

    ``else_``: what can be done about it.
    """
    try:
        yield
    except Refused as refusal:
        if asked is None and any(endpoint in str(refusal) for endpoint in settings.bind):
            variable = f"ROUNDHOUSE_{settings.system.upper()}_BIND"
            where = f"bind in [{settings.system}] of {settings.paths.config}, or {variable}, names it"
            raise Refused(f"{refusal} ({where}{else_ and '; ' + else_})") from None
        raise


def spoken(system: System, endpoint: str) -> str:
    """The name of another protocol that is spoken there, and what to do; empty where it is none of ours."""
    if not endpoint.startswith(("tcp://", "ipc://")):
        return ""
    other = spoken_at(endpoint, [known for known in SYSTEMS.values() if known is not system])
    if other is None:
        return ""
    return f"{endpoint} speaks {other.name} (seed {other.seed}), not {system.name}: use --system {other.name} there"


def lab_of(
    settings: Settings,
    *,
    bind: Sequence[str] = (),
    connect: str | None = None,
    workers: int = 0,
    broker: bool = True,
    client: bool = True,
    pair: bool = False,
    journal: Path | None = None,
    trust: Sequence[User] = (),
    readonly: bool = False,
    role: str = "",
    listens: Path | None = None,
    elsewhere: Elsewhere | None = None,
    later: bool = False,
) -> LiveLab:
    """A lab of the system that was asked for, not opened yet; see ``LiveLab``."""
    system, security = system_of(settings), settings.security
    keys = curve.of(settings.paths.keys, security.curve, security.server_key, not broker, security.control)
    if keys is not None and not broker:
        for words in keys.doubts(client):
            tell(words)
    lab = LiveLab(
        system,
        settings.options[system.name],
        bind=bind,
        connect=connect,
        workers=workers,
        slots=settings.pool.slots,
        pools=settings.pools if pair else (),
        broker=broker,
        client=client,
        pair=pair,
        history=History(settings.paths.runs) if client else None,
        state=settings.paths.kept,
        journal=journal,
        readonly=readonly,
        control=settings.paths.control,
        listens=listens,
        role=role,
        trust=Trust(os.geteuid(), frozenset(trust)),
        curve=keys,
        elsewhere=elsewhere,
        later=later,
    )
    if (broker or role) and listens != NOWHERE:  # who has no control socket is nobody's to order
        lab.audit = audit_of(settings, place_of(settings.paths.control, role, bind))
    return lab


def audit_of(settings: Settings, socket: Path) -> Audit:
    """Where orders to the process with this control socket are kept."""
    return Audit(settings.paths.state / FILE, socket.name)
