"""``roundhouse doctor``: limits, ports, clock, permissions and versions, each with what to do."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from shutil import disk_usage

from console.cli.common import settings_of
from console.cli.streams import result
from console.text import clean
from engine.alerts.rules import read_rules
from engine.catalogue import SYSTEMS
from engine.drive.examine import Finding, clock, disk, folder, limits, port, private, pump
from engine.drive.stores import SQLITE, path_of
from engine.drive.stores.results import read
from engine.drive.stores.sqlite import FREE
from engine.labs.stored import FOLDER, place_of
from engine.parts.store import Unavailable
from engine.runs.load import versions
from engine.settings.paths import Paths
from engine.settings.tomlfile import Wrong


def doctor() -> int:
    """Print a line for each thing that was looked at; 1 where something is bad."""
    found = list(findings(Paths.of_user()))
    for finding in found:
        result(f"{finding.level:<5} {finding.what:<21} {clean(finding.words, 400)}\n")
        if finding.advice:
            result(f"{'':<27} {clean(finding.advice, 400)}\n")
    return 1 if any(finding.level == "bad" for finding in found) else 0


def findings(paths: Paths) -> Iterator[Finding]:
    """All of them."""
    yield Finding("ok", "versions", ", ".join(f"{name} {version}" for name, version in versions().items()))
    yield pump()
    yield limits()
    yield clock()
    yield configuration(paths)
    for name, path in (("configuration", paths.config.parent), ("state", paths.state), ("log", paths.log.parent)):
        yield folder(f"folder of {name}", path)
    yield private("folder of control", paths.control)
    yield private("folder of keys", paths.keys)
    yield disk(paths.state)
    for name, system in SYSTEMS.items():
        yield port(name, system.endpoint, paths.control)
    yield from stores(paths)
    yield metrics()


def configuration(paths: Paths) -> Finding:
    """Whether the configuration and the rules of alerts can be used."""
    try:
        settings_of([])
        read_rules(paths.alerts, optional=True)
    except Wrong as wrong:
        words = "; ".join(map(str, wrong.problems))
        return Finding("bad", "configuration", words, "mend what is named")
    return Finding(
        "ok", "configuration", str(paths.config) if paths.config.exists() else "none; everything has a default"
    )


def stores(paths: Paths) -> Iterator[Finding]:
    """Whether the files can be used in which brokers keep their backlog: those of the settings, else the usual ones."""
    try:
        settings = settings_of([])
    except Wrong:  # ``configuration`` says so
        return
    for name, system in SYSTEMS.items():
        place = place_of(system, settings.options[name], paths.kept)
        usual = path_of(SQLITE, paths.kept / FOLDER, name)
        if not place and usual.exists():
            place = f"{SQLITE}{usual}"  # of a broker with ``--durable``
        if not place.startswith(SQLITE):
            continue
        path, what = Path(place.removeprefix(SQLITE)), f"backlog of {name}"
        found = folder(what, path.parent)
        if found.level == "ok" and path.exists():
            found = Finding("ok", what, str(path))
            try:
                read(path, b"", 1)
            except Unavailable as why:
                found = Finding("bad", what, str(why), "name another with --backlog, or move this one away")
            else:
                if (free := disk_usage(path.parent).free) < FREE:
                    words = f"{path}: {free >> 20} MiB are free, below {FREE >> 20} no task is taken"
                    found = Finding("bad", what, words, "make room")
        yield found


def metrics() -> Finding:
    """Whether metrics can be served."""
    if importlib.util.find_spec("prometheus_client") is None:
        return Finding("ok", "metrics", "not installed; for --metrics: pip install 'roundhouse[metrics]'")
    return Finding("ok", "metrics", "can be served")
