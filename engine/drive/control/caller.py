"""The side of a control socket that asks: a command of its user, or a console that is attached. For one thread."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Any

from engine.drive.control.dial import Dial, Place
from engine.drive.control.place import check_folder
from engine.drive.control.wire import Message, pack, read
from engine.drive.sockets import make_context, receive, send
from engine.errors import Refused
from engine.parts.plain import clean
from engine.system import Orders

SILENCE = 5.0  # seconds without an answer, after which a broker counts as gone


class Line:
    """A connection to a control socket: messages out and in. Open it, or use it as a context."""

    trouble = ""  # why we are not let in, in words

    def __init__(self, place: Place) -> None:
        self._place = place
        self._last = 0
        self._outbox: list[bytes] = []  # False until the other side answers
        self._asked: float | None = None  # since when nothing has come, though something was asked

    def __enter__(self) -> Line:
        self._context = make_context()
        self._dial = Dial(self._context, self._place)
        return self

    def __exit__(self, *_: object) -> None:
        self._dial.close()
        self._context.term()

    def anew(self) -> None:
        """Forget what was asked, and ask from now on over another connection: the other side may have been replaced."""
        self._dial.close()
        self._outbox.clear()
        self._asked = None
        self._dial = Dial(self._context, self._place)

    @property
    def linked(self) -> bool:
        """Whether the other side answers."""
        return self._asked is None or time.monotonic() < self._asked + SILENCE

    @property
    def idle(self) -> bool:
        """Whether all that was asked so far has been sent."""
        return not self._outbox

    def ask(self, word: str, **fields: Any) -> int:
        """Ask with a word; the number that the answers repeat."""
        self._last += 1
        self.send(Message(self._last, word, fields))
        return self._last

    def send(self, message: Message) -> None:
        """Ask, under a number of the caller's own."""
        if self._asked is None:
            self._asked = time.monotonic()
        self._outbox.append(pack("ask", message))
        self._flush()

    def hear(self, timeout: float) -> list[Message | str]:
        """The messages that came, after so many seconds at most; in place of an unreadable one a text says why."""
        self.trouble = self._dial.trouble() or self.trouble
        self._flush()
        if not self._dial.socket.poll(int(timeout * 1000)):
            return []
        found = [read("say", frames[0]) for frames in receive(self._dial.socket, 1000, "dealer")]
        self._asked, self.trouble = None, ""
        return found

    def _flush(self) -> None:
        while self._outbox and not send(self._dial.socket, [self._outbox[0]]):
            self._outbox.pop(0)


class Caller(Line):
    """A broker that is given orders. ``path``: the control socket of the broker that is known as ``endpoint``.

    Requests and answers are the types of the system's ``orders``.
    """

    def __init__(self, path: Path, endpoint: str, orders: Orders) -> None:
        super().__init__(path)
        self._path, self._endpoint, self._orders = path, endpoint, orders

    def __enter__(self) -> Caller:
        """Raises Refused where there is no such socket, or it is another's."""
        check(self._path, self._endpoint)
        super().__enter__()
        return self

    def order(self, request: Any) -> None:
        """Send a request."""
        self._last += 1
        fields = self._orders.load(self._orders.pack(self._last, request))
        self.send(Message(fields.pop("Ref"), fields.pop("Ask"), fields))

    def answers(self, timeout: float) -> list[Any]:
        """What has come, after so many seconds at most. Raises Refused where it is of another version."""
        return [self._answer(said) for said in self.hear(timeout)]

    def _answer(self, said: Message | str) -> Any:
        if isinstance(said, str):
            raise Refused(f"the broker at {self._endpoint}: {said}")
        answer = self._orders.answer({**said.fields, "Say": said.word, "Ref": said.id})
        if isinstance(answer, str):
            raise Refused(f"the broker at {self._endpoint} answers what can not be read")
        return answer


def check(path: Place, endpoint: str) -> None:
    """Raises Refused where no broker of this user at this endpoint can be given orders, with the reason.

    ``endpoint``: or the name of a process, as ``roundhouse attach --list`` shows it.
    """
    if not isinstance(path, Path):
        return  # the other side says whether we are let in
    try:
        check_folder(path.parent)
        found = os.lstat(path)
    except FileNotFoundError:
        if "://" not in endpoint:
            raise Refused(
                f"nothing of this user is called {clean(endpoint)}; roundhouse attach --list shows what runs"
            ) from None
        raise Refused(
            f"no broker of this user is at {endpoint}: orders go over its control socket {path}, which is not there; "
            "give them on the broker's machine, as its user"
        ) from None
    except OSError as error:
        raise Refused(f"the control socket of {endpoint} can not be used: {error}") from None
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
        raise Refused(f"{path} is no socket of this user: remove it, and start the broker again")
