"""What every command begins with: the settings, and a lab with them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from engine.catalogue import SYSTEMS
from engine.history import History
from engine.lab import Lab
from engine.settings import Flag, Known, Paths, Settings, read_settings

OPTIONS = {name: system.options for name, system in SYSTEMS.items()}


def settings_of(flags: list[Flag], known: Known | None = None) -> Settings:
    """Flags over environment over file. Raises ``engine.settings.Wrong``."""
    return read_settings(Paths.of_user(), known or Known(OPTIONS), os.environ, flags)


def broker_of(settings: Settings) -> str:
    """Where the broker is that a command joins when it is not told: where one of this user's would listen."""
    return settings.bind[0] if settings.bind else SYSTEMS[settings.system].endpoint


def lab_of(
    settings: Settings,
    *,
    bind: Sequence[str] = (),
    connect: str | None = None,
    workers: int = 0,
    broker: bool = True,
    client: bool = True,
    journal: Path | None = None,
) -> Lab:
    """A lab of the system that was asked for, not opened yet."""
    system = SYSTEMS[settings.system]
    return Lab(
        system,
        settings.options[system.name],
        bind=bind,
        connect=connect,
        workers=workers,
        slots=settings.pool.slots,
        broker=broker,
        client=client,
        history=History(settings.paths.runs) if client else None,
        state=settings.paths.kept,
        journal=journal,
        readonly=settings.readonly,
    )
