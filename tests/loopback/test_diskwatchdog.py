"""A watchdog on a real disk: before any of its calls others may put anything under any name, and nothing outside of the
root is opened, changed or removed.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.drive.pipeline import Pipeline
from engine.errors import Refused
from engine.parts.orders import Leave
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage
from engine.protocols.diskqueue.watchdog import KillDriver
from tests.helpers.examples import examples
from tests.helpers.queuehands import KINDS, NUMBER, Place, somewhere

CALLS = ("open", "stat", "lstat", "scandir", "listdir", "unlink", "mkdir", "rename", "replace")
"""By which the watchdog touches files."""

MOST = 160  # of its calls before which something may be put there

NOBODY = 2**22 + 1  # a pid that no process has


def targets(place: Place) -> list[Any]:
    """The names that a watchdog, or what it settles, has to do with."""
    queues = [
        *(
            place.src / name
            for name in ("x.ready", names.DONE, names.failed("x"), names.kept("x"), names.attempts("x"))
        ),
        *(place.src / names.working(id, NUMBER) for id in ("x", "z")),
        *(place.src / names.publishing(id, NUMBER) for id in ("x", "z")),
        *(place.src / names.working_lock(number) for number in (NUMBER, "8", "9")),
        *(place.dst / name for name in (names.writing("x", NUMBER), "x.ready", "x", names.DONE)),
        *(place.dst / names.writing_lock(number) for number in (NUMBER, "8")),
    ]
    root = [place.root / name for name in (".watchdog.lock", "pipeline.json", "quit", "kill", "worker-8", "worker-9")]
    files = ("pid", "process.json", "times", "documents", "out.txt", "out.txt.old", "worker.par", "quit")
    workers = [place.root / f"worker-{number}" / name for number in (NUMBER, "8", "9") for name in files]
    return queues + root + workers + [place.own]


class Child:
    """A driver's process that does nothing, and ends after a few looks."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.pid, self._looks = NOBODY, itertools.count()

    def poll(self) -> int | None:
        return -9 if next(self._looks) > 2 else None

    def send_signal(self, number: int) -> None:
        self._looks = itertools.count(3)


def named(place: Place, name: Any, at: int | None) -> Path | None:
    """The name that a call is about to use, if it is one that others can put something under."""
    if not isinstance(name, str) or (at is not None and not os.path.isdir("/proc/self/fd")):
        return None  # a handle, or one that can not be told here
    path = Path(os.readlink(f"/proc/self/fd/{at}"), name) if at is not None else Path(name)
    above = path.parent
    if above == place.root:
        return None if path in (place.src, place.dst, place.home, place.aside) else path
    inside = above in (place.src, place.dst) or (above.parent == place.root and above.name.startswith("worker-"))
    return path if inside else None


@contextmanager
def meddled(place: Place, plants: list[tuple[int, int, str]]) -> Iterator[None]:
    """Each call of this process on files comes after what somebody else is quicker to do."""
    known, count = targets(place), itertools.count(1)
    busy: list[bool] = []

    def meddle(name: Any, at: int | None) -> None:
        number = next(count)
        for when, which, kind in plants:
            if when == number:
                target = named(place, name, at) if which % 2 else known[which // 2 % len(known)]
                if target is not None and target.parent.is_dir() and not target.parent.is_symlink():
                    place.plant(target, kind)

    def wrap(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any, **more: Any) -> Any:
            if not busy:
                busy.append(True)
                try:
                    meddle(given[0] if given else None, more.get("dir_fd"))
                finally:
                    busy.clear()
            return call(*given, **more)

        return wrapped

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, wrap(getattr(os, name)))
        yield


PLANTS = st.lists(
    st.tuples(st.integers(1, MOST), st.integers(0, 120), st.sampled_from(sorted(KINDS))), min_size=1, max_size=30
)
"""Before which call, under which name (odd: the one of the call itself), what."""


@examples(150)
@given(plants=PLANTS, does=st.lists(st.sampled_from(["start", "run", "show", "stop", "kill"]), min_size=1, max_size=4))
def test_a_watchdog_touches_nothing_outside(plants: list[tuple[int, int, str]], does: list[str]) -> None:
    """It looks at the queues, settles what a dead driver holds, starts drivers, tells them to leave, and shows all."""
    with somewhere() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.drive.queueprocesses.subprocess.Popen", Child)
        patch.setattr("engine.drive.pipeline.TICK", 0.0)
        (place.src / names.working_lock(NUMBER)).touch(0o600)
        (place.src / names.working("x", NUMBER)).write_text("text", encoding="utf-8")
        (place.src / names.publishing("x", NUMBER)).write_text(f"{place.dst}\n", encoding="utf-8")
        (place.dst / names.writing("x", NUMBER)).write_text("text", encoding="utf-8")
        options = Options(poll=0.01, worker_folders=1)
        pipeline = Pipeline(str(place.root), [Stage("a", 2)], options, trust=True)
        with meddled(place, plants):
            for deed in does:
                with suppress(Refused, OSError):  # it says why it can not
                    match deed:
                        case "start":
                            pipeline.start()
                        case "run":
                            for order in (KillDriver("8"), Leave(), Leave()):
                                pipeline.order(order)
                            pipeline.run(signals=False)
                        case "show":
                            pipeline.show()
                        case "stop":
                            pipeline.stop(timeout=0.0)
                        case _:
                            pipeline.kill(timeout=0.0)
        place.judge()


def test_something_may_be_put_there_before_every_call() -> None:
    """What is counted are calls that the watchdog makes, and all of them are within reach of what is drawn."""
    with somewhere() as place, pytest.MonkeyPatch.context() as patch:
        seen: list[str] = []
        patch.setattr(place, "plant", lambda path, kind: seen.append(kind))
        (place.src / names.working_lock(NUMBER)).touch(0o600)
        with meddled(place, [(at, 0, "FIFO") for at in range(1, MOST + 1)]):
            Pipeline(str(place.root), [Stage("a")], trust=True).kill(timeout=0.0)
        assert 10 < len(seen) < MOST
