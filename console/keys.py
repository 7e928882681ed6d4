"""All keys of the console. Bindings, key bar, help and palette are made from these lists.

``[keymap]`` in the configuration maps these ids to other keys. The order is that of the key bar: a narrow terminal
cuts the last ones first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from textual.binding import Binding

from engine.catalogue import CATALOGUE


class Key(NamedTuple):
    """One action, its keys and its help text."""

    id: str
    keys: str  # as Textual takes them: "plus,equals_sign"
    action: str
    bar: str  # text in the key bar; "" keeps it out of the bar
    help: str


APP = (
    Key("help", "question_mark,f1", "help", "help", "list all keys and commands"),
    Key("quit", "q", "leave", "quit", "go back; on the main screen: quit, after a question if something would end"),
    Key("quit.ask", "ctrl+c", "ask_to_quit", "", "quit from any screen, after a question if something would end"),
    Key("quit.now", "ctrl+q", "quit", "", "quit at once, without a question"),
    Key("copy", "y", "copy", "", "copy the selected text, row or page to the clipboard of the terminal (OSC 52)"),
    Key("suspend", "ctrl+z", "suspend", "", "suspend the console, as in a shell; fg brings it back"),
    Key("theme", "t", "theme", "theme", "choose a colour theme"),
    Key("alerts", "exclamation_mark", "alerts", "", "list the alerts of all systems: acknowledge, silence, ring"),
)
ALERTS = (
    Key("alert.acknowledge", "a", "acknowledge", "acknowledge", "acknowledge the selected alert, until it clears"),
    Key("alert.silence", "z", "silence", "silence", "silence the selected alert for an hour; again: end that"),
    Key(
        "alert.bell",
        "b",
        "bell",
        "bell",
        "ring and notify through the terminal (OSC 9) when an alert fires, or no more",
    ),
)
MAIN = (
    Key("run.ping", "p", "bulkping", "bulkping", "bulkping: 100 pings"),
    Key("run.data", "d", "bulkdata", "bulkdata", "bulkdata: 2,000 data streams, all at once: the backlog fills"),
    Key("run.stop", "x", "stop_run", "stop run", "stop the current run"),
    Key("workers.add", "plus,equals_sign", "add_worker", "worker", "start a worker"),
    Key(
        "workers.remove",
        "minus",
        "remove_worker",
        "worker",
        "remove the newest worker: it finishes its tasks and leaves",
    ),
    Key(
        "worker.details",
        "enter",
        "details",
        "details",
        "details of the selected worker: tasks, counters, violations, routing id",
    ),
    Key(
        "worker.stop",
        "ctrl+k",
        "stop_worker",
        "stop worker",
        "stop the selected worker, or all marked ones; asks first",
    ),
    Key(
        "worker.drain",
        "ctrl+d",
        "drain_worker",
        "drain",
        "drain the selected worker, or all marked ones: they get nothing more; asks first",
    ),
    Key(
        "worker.mark",
        "m",
        "mark",
        "mark",
        "mark the selected worker, so that one order is for all marked ones; again: take the mark away",
    ),
    Key(
        "filter",
        "slash",
        "filter",
        "filter",
        "show only workers that match a regular expression; !RE: that do not match",
    ),
    Key("command", "colon", "app.command", "command", "type a command on any screen; tab completes it"),
    Key("sort", "s", "sort", "sort", "sort by the next column"),
    Key("sort.reverse", "S", "sort_reverse", "", "reverse the sort order"),
    Key(
        "worst", "W", "worst", "worst", "sort by p99 and select the slowest worker; where one is lost or late: that one"
    ),
    Key("lane", "P", "lane", "", "change the lane: the seed's own messages, or packed, many tasks in one message"),
    Key("group", "o", "group", "", "group the workers by pool; again: one list"),
    Key("pause", "space", "pause", "pause", "freeze the screen; the system keeps running"),
    Key("runs", "r", "runs", "runs", "list the kept runs"),
    Key("protocol", "v", "protocol", "protocol", "show the system in its protocol's own terms"),
    Key("back", "escape", "back", "", "clear the marks, then the filter, then the selection"),
    Key("focus.next", "tab", "app.focus_next", "", "go to the next panel"),
)
RUNS = tuple(
    key._replace(action=f"app.on_main('{key.action}')")
    for key in MAIN
    if key.id in ("run.ping", "run.data", "run.stop")
)
"""Keys of runs on the other screens of a system with a broker."""
TABLE = (
    Key("table.up", "up,k", "cursor(-1)", "", "up one row"),
    Key("table.down", "down,j", "cursor(1)", "", "down one row"),
    Key("table.page_up", "pageup,ctrl+b", "page(-1)", "", "up one page"),
    Key("table.page_down", "pagedown,ctrl+f", "page(1)", "", "down one page"),
    Key("table.top", "home,g", "edge(-1)", "", "go to the first row"),
    Key("table.bottom", "end,G", "edge(1)", "", "go to the last row"),
)
KEPT = (
    Key("run.show", "enter", "open", "show", "show the selected run in full"),
    Key(
        "run.compare",
        "c",
        "compare",
        "compare",
        "mark the selected run as A; on another run: compare it with A; on A: clear the mark",
    ),
    Key("export", "e", "export", "export", "write the kept runs as CSV and JSON to the state folder"),
    *(key for key in MAIN if key.id in ("sort", "sort.reverse")),
)
BACK = (Key("back", "escape,q", "back", "back", "go back to the main screen"),)
STOP = tuple(key for key in MAIN if key.id in ("worker.stop", "worker.drain"))
SYSTEM = tuple(
    Key(f"system.{number}", str(number), f"system('{name}')", "", f"go to {name}; it is opened if it does not run yet")
    for number, name in enumerate(CATALOGUE, 1)
)
ATTACH = (Key("attach", "A", "attach", "attach", "all that runs on this machine, the worst first; attach to one"),)
FLEET = (
    Key("fleet.open", "enter", "open", "attach", "attach to the selected process"),
    *(key for key in MAIN if key.id == "sort"),
)
TIMES = (
    Key("times", "i", "app.times", "times", "times of the day, or seconds since the system was opened: in all lists"),
)
"""In the key bar of lists that are read for their times."""
EVENTS = (
    Key("filter", "slash", "filter", "filter", "show only events that match: since 10:05 until 10:20 RE; !RE excludes"),
    Key("events.level", "l", "level", "level", "show events of all levels, warn or bad, bad"),
    Key("events.span", "z", "span", "span", "show events of all time, the last minute, ten minutes, hour"),
    *TIMES,
)
JOBS = (
    Key("job.tasks", "enter", "tasks", "tasks", "list the tasks of the selected job, and how each ended"),
    Key("job.hold", "h", "hold", "hold", "hold the selected job: give its tasks to no more workers"),
    Key("job.release", "l", "release", "release", "release the selected job"),
    Key("job.cancel", "ctrl+x", "cancel_job", "cancel", "cancel the waiting tasks of the selected job; asks first"),
    Key(
        "job.stop",
        "ctrl+k",
        "stop_workers",
        "stop workers",
        "stop all workers: they finish their tasks and leave; asks first",
    ),
    *(key for key in MAIN if key.id in ("sort", "sort.reverse")),
)
TASKS = (
    Key("task.log", "enter", "log", "log", "the end of the selected task's log"),
    Key("task.failed", "f", "failed", "failed", "show only the tasks that failed; again: all of them"),
    *(key for key in MAIN if key.id in ("sort", "sort.reverse")),
)
PAIR = (
    Key("pair.pull", "u", "pull_plug", "pull the plug", "kill the primary, as if its process had died; asks first"),
    Key("pair.back", "b", "hand_back", "bring it back", "start the primary again, or hand the service back to it"),
)
WAITS = (
    Key("clients", "U", "on_main('clients')", "clients", "list who sends tasks: rate, in flight, waiting, oldest"),
    Key("backlog", "B", "on_main('backlog')", "backlog", "list the tasks under way, the oldest first"),
    Key(
        "charts",
        "H",
        "on_main('charts')",
        "charts",
        "throughput, backlog, latency, lost workers over a minute up to a week",
    ),
)
SPAN = (Key("span", "z", "app.span", "span", "charts of the last minute, ten minutes, hour, day or week"),)
CHART = (
    Key("chart.left", "left", "move(-1)", "cursor", "move the chart's cursor, which names value and time"),
    Key("chart.right", "right", "move(1)", "cursor", "move it on"),
    Key("chart.far", "shift+left", "move(-10)", "", "move it ten columns"),
    Key("chart.near", "shift+right", "move(10)", "", "move it on ten columns"),
    Key("chart.unmark", "end", "unmark", "", "take the cursor away"),
)
TENDS = (
    Key("task.open", "enter", "open", "open", "of a client: its tasks; of a task: the worker that has it"),
    Key(
        "task.drop",
        "ctrl+k",
        "drop",
        "drop",
        "drop what waits of the selected client, or the selected task; asks first",
    ),
    *(key for key in MAIN if key.id in ("sort", "sort.reverse")),
)
TURN = (
    Key(
        "task.first",
        "shift+up",
        "turn(True)",
        "first",
        "give the selected task before the others; asks first",
    ),
    Key(
        "task.last",
        "shift+down",
        "turn(False)",
        "last",
        "give the selected task after the others; asks first",
    ),
)

SEE = (
    Key("events", "E", "events", "events", "list all events, by level, time and text"),
    Key("trace", "T", "see('trace')", "trace", "list every message, with the rule of the seed"),
    Key("ladder", "L", "see('ladder')", "ladder", "draw messages as arrows between client, broker and workers"),
    *(key._replace(bar="") for key in TIMES),
    Key("maps", "M", "see('maps')", "maps", "show each role's state machine and how many are in each state"),
    Key("conformance", "C", "see('conformance')", "conformance", "show who broke which rule, how often, and when last"),
    Key(
        "sandbox", "Z", "sandbox", "sandbox", "open a sandbox of the system: pause time, step by message, inject faults"
    ),
)
_OF_QUEUES = {
    "events": "list all events, by level, time and text",
    "times": "times of the day, or seconds since the pipeline was opened: in all lists",
    "trace": "list what each driver did with which file, with the rule",
    "ladder": "draw the same as arrows between queues and drivers",
    "maps": "show a document's states and how many are in each",
    "conformance": "show who broke which rule of the queues, how often, and when last",
    "sandbox": "open a sandbox of a pipeline: pause time, step by operation, inject faults",
}
SEE_QUEUES = tuple(key._replace(help=_OF_QUEUES[key.id]) for key in SEE if key.id in _OF_QUEUES)
MESSAGES = (
    Key("message", "enter", "message", "message", "details of the selected message: fields, times, rule, frames"),
    Key("follow", "F", "follow", "follow", "follow the selected message's task, with the time of each leg"),
    *TIMES,
    Key(
        "filter",
        "slash",
        "filter",
        "filter",
        'show only messages that match: worker=w7 cmd=READY task=12 size>99 violation "text" !term',
    ),
    Key("pause", "space", "pause", "pause", "freeze the list; the system keeps running"),
    Key("export", "e", "export", "export", "write the ladder as text and SVG to the state folder"),
    Key("why", "w", "why", "why", "in a recording: show why this worker was given this task"),
)
STEP = (
    Key("step.message", "n,space", "step_message", "message", "step to the next message"),
    Key("step.event", "full_stop", "step", "event", "step to the next event, whatever it is"),
    Key("step.faster", "plus,equals_sign", "speed(1)", "faster", "speed time up, to real time at most"),
    Key("step.slower", "minus", "speed(-1)", "slower", "slow time down, to a pause at last"),
    Key("step.fault", "f", "fault", "fault", "choose a fault; the protocol's promises are shown before it is injected"),
)
EXPLORE = (Key("explore", "X", "explore", "explore", "walk every order of events of a small scene of this system"),)
EXPLORED = (
    *(
        key._replace(help="choose what goes wrong in the scene, and walk it anew")
        for key in STEP
        if key.id == "step.fault"
    ),
    *(
        key._replace(action="maps", help="show which rows of the state machines were walked, and which never")
        for key in SEE
        if key.id == "maps"
    ),
)
_STEP_OF_QUEUES = {
    "step.message": ("document", "step until a document has its next name"),
    "step.event": ("operation", "step to the next operation, with its result"),
}
STEP_QUEUES = (
    *(
        key._replace(bar=_STEP_OF_QUEUES[key.id][0], help=_STEP_OF_QUEUES[key.id][1])
        if key.id in _STEP_OF_QUEUES
        else key
        for key in STEP
    ),
    Key("queue.details", "enter", "details", "details", "details of the selected operation: names, times, rule"),
)
COMMAND = tuple(key for key in MAIN if key.id == "command")
REPLAY = (
    Key("replay.play", "space", "play", "play", "play or pause"),
    Key("replay.back", "comma", "step(-1)", "step", "go back one message"),
    Key("replay.on", "full_stop", "step(1)", "step", "go on one message"),
    Key("replay.second", "left", "seek(-1)", "second", "go back one second"),
    Key("replay.seconds", "right", "seek(1)", "second", "go on one second"),
    Key("replay.ten", "shift+left", "seek(-10)", "", "go back ten seconds"),
    Key("replay.tens", "shift+right", "seek(10)", "", "go on ten seconds"),
    Key("replay.begin", "home", "edge(0)", "", "go to the beginning"),
    Key("replay.end", "end", "edge(10)", "", "go to the end"),
    Key("replay.faster", "plus,equals_sign", "speed(1)", "faster", "play faster"),
    Key("replay.slower", "minus", "speed(-1)", "slower", "play slower"),
    Key("why", "w", "why", "why", "show why the newest delivery went to its worker"),
    *(
        Key(f"replay.{tenth}", str(tenth), f"edge({tenth})", "", f"go to {10 * tenth} % of the recording")
        for tenth in range(10)
    ),
)
QUEUES = (
    Key("queue.details", "enter", "details", "details", "details of the selected document or driver"),
    Key(
        "stage.previous",
        "left",
        "screen.stage(-1)",
        "stage",
        "select the previous stage; orders apply to the selected stage",
    ),
    Key("stage.next", "right", "screen.stage(1)", "stage", "select the next stage"),
    Key("document.retry", "R", "retry", "retry", "give the selected document, which failed twice, two more attempts"),
    Key(
        "stage.pause",
        "h",
        "pause_stage",
        "pause stage",
        "pause the stage: its drivers finish and leave; again: resume it",
    ),
    Key("stage.add", "plus,equals_sign", "add_driver", "driver", "add a driver to the stage"),
    Key("stage.remove", "minus", "remove_driver", "driver", "remove a driver: it finishes its document and leaves"),
    Key("driver.kill", "ctrl+k", "kill_driver", "kill driver", "kill the selected driver; asks first"),
    Key("feed", "p", "feed", "feed", "put twenty demonstration documents into the first queue"),
    *(key._replace(bar="freeze") for key in MAIN if key.id == "pause"),
    *(
        key._replace(action="charts", bar="", help="documents done and waiting, over a minute up to a week")
        for key in WAITS
        if key.id == "charts"
    ),
    *COMMAND,
    *(key for key in MAIN if key.id in ("sort", "sort.reverse", "focus.next")),
    *(key._replace(help="clear the selection, then the sort order") for key in MAIN if key.id == "back"),
)
STAGES = tuple(key for key in QUEUES if key.id in ("stage.previous", "stage.next"))
RETRY = tuple(key for key in QUEUES if key.id == "document.retry")
KILL = tuple(key for key in QUEUES if key.id == "driver.kill")

TYPED = frozenset({"command", "filter"})
"""Keys that open an input line. They have priority, so that text typed ahead of the screen goes into that line."""
FIRST = TYPED | {key.id for key in REPLAY}
"""Keys with priority. Those of a recording are among them because tables use some of the same keys."""

IDS = frozenset(
    key.id
    for group in (
        APP,
        MAIN,
        WAITS,
        TENDS,
        TURN,
        SPAN,
        CHART,
        EVENTS,
        KEPT,
        TABLE,
        SYSTEM,
        ATTACH,
        FLEET,
        JOBS,
        TASKS,
        PAIR,
        QUEUES,
        SEE,
        MESSAGES,
        STEP,
        EXPLORE,
        REPLAY,
    )
    for key in group
)


OLD_IDS = {"stage": "sandbox"}
"""Ids of earlier versions that a user's configuration may still hold, and what they are called now."""


def current(keymap: Mapping[str, str]) -> dict[str, str]:
    """A keymap with today's ids. An id of today goes before an old one for the same key."""
    old = {OLD_IDS[name]: keys for name, keys in keymap.items() if name in OLD_IDS}
    return old | {name: keys for name, keys in keymap.items() if name not in OLD_IDS}


def bindings(keys: tuple[Key, ...]) -> list[Binding]:
    """Textual's bindings for these keys, with the text that the key bar and the palette show."""
    return [
        Binding(key.keys, key.action, key.bar or key.help, show=bool(key.bar), id=key.id, priority=key.id in FIRST)
        for key in keys
    ]
