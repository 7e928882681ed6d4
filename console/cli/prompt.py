"""A prompt on a terminal: the words of one role, with history and completion of words (GNU readline).

The rules of this file:

- Lines are read and carried out on the main thread; another looks after the lab meanwhile, and ends the reading when
  there is nothing left to look after. A signal ends the reading too.
- Without a terminal on stdin the lines of stdin are carried out, one after the other, and no prompt is shown.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress

from console.cli.signals import Interrupted, Signals
from console.cli.streams import result, tell, typing
from console.commands import Command, CommandError, Word, completions, parse
from console.history import History
from engine.errors import Refused

LOOK = 0.25  # seconds between two looks at the lab

HELP = Word("help", "", "list these words")
QUIT = Word("quit", "", "leave; so does ctrl+d")


def words_of(names: Sequence[str], words: Sequence[Word]) -> tuple[Word, ...]:
    """The words of these names, in this order, then ``help`` and ``quit``."""
    known = {word.name: word for word in words}
    return (*(plain(known[name]) for name in names), HELP, QUIT)


def plain(word: Word) -> Word:
    """The word where nothing is asked before it."""
    return word._replace(help=word.help.replace(", after a question", ""))


def listed(words: Sequence[Word]) -> str:
    """A line for each word: what is typed, and what it does."""
    return "".join(f"  {f'{word.name} {word.usage}':<30}  {word.help}\n" for word in words)


class Prompt:
    """``role``: the beginning of each line. ``perform`` carries out a word; it may raise ``Refused``.

    ``look`` is called every ``LOOK`` seconds from another thread, and says whether there is anything left to do.
    """

    def __init__(
        self,
        role: str,
        words: Sequence[Word],
        history: History,
        perform: Callable[[Command], None],
        look: Callable[[], bool],
        refused: list[str] | None = None,
        clears: bool = False,
    ) -> None:
        """``refused``: is told the lines that could not be carried out. ``clears``: ctrl+c on a terminal clears a line
        or stops what the last word began, and ends nothing."""
        self._clears = clears
        self._refused = [] if refused is None else refused
        self.role, self.words, self._history, self._perform, self._look = role, words, history, perform, look
        self._done = threading.Event()
        self._offered: list[str] = []

    def run(self, signals: Signals) -> None:
        """Until ``quit``, the end of the input, a signal, or nothing is left to do."""
        watcher = threading.Thread(target=self._watch, args=(signals,), name="roundhouse-prompt", daemon=True)
        watcher.start()
        try:
            for line in self._lines(signals):
                if not self._carry_out(line):
                    break
                if self._clears and sys.stdin.isatty():
                    signals.forget()
        finally:
            self._done.set()
            watcher.join()

    def _carry_out(self, line: str) -> bool:
        """False where the line ends it all."""
        try:
            command = parse(line, self.words)
            if command.name == QUIT.name:
                return False
            if command.name == HELP.name:
                result(self.help())
            else:
                self._perform(command)
        except (CommandError, Refused) as error:
            tell(str(error))
            self._refused.append(line)
        return True

    def help(self) -> str:
        """A line for each word."""
        return listed(self.words)

    # ---- lines ------------------------------------------------------------------------------------------------------

    def _lines(self, signals: Signals) -> Iterator[str]:
        terminal = sys.stdin.isatty()
        with self._editing() if terminal else nullcontext():
            while (line := self._line(signals, terminal)) is not None:
                if line.strip():
                    yield line
                    with suppress(OSError):
                        self._history.add(line.strip())

    def _line(self, signals: Signals, terminal: bool) -> str | None:
        """The next one; None where there is no other."""
        with suppress(Interrupted, EOFError), signals.reading():
            if self._done.is_set():
                return None
            if terminal:
                with typing(f"{self.role}> ") as shown:
                    return input(shown)
            return sys.stdin.readline() or None
        if terminal:
            result("\n")
        return "" if terminal and self._clears and signals.forget() else None

    @contextmanager
    def _editing(self) -> Iterator[None]:
        """Let readline complete words and know what was typed before; without readline lines are typed plainly."""
        try:
            import readline
        except ImportError:
            yield
            return
        with suppress(OSError):
            self._history.load()
        for line in self._history.lines:
            readline.add_history(line)
        readline.set_completer_delims("")
        readline.set_completer(self._complete)
        readline.parse_and_bind("tab: complete")
        yield
        readline.set_completer(None)

    def _complete(self, text: str, at: int) -> str | None:
        if not at:
            self._offered = completions(text, self.words)
        return self._offered[at] if at < len(self._offered) else None

    # ---- the lab ----------------------------------------------------------------------------------------------------

    def _watch(self, signals: Signals) -> None:
        while not self._done.wait(LOOK):
            if not self._look():
                self._done.set()
                if signals.waits:
                    signal.pthread_kill(threading.main_thread().ident or 0, signals.WAKE)
                return
