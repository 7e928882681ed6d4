"""The ``:`` line: the seeds' own commands and a few of the console's. Text becomes a ``Command``, or an error.

Nothing is read but folders, to complete a path.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from console import bulks, files, pools
from console.text import clean

Names = Callable[[str], Sequence[str]]
"""What an argument may be, by its word in the usage: ``WORKER`` → w1, w2, …"""

BULK = "N [IN_FLIGHT] [RATE]"  # the usage of a bulk run
POOL = "[N] [--slots N] [--name POOL] [--transport tcp]"  # the usage of bulk


class Word(NamedTuple):
    """A command that can be typed."""

    name: str
    usage: str  # of its argument: "N", "[RE]", "" for none
    help: str
    seed: bool = True  # whether the word is the seed's own


WORDS = (
    Word("register", "", "add a worker; it joins the broker"),
    Word("workers", "", "list the broker's worker table"),
    Word("pingt", "", "send one ping and time its reply"),
    Word("ping", "", "send one ping that asks for no reply"),
    Word("data", "", "ask for one data stream"),
    Word("bulk", POOL, "start workers, up to ten in all; or up to N, in a pool of its own by that name"),
    Word("bulkping", BULK, "send N pings, a few at a time; or --in-flight, --rate, --timeout"),
    Word("bulkdata", BULK, "ask for N data streams, all at once; or as bulkping, and --bytes"),
    Word("endbulk", "[POOL]", "stop the workers of bulk, or of a pool: they finish their tasks and leave"),
    Word("deregister", "", "remove a worker; it leaves the broker"),
    Word("quit", "", "quit the console"),
    Word("system", "SYSTEM", "go to another system; it is opened if it does not run yet", seed=False),
    Word("attach", "[NAME]", "attach to another process: its name, endpoint or pid; without one choose", seed=False),
    Word("protocol", "", "show the system in its protocol's own terms", seed=False),
    Word("fault", "FAULT [TARGET]", "inject a fault in the sandbox: kill w3, cut w2 5, … ; f lists all", seed=False),
    Word("withdraw", "CLIENT", "drop what waits of a client; v lists them where tasks have an owner", seed=False),
    Word("undrain", "WORKER", "give a drained worker tasks again", seed=False),
    Word("expire", "WORKER", "count a worker as lost now: others get what it holds", seed=False),
    Word("slots", "WORKER N", "let a worker of this process take N tasks at a time", seed=False),
    Word("log-level", "error|warning|info|debug", "what a process without a screen tells on stderr", seed=False),
    Word("requeue", "WORKER|CLIENT [TASK]", "take back what a worker holds, or one task of a client", seed=False),
    Word("pause", "", "give out no tasks", seed=False),
    Word("resume", "", "give out tasks again, without a limit", seed=False),
    Word("throttle", "RATE|off [CLIENT]", "give out so many tasks a second, of all or of one client", seed=False),
    Word("undo", "", "take back the newest order to the broker that can be", seed=False),
    Word("pair", "[show|back|serve]", "who of a pair serves; back: hand it back; serve: though unheard", seed=False),
    Word(
        "config",
        "skew|heartbeat_interval VALUE",
        "serve this value in the next config_version; peers that run another negotiate anew",
        seed=False,
    ),
    Word("stop", "[WORKER]", "stop the current run; a worker: it finishes its tasks and leaves", seed=False),
    Word("kill", "WORKER", "a worker here vanishes without a word, after a question", seed=False),
    Word("freeze", "WORKER [SECONDS]", "stop a worker here, or the broker, for so long, after a question", seed=False),
    Word("cut", "WORKER [SECONDS]", "let nothing pass between a worker, or the client, and its broker", seed=False),
    Word("restart", "WORKER", "start a worker here, or the broker, anew; it knows nothing", seed=False),
    Word("slow", "[WORKER] SECONDS", "let all workers here, or one, answer so late; 0: at once again", seed=False),
    Word("lane", "seed|packed", "write messages as the seed does, or many tasks in one message", seed=False),
    Word("transport", "tcp|inproc", "let client and workers here go over tcp, or inside this process", seed=False),
    Word("trace", "on|off", "begin to trace messages, or end it; a trace goes on in the background", seed=False),
    Word("theme", "[THEME]", "change the colour theme", seed=False),
    Word("sort", "COLUMN", "sort the workers; the same column again reverses the order", seed=False),
    Word("filter", "[RE]", "show only workers that match; !RE: that do not match", seed=False),
    Word("clients", "", "list who sends tasks", seed=False),
    Word("backlog", "[CLIENT]", "list the tasks under way, the oldest first; of one client", seed=False),
    Word(
        "charts",
        "",
        "throughput, backlog, latency and lost workers over a minute to a week; z turns the span",
        seed=False,
    ),
    Word("runs", "", "list the kept runs", seed=False),
    Word(
        "compare",
        "RUN RUN [%]",
        "compare two kept runs by their ids; the second worse by more than % is a regression",
        seed=False,
    ),
    Word("alerts", "", "list the alerts of all systems", seed=False),
    Word("help", "", "list all keys and commands", seed=False),
)
BY_NAME = {word.name: word for word in WORDS}
STEER = ("undrain", "expire", "requeue", "slots", "log-level", "pause", "resume", "throttle", "undo")
"""Orders to the broker."""

_OF_QUEUES = {
    "system": "", "attach": "", "theme": "", "alerts": "", "help": "", "quit": "", "trace": "",
    "kill": "kill a driver, after a question; another one takes its place",
    "fault": "inject a fault in the sandbox: kill 3, full 5, crash parse.3, … ; f lists all",
}  # fmt: skip
QUEUE_WORDS = (
    *(
        word._replace(help=_OF_QUEUES[word.name] or word.help, usage="DRIVER" if word.name == "kill" else word.usage)
        for word in WORDS
        if word.name in _OF_QUEUES
    ),
    Word("feed", "FILE …", "feed files into the first queue; their names are the ids", seed=False),
)
"""The commands that disk queues have."""


class Command(NamedTuple):
    """A command's name and its argument: of a bulk run or a pool what was asked, else text."""

    name: str
    argument: str | bulks.Asked | pools.Wanted


