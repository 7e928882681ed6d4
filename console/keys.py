"""Every key of the console in one place: the bindings, the key bar, the help and the palette are made of this list.

The ids are what ``[keymap]`` of the configuration remaps. The order is the key bar's: what comes first stays longest
on a narrow terminal.
"""

from __future__ import annotations

from typing import NamedTuple

from textual.binding import Binding

from engine.catalogue import SYSTEMS


class Key(NamedTuple):
    """An action and its keys."""

    id: str
    keys: str  # as Textual takes them: "plus,equals_sign"
    action: str
    bar: str  # in the key bar; "" where it is not shown there
    help: str


APP = (
    Key("help", "question_mark,f1", "help", "help", "every key and every word"),
    Key("quit", "q,ctrl+c", "quit", "quit", "leave; a run that is going is stopped"),
    Key("theme", "t", "theme", "theme", "choose the colours"),
)
MAIN = (
    Key("run.ping", "p", "bulkping", "bulkping", "bulkping: 100 pings"),
    Key("run.data", "d", "bulkdata", "bulkdata", "bulkdata: 100 data streams"),
    Key("run.stop", "x", "stop_run", "stop run", "send nothing more of the run that is going"),
    Key("workers.add", "plus,equals_sign", "add_worker", "worker", "start a worker"),
    Key("workers.remove", "minus", "remove_worker", "worker", "the youngest worker finishes and leaves"),
    Key("worker.details", "enter", "details", "details", "the chosen worker: its tasks, counters, violations, true id"),
    Key("worker.stop", "k", "stop_worker", "stop worker", "stop the chosen worker; asks first"),
    Key("filter", "slash", "filter", "filter", "show workers that match a regular expression; ! in front: do not"),
    Key("command", "colon", "command", "command", "type a command, the seed's words among them"),
    Key("sort", "s", "sort", "sort", "sort by the next column"),
    Key("sort.reverse", "S", "sort_reverse", "", "turn the order round"),
    Key("pause", "space", "pause", "pause", "freeze the picture; the engine goes on"),
    Key("runs", "r", "runs", "runs", "the kept runs"),
    Key("protocol", "v", "protocol", "protocol", "the system in its protocol's own terms"),
    Key("back", "escape", "back", "", "drop the filter; let go of the chosen worker"),
    Key("focus.next", "tab", "app.focus_next", "", "to the next panel"),
)
TABLE = (
    Key("table.up", "up", "cursor(-1)", "", "one row up"),
    Key("table.down", "down,j", "cursor(1)", "", "one row down"),
    Key("table.page_up", "pageup", "page(-1)", "", "one page up"),
    Key("table.page_down", "pagedown", "page(1)", "", "one page down"),
    Key("table.top", "home,g", "edge(-1)", "", "the first row"),
    Key("table.bottom", "end,G", "edge(1)", "", "the last row"),
)
BACK = (Key("back", "escape", "back", "back", "to the main screen"),)
STOP = tuple(key for key in MAIN if key.id == "worker.stop")
SYSTEM = tuple(
    Key(f"system.{number}", str(number), f"system('{name}')", "", f"to {name}, which is opened if it does not run yet")
    for number, name in enumerate(SYSTEMS, 1)
)
JOBS = (
    Key("job.hold", "h", "hold", "hold", "give no more tasks of the chosen job"),
    Key("job.release", "l", "release", "release", "let the chosen job go on"),
    Key("job.cancel", "c", "cancel_job", "cancel", "drop what waits of the chosen job; asks first"),
    Key("job.stop", "k", "stop_workers", "stop workers", "the workers end what they run, and go; asks first"),
)
PAIR = (
    Key("pair.pull", "u", "pull_plug", "pull the plug", "end the primary as if its process had died; asks first"),
    Key("pair.back", "b", "hand_back", "bring it back", "start the primary again; hand back to one that waits"),
)

TYPED = frozenset({"command", "filter"})
"""What opens a line comes before everything else, so that what was typed ahead of the screen goes into that line."""

IDS = frozenset(key.id for key in (*APP, *MAIN, *TABLE, *SYSTEM, *JOBS, *PAIR))


def bindings(keys: tuple[Key, ...]) -> list[Binding]:
    """The keys as Textual binds them; the text stands in the key bar and the palette."""
    return [
        Binding(key.keys, key.action, key.bar or key.help, show=bool(key.bar), id=key.id, priority=key.id in TYPED)
        for key in keys
    ]
