"""What runs on this machine: the processes that answer at the control sockets in this user's folder."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from engine.core import Socket as Spec
from engine.drive.control.caller import Line
from engine.drive.control.dial import Place
from engine.drive.control.place import check_folder
from engine.drive.control.wire import Message, pack, read
from engine.drive.security import ipc
from engine.drive.sockets import close_socket, make_context, open_socket, receive, send
from engine.errors import Refused

PATIENCE = 5.0  # seconds that all of them together may take
KNOCK = 0.5  # seconds after which it shows whether a process is behind a socket
STEP = 0.02  # seconds between two looks
MOST = 1000  # sockets that are asked
TEXT = 1000  # characters of a text that is believed


class Found(NamedTuple):
    """One that answers. ``system``: the name of its system; ``endpoints``: of a broker, else empty."""

    path: Place
    system: str
    role: str  # broker, worker, pipeline, console …
    endpoints: tuple[str, ...]
    pid: int
    root: str = ""  # of a pipeline
    called: str = ""  # in the configuration

    @property
    def name(self) -> str:
        """What it is called: as the configuration says, else the name of its socket."""
        return self.called or self.path.name

    @property
    def words(self) -> str:
        """All of it in a line; it may hold anything."""
        where = " ".join(self.endpoints) or self.root
        return f"{self.name}  {self.system} {self.role}, process {self.pid}  {where}".rstrip()


def running(folder: Path, patience: float = PATIENCE) -> list[Found]:
    """The processes that answer, by name. A socket without a process is removed.

    Empty where there is no such folder. Raises PermissionError where it is not this user's alone.
    """
    try:
        check_folder(folder)
    except FileNotFoundError:
        return []
    return answering(sorted(folder.iterdir())[:MOST], patience)


def answering(paths: list[Path], patience: float = PATIENCE) -> list[Found]:
    """The sockets at which a process answers that can be understood; what is left of dead ones is removed."""
    said = asked(paths, Message(1, "hello", {}), patience)
    found = [read_hello(path, said[path]) for path in paths if path in said]
    return [one for one in found if one is not None]


def asked(paths: list[Path], question: Message, patience: float = PATIENCE) -> dict[Path, Message | str]:
    """The answers at these sockets to one question; what is left of dead ones is removed."""
    said: dict[Path, Message | str] = {}
    context = make_context()
    with ExitStack() as stack:
        stack.callback(context.term)
        waiting = {}
        for path in paths:
            if not path.is_socket():
                continue
            socket = open_socket(context, Spec("dealer", connect=(f"ipc://{path}",), private=True))
            stack.callback(close_socket, context, socket)
            waiting[path] = socket
        sent: set[Path] = set()
        began = time.monotonic()
        until, knock = began + patience, began + min(KNOCK, patience)
        while waiting and time.monotonic() < until:
            for path, socket in list(waiting.items()):
                if path not in sent and not send(socket, [pack("ask", question)]):
                    sent.add(path)
                for frames in receive(socket, 1, "dealer") if path in sent else ():
                    said[path] = read("say", frames[0])
                    del waiting[path]
            if waiting:
                time.sleep(STEP)
            if time.monotonic() >= knock:
                knock = until + 1
                for path in [path for path in waiting if ipc.sweep(str(path))]:
                    del waiting[path]
    return said


def beyond(far: Place) -> Found:
    """The process at this control socket. Raises Refused with the reason where none answers."""
    with Line(far) as line:
        line.ask("hello")
        while line.linked and not line.trouble:
            for said in line.hear(STEP):
                if (found := read_hello(far, said)) is not None:
                    return found
    raise Refused(line.trouble or f"{far.name} does not answer")


def read_hello(path: Place, said: Message | str) -> Found | None:
    """The process that answered at this socket; None for what is no answer to ``hello``."""
    if isinstance(said, str) or said.word != "hello":
        return None
    about = said.fields
    endpoints, root = about.get("endpoints"), about.get("root", "")
    texts = [about.get("system"), about.get("role"), root, *(endpoints if type(endpoints) is list else [None])]
    if not all(type(text) is str and len(text) <= TEXT for text in texts) or type(about.get("pid")) is not int:
        return None
    return Found(path, about["system"], about["role"], tuple(about["endpoints"]), about["pid"], root)


def about(system: str, role: str, endpoints: tuple[str, ...], root: str = "") -> dict[str, object]:
    """What ``hello`` is answered by this process."""
    told = {"system": system, "role": role, "endpoints": list(endpoints), "pid": os.getpid()}
    return {**told, "root": root} if root else told
