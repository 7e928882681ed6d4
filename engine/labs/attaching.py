"""Who on this machine can be attached to, and a lab of one of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import MappingProxyType

from engine.drive.control.caller import check
from engine.drive.control.dial import Far, Place
from engine.drive.control.found import Found, answering, beyond, running
from engine.errors import Refused
from engine.labs.lab import Lab
from engine.labs.remote import Remote
from engine.labs.remotequeues import RemoteQueues
from engine.runs.history import History
from engine.system import QueueSystem, System

PATIENCE = 5.0  # seconds that one which was named may take to answer


class Around:
    """What runs around us. ``folder``: of control sockets; ``systems``: by their names; ``runs``: of kept runs.

    ``besides``: a process that is left out, our own. ``far``: a control socket over tcp, where we have keys.
    ``fleet``: by name, what tells the control sockets of the configuration; it raises Refused.
    """

    def __init__(
        self,
        folder: Path,
        systems: Mapping[str, System | QueueSystem],
        runs: Path,
        *,
        readonly: bool = False,
        besides: int = 0,
        far: Callable[[str], Far] | None = None,
        fleet: Mapping[str, Callable[[], Place]] = MappingProxyType({}),
    ) -> None:
        self.fleet, self.systems = fleet, systems
        self._far = far
        self._besides = besides
        self._folder, self._runs, self._readonly = folder, runs, readonly

    def found(self, patience: float = PATIENCE) -> list[Found]:
        """All on this machine who answer, of systems that are known here.

        Raises Refused where the folder is not this user's alone.
        """
        try:
            return [
                one
                for one in running(self._folder, patience)
                if one.system in self.systems and one.pid != self._besides
            ]
        except OSError as error:
            raise Refused(f"nobody can be attached to: {error}") from None

    def search(self, name: str = "") -> Future[list[Found]]:
        """The same, without waiting for it; only the one of this name where the configuration has it."""
        found: Future[list[Found]] = Future()

        def look() -> None:
            try:
                found.set_result([self.named(name)] if name in self.fleet else self.found())
            except Exception as error:  # of whoever asked
                found.set_exception(error)

        threading.Thread(target=look, name="roundhouse-search", daemon=True).start()
        return found

    def named(self, name: str) -> Found:
        """The one of this name, at this endpoint, or behind this control socket ``ipc://PATH``. Raises Refused."""
        if name in self.fleet:
            found = beyond(self.fleet[name]())._replace(called=name)
            if found.system not in self.systems:
                raise Refused(f"{name} is a {found.system}, which is not known here")
            return found
        if name.startswith("ipc://") and (behind := self._behind(Path(name[6:]).absolute())) is not None:
            return behind
        here = self.found()
        if name.startswith("tcp://") and self._far is not None and not any(name in one.endpoints for one in here):
            return beyond(self._far(name))
        return which(here, name)

    def _behind(self, path: Path) -> Found | None:
        """Who has this control socket, which may be anywhere; None where it is none."""
        try:
            check(path, path.name)
        except Refused:
            return None
        found = answering([path], PATIENCE)
        return found[0] if found and found[0].system in self.systems else None

    def lab(self, found: Found) -> Lab:
        """A lab of it, not opened yet."""
        system = self.systems[found.system]
        if isinstance(system, QueueSystem):
            return RemoteQueues(found, readonly=self._readonly)
        return Remote(found, system, readonly=self._readonly, history=History(self._runs))


def which(found: Sequence[Found], name: str) -> Found:
    """The one that is meant by a name, its beginning, an endpoint or a pid. Raises Refused where it is not one."""
    fits = [one for one in found if name in (one.name, one.root, str(one.pid), *one.endpoints)]
    fits = fits or [one for one in found if one.name.startswith(name)]
    if len(fits) == 1:
        return fits[0]
    known = ", ".join(one.name for one in found) or "nothing"
    raise Refused(f"{name!r} is {'more than one' if fits else 'nothing that runs here'}: there is {known}")
