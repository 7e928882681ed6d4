"""Every key of the console in one place: the bindings, the key bar, the help and the palette are made of this list.

The ids are what ``[keymap]`` of the configuration remaps. The order is the key bar's: what comes first stays longest
on a narrow terminal.
"""

from __future__ import annotations

from typing import NamedTuple

from textual.binding import Binding

from engine.catalogue import CATALOGUE


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
KEPT = (
    Key("run.show", "enter", "open", "show", "the chosen run in full"),
    Key("run.compare", "c", "compare", "compare", "the chosen run is A; on another one: B against A; on A: none again"),
    Key("export", "e", "export", "export", "the kept runs as CSV and JSON, into the state folder"),
    *(key for key in MAIN if key.id in ("sort", "sort.reverse")),
)
BACK = (Key("back", "escape", "back", "back", "to the main screen"),)
STOP = tuple(key for key in MAIN if key.id == "worker.stop")
SYSTEM = tuple(
    Key(f"system.{number}", str(number), f"system('{name}')", "", f"to {name}, which is opened if it does not run yet")
    for number, name in enumerate(CATALOGUE, 1)
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

SEE = (
    Key("trace", "T", "see('trace')", "trace", "every message in words, with the rule of the seed"),
    Key("ladder", "L", "see('ladder')", "ladder", "messages as arrows between client, broker and workers"),
    Key("maps", "M", "see('maps')", "maps", "the state machine of each role, and how many stand where in it"),
    Key("conformance", "C", "see('conformance')", "conformance", "who broke which rule, how often, and when last"),
    Key("stage", "Z", "stage", "stage", "the system on a stage: stop time, let one message through, inject faults"),
)
_OF_QUEUES = {
    "trace": "what every driver did to which file, with the rule",
    "ladder": "the same as arrows between queues and drivers",
    "maps": "what can become of a document, and how many stand where",
    "conformance": "who broke which rule of the queues, how often, and when last",
    "stage": "a pipeline on a stage: stop time, let one operation happen, inject faults",
}
SEE_QUEUES = tuple(key._replace(help=_OF_QUEUES[key.id]) for key in SEE if key.id in _OF_QUEUES)
MESSAGES = (
    Key(
        "message", "enter", "message", "message", "the chosen message: fields, times, the rule, frames in hex and text"
    ),
    Key("follow", "F", "follow", "follow", "the life of the chosen message's task, with the time of each leg"),
    Key(
        "filter",
        "slash",
        "filter",
        "filter",
        'messages that fit: worker=w7 cmd=READY task=12 size>99 violation "text" !term',
    ),
    Key("pause", "space", "pause", "pause", "hold the list; the engine goes on"),
    Key("export", "e", "export", "export", "the ladder as text and SVG, into the state folder"),
    Key("why", "w", "why", "why", "in a recording: why this worker was given this task"),
)
STEP = (
    Key("step.message", "n,space", "step_message", "message", "let one message through"),
    Key("step.event", "full_stop", "step", "event", "let the next thing happen, whatever it is"),
    Key("step.faster", "plus,equals_sign", "speed(1)", "faster", "let time pass, faster: up to real time"),
    Key("step.slower", "minus", "speed(-1)", "slower", "slower, down to a world that stands"),
    Key(
        "step.fault", "f", "fault", "fault", "choose a fault, and read what the protocol promises before it is injected"
    ),
)
_STEP_OF_QUEUES = {
    "step.message": ("document", "go on until a document has its next name"),
    "step.event": ("operation", "let one operation happen, with its answer"),
}
STEP_QUEUES = (
    *(
        key._replace(bar=_STEP_OF_QUEUES[key.id][0], help=_STEP_OF_QUEUES[key.id][1])
        if key.id in _STEP_OF_QUEUES
        else key
        for key in STEP
    ),
    Key("queue.details", "enter", "details", "details", "the chosen operation: its names, its times, the rule"),
)
COMMAND = tuple(key for key in MAIN if key.id == "command")
REPLAY = (
    Key("replay.play", "space", "play", "play", "play, or hold"),
    Key("replay.back", "comma", "step(-1)", "step", "back by one message"),
    Key("replay.on", "full_stop", "step(1)", "step", "on by one message"),
    Key("replay.second", "left", "seek(-1)", "second", "back by a second"),
    Key("replay.seconds", "right", "seek(1)", "second", "on by a second"),
    Key("replay.ten", "shift+left", "seek(-10)", "", "back by ten seconds"),
    Key("replay.tens", "shift+right", "seek(10)", "", "on by ten seconds"),
    Key("replay.begin", "home", "edge(0)", "", "to the beginning"),
    Key("replay.end", "end", "edge(10)", "", "to the end"),
    Key("replay.faster", "plus,equals_sign", "speed(1)", "faster", "play faster"),
    Key("replay.slower", "minus", "speed(-1)", "slower", "play slower"),
    Key("why", "w", "why", "why", "why the worker was given the task that was given last"),
    *(
        Key(f"replay.{tenth}", str(tenth), f"edge({tenth})", "", f"to {10 * tenth} % of the recording")
        for tenth in range(10)
    ),
)
QUEUES = (
    Key("queue.details", "enter", "details", "details", "the chosen document or driver: all that is known of it"),
    Key("stage.previous", "left", "screen.stage(-1)", "stage", "the stage before; orders mean the chosen stage"),
    Key("stage.next", "right", "screen.stage(1)", "stage", "the next stage"),
    Key("document.retry", "r", "retry", "retry", "two fresh attempts for the chosen document that failed twice"),
    Key("stage.pause", "p", "pause_stage", "pause stage", "the stage's drivers finish and leave; again: they are back"),
    Key("stage.add", "plus,equals_sign", "add_driver", "driver", "one more driver for the stage"),
    Key("stage.remove", "minus", "remove_driver", "driver", "one driver less: it finishes its document and leaves"),
    Key("driver.kill", "k", "kill_driver", "kill driver", "kill the chosen driver; asks first"),
    Key("feed", "f", "feed", "feed", "feed twenty documents of the demonstration"),
    *(key._replace(bar="freeze") for key in MAIN if key.id == "pause"),
    *COMMAND,
    *(key for key in MAIN if key.id in ("sort", "sort.reverse", "focus.next")),
    *(key._replace(help="let go of the chosen row, and of the order by a column") for key in MAIN if key.id == "back"),
)
STAGES = tuple(key for key in QUEUES if key.id in ("stage.previous", "stage.next"))
RETRY = tuple(key for key in QUEUES if key.id == "document.retry")
KILL = tuple(key for key in QUEUES if key.id == "driver.kill")

TYPED = frozenset({"command", "filter"})
"""What opens a line comes before everything else, so that what was typed ahead of the screen goes into that line."""
FIRST = TYPED | {key.id for key in REPLAY}
"""So do the keys that move through a recording: some of them move in tables elsewhere."""

IDS = frozenset(
    key.id for key in (*APP, *MAIN, *KEPT, *TABLE, *SYSTEM, *JOBS, *PAIR, *QUEUES, *SEE, *MESSAGES, *STEP, *REPLAY)
)


def bindings(keys: tuple[Key, ...]) -> list[Binding]:
    """The keys as Textual binds them; the text stands in the key bar and the palette."""
    return [
        Binding(key.keys, key.action, key.bar or key.help, show=bool(key.bar), id=key.id, priority=key.id in FIRST)
        for key in keys
    ]