class CommandError(ValueError):
    """The line is no command. The text names what was typed and suggests what was meant."""


def parse(line: str, words: Sequence[Word] = WORDS) -> Command:
    """Read one line, without its colon. Raises ``CommandError``."""
    name, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    word = next((word for word in words if word.name == name.lower()), None)
    if word is None:
        raise CommandError(f"unknown command {clean(name)!r} · {_suggestion(name, words)}")
    if not word.usage:
        if rest:
            raise CommandError(f"{word.name} takes no argument, got {clean(rest)!r}")
        return Command(word.name, "")
    if word.usage in (BULK, POOL):
        try:
            return Command(word.name, bulks.read(word.name, rest) if word.usage == BULK else pools.read(rest))
        except ValueError as error:
            raise CommandError(str(error)) from None
    if not rest and not word.usage.startswith("["):
        raise CommandError(f"{word.name} needs {word.usage}")
    if word.name == "pair":
        if rest not in ("", "show", "back", "serve"):
            raise CommandError(f"pair is {word.usage.strip('[]').replace('|', ', ')}; got {clean(rest)!r}")
        rest = rest.removeprefix("show")
    return Command(word.name, rest)


def _nothing(what: str) -> Sequence[str]:
    return ()


def completions(line: str, words: Sequence[Word] = WORDS, names: Names = _nothing) -> list[str]:
    """All whole lines that this one may become by completing its last word, in the order of the words or names."""
    head, blank, last = line.rpartition(" ")
    if not blank:
        fits = [word for word in words if line and word.name.startswith(line.lower())]
        return [word.name + (" " if word.usage else "") for word in fits if word.name != line or word.usage]
    first, *before = head.split() or [""]
    word = next((word for word in words if word.name == first.lower()), None)
    usage = word.usage.split() if word is not None else []
    if usage[1:] == ["…"]:  # as many as one likes
        usage = usage[:1] * (len(before) + 1)
    what = usage[len(before)] if len(before) < len(usage) else ""
    if what == files.FILE:
        return [f"{head} {path}" for path in files.beginning_with(last) if path != last]
    if word is not None and word.usage == BULK and last.startswith("-"):
        return [f"{head} {option} " for option in bulks.OPTIONS if option.startswith(last)]
    if word is not None and word.usage == POOL and last.startswith("-"):
        return [f"{head} {option} " for option in pools.OPTIONS if option.startswith(last)]
    fixed = [choice for choice in what.strip("[]").split("|") if not choice.isupper()]
    choices = fixed if "|" in what else names(what) if what else ()
    return [f"{head} {name}" for name in choices if name.lower().startswith(last.lower()) and name != last]


def complete(line: str, words: Sequence[Word] = WORDS, names: Names = _nothing) -> str | None:
    """The first of them, or None."""
    return next(iter(completions(line, words, names)), None)


def _suggestion(name: str, words: Sequence[Word]) -> str:
    close = difflib.get_close_matches(name.lower(), [word.name for word in words], n=3, cutoff=0.5)
    return "did you mean " + " or ".join(close) + "?" if close else "help lists all commands"
