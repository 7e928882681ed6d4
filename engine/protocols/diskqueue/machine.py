"""State machines of disk queues: a document, a driver, and a driver and a stage as their watchdog sees them.

The cores go through these rows, the state maps draw them, and the README quotes them. A document's next name follows
from the state that its row leads to.
"""

from __future__ import annotations

from typing import Final

from engine.parts.machine import Machine, Row


class Rule:
    """Rules of the seed, by number and in short; or of our README."""

    TAKE: Final = "003 row 1: <id>.ready becomes <id>.<N>.working"
    PUBLISH: Final = "003 row 2: write, rename, delete the input"
    FAIL: Final = "003 row 3: .working becomes .failed, tried once more"
    DISCARD: Final = "003 row 4: fails again, .failed_twice"
    DONE: Final = "003 row 5: done runs down the pipeline"
    RACE: Final = "003 row 6: the loser goes on to the next"
    AGAIN: Final = "003 row 7: .failed where there is no .ready"
    LOCKED: Final = "003 row 8: a name with a number is its driver's"
    FEED: Final = "003 row 8: a feeder copies under another name, renames"
    ROOM: Final = "003 row 9: waits while the destination is full"
    FILES: Final = "003 row 10: quit file and timer file"
    WATCH: Final = "003 row 11: restarts to the wanted numbers"
    INHERIT: Final = "ruling 21: any driver settles what a dead one left"
    CRASH: Final = "ruling 1: a crash counts as a failure"
    RECORD: Final = "ruling 1: failures are written down first"
    COUNTS: Final = "ruling 1: from here on it counts as published"
    ORDER: Final = "ruling 2: ready before failed, oldest first"
    KEPT: Final = "ruling 3: the input of a document that was given up"
    SYNC: Final = "ruling 5: on the disk before it is published"
    HOLDS: Final = "ruling 5: who holds no lock of ours is left alone"
    BACK: Final = "ruling 7: nothing was wrong with it"
    LEAVE: Final = "ruling 7: finishes its document, gives it back at the second order"
    TROUBLE: Final = "ruling 8: a disk in trouble is nobody's failure"
    RESTART: Final = "ruling 12: replaced at once, or after a while"
    GIVES_UP: Final = "ruling 12: the fifth in a row stops the stage"
    OTHERS: Final = "ruling 16: others write in the folders too"
    OUTCOME: Final = "ruling 17: an error is an outcome"
    RETRY: Final = "ours: an operator gives two fresh attempts"
    OPERATOR: Final = "ours: what an operator orders"
    LOG: Final = "ours: one line a document"


class Item:
    """States of a document in one queue. Published: it stands in the next one; gone: others have it."""

    READY: Final = "ready"
    FAILED: Final = "failed"
    WORKING: Final = "working"
    PUBLISHING: Final = "publishing"
    PUBLISHED: Final = "published"
    FAILED_TWICE: Final = "failed_twice"
    KEPT: Final = "kept"
    GONE: Final = "gone"


class Does:
    """States of a driver. Blocked: its destination is full, or its document waits for a disk in trouble."""

    STARTING: Final = "starting"
    TAKING: Final = "taking"
    IDLE: Final = "idle"
    BLOCKED: Final = "blocked"
    WORKING: Final = "working"
    PUBLISHING: Final = "publishing"
    FAILING: Final = "failing"
    ENDED: Final = "ended"


class Seen:
    """States of a driver as its watchdog sees it. Dead: what it held is to be settled."""

    ABSENT: Final = "absent"
    RUNNING: Final = "running"
    LEAVING: Final = "leaving"
    DEAD: Final = "dead"


class Runs:
    """States of a stage."""

    RUNNING: Final = "running"
    PAUSED: Final = "paused"
    STOPPED: Final = "stopped"
    DONE: Final = "done"


class On:
    """Events."""

    TAKEN: Final = "a driver takes it"
    LOST: Final = "another driver takes it"
    CLASH: Final = "its next name is in use"
    BARRED: Final = "only another user can rename it"
    PROCESSED: Final = "processed"
    RENAMED: Final = "its output is renamed"
    REFUSED: Final = "its output can not be renamed"
    FAILS: Final = "fails"
    BACK: Final = "given back"
    TAKEN_AWAY: Final = "somebody takes it away"
    DIES: Final = "its driver dies"
    RETRIED: Final = "an operator retries"
    FED: Final = "another of its id is taken"

    SETTLED: Final = "all is settled"
    NOTHING: Final = "nothing to take"
    FULL: Final = "the destination is full"
    INHERITED: Final = "another driver has died"
    WAKES: Final = "it has slept"
    DONE: Final = "all is done"
    QUIT: Final = "the quit file is there"
    LEAVE: Final = "told to leave"
    CANCELLED: Final = "told to give it back"
    NO_ROOM: Final = "its output can not be written"
    TROUBLE: Final = "the disk refuses"

    SPAWNED: Final = "too few"
    FOUND: Final = "it runs already"
    TOLD: Final = "to leave"
    KILLED: Final = "to be killed"
    EXITED: Final = "it ended"
    LOCKS: Final = "it holds a document"
    ANSWERED: Final = "its documents are looked at"

    MORE: Final = "something is left"
    VAIN: Final = "drivers find nothing and end"
    BROKEN: Final = "a driver can not start"
    PAUSE: Final = "to be paused"
    RESUME: Final = "to be resumed"
    WORKERS: Final = "other numbers wanted"


class If:
    """Guards."""

    SECOND: Final = "at the second attempt"
    KEPT: Final = "at the second attempt, input kept"
    STUCK: Final = "and its next name is in the way"
    UNTRUE: Final = "with another output than it promised"
    BLOCKED: Final = "while its document waits"
    LEAVES: Final = "while it is to leave"
    FAILED: Final = "with an error"
    ALL: Final = "with all others"
    NOT_SETTLED: Final = "and stay as they are"
    PAUSED: Final = "while it is paused"
    STOPPED: Final = "while it is stopped"


_RECOVERS: Final = "whoever recovers"
_SETTLE: Final = "settle what it held"
_SAY: Final = "say it once"

ITEM: Final = Machine(
    (
        *(Item.READY, Item.FAILED, Item.WORKING, Item.PUBLISHING, Item.PUBLISHED),
        *(Item.FAILED_TWICE, Item.KEPT, Item.GONE),
    ),
    (
        Row(Item.READY, On.TAKEN, "rename", Item.WORKING, Rule.TAKE),
        Row(Item.READY, On.LOST, "go on to the next", Item.GONE, Rule.RACE),
        Row(Item.READY, On.CLASH, "tell of a second driver", Item.READY, Rule.LOCKED),
        Row(Item.READY, On.BARRED, _SAY, Item.READY, Rule.OTHERS),
        Row(Item.FAILED, On.TAKEN, "rename, record", Item.WORKING, Rule.AGAIN),
        Row(Item.FAILED, On.LOST, "go on to the next", Item.GONE, Rule.RACE),
        Row(Item.FAILED, On.CLASH, "tell of a second driver", Item.FAILED, Rule.LOCKED),
        Row(Item.FAILED, On.BARRED, _SAY, Item.FAILED, Rule.OTHERS),
        Row(Item.WORKING, On.PROCESSED, "sync the output, promise", Item.PUBLISHING, Rule.COUNTS),
        Row(Item.WORKING, On.FAILS, "record, rename", Item.FAILED, Rule.FAIL),
        Row(Item.WORKING, On.FAILS, "record, mark, remove", Item.FAILED_TWICE, Rule.DISCARD, If.SECOND),
        Row(Item.WORKING, On.FAILS, "record, mark, rename", Item.KEPT, Rule.KEPT, If.KEPT),
        Row(Item.WORKING, On.FAILS, "keep its name", Item.WORKING, Rule.OUTCOME, If.STUCK),
        Row(Item.WORKING, On.BACK, "rename", Item.READY, Rule.BACK),
        Row(Item.WORKING, On.BACK, "record, rename", Item.FAILED, Rule.BACK, If.SECOND),
        Row(Item.WORKING, On.TAKEN_AWAY, "say it", Item.GONE, Rule.OUTCOME),
        Row(Item.WORKING, On.DIES, f"{_RECOVERS} records, renames", Item.FAILED, Rule.CRASH),
        Row(Item.WORKING, On.DIES, f"{_RECOVERS} marks, removes", Item.FAILED_TWICE, Rule.DISCARD, If.SECOND),
        Row(Item.WORKING, On.DIES, f"{_RECOVERS} marks, renames", Item.KEPT, Rule.KEPT, If.KEPT),
        Row(Item.WORKING, On.DIES, f"{_RECOVERS} leaves it", Item.WORKING, Rule.OUTCOME, If.STUCK),
        Row(Item.PUBLISHING, On.RENAMED, "remove the input", Item.PUBLISHED, Rule.PUBLISH),
        Row(Item.PUBLISHING, On.REFUSED, "remove the promise", Item.WORKING, Rule.OUTCOME),
        Row(Item.PUBLISHING, On.DIES, f"{_RECOVERS} goes on", Item.PUBLISHED, Rule.COUNTS),
        Row(Item.PUBLISHING, On.DIES, f"{_RECOVERS} removes the promise", Item.WORKING, Rule.OTHERS, If.UNTRUE),
        Row(Item.FAILED_TWICE, On.FED, "remove", Item.GONE, Rule.KEPT),
        Row(Item.KEPT, On.FED, "remove", Item.GONE, Rule.KEPT),
        Row(Item.KEPT, On.RETRIED, "rename", Item.READY, Rule.RETRY),
    ),
)

DRIVER: Final = Machine(
    (
        *(Does.STARTING, Does.TAKING, Does.IDLE, Does.BLOCKED, Does.WORKING, Does.PUBLISHING, Does.FAILING),
        Does.ENDED,
    ),
    (
        Row(Does.STARTING, On.SETTLED, "write the timer file", Does.TAKING, Rule.FILES),
        Row(Does.TAKING, On.TAKEN, "process it", Does.WORKING, Rule.TAKE),
        Row(Does.TAKING, On.NOTHING, "sleep, longer each time", Does.IDLE, "003 row 9: sleeps while there is nothing"),
        Row(Does.TAKING, On.FULL, "sleep, longer each time", Does.BLOCKED, Rule.ROOM),
        Row(Does.TAKING, On.INHERITED, "settle what it held", Does.TAKING, Rule.INHERIT),
        Row(Does.TAKING, On.DONE, "write done, exit", Does.ENDED, Rule.DONE),
        Row(Does.TAKING, On.QUIT, "exit", Does.ENDED, Rule.FILES),
        Row(Does.TAKING, On.LEAVE, "exit", Does.ENDED, Rule.LEAVE),
        Row(Does.IDLE, On.WAKES, "look again", Does.TAKING, "003 row 9: sleeps while there is nothing"),
        Row(Does.BLOCKED, On.WAKES, "look again", Does.TAKING, Rule.ROOM),
        Row(Does.BLOCKED, On.WAKES, "process it again", Does.WORKING, Rule.TROUBLE, If.BLOCKED),
        Row(Does.BLOCKED, On.CANCELLED, "give it back", Does.FAILING, Rule.LEAVE),
        Row(Does.WORKING, On.PROCESSED, "publish it", Does.PUBLISHING, Rule.PUBLISH),
        Row(Does.WORKING, On.FAILS, "give it its next name", Does.FAILING, Rule.FAIL),
        Row(Does.WORKING, On.CANCELLED, "give it back", Does.FAILING, Rule.LEAVE),
        Row(Does.WORKING, On.NO_ROOM, "drop the output, sleep", Does.BLOCKED, Rule.TROUBLE),
        Row(Does.PUBLISHING, On.RENAMED, "look for the next", Does.TAKING, Rule.PUBLISH),
        Row(Does.PUBLISHING, On.REFUSED, "give it its next name", Does.FAILING, Rule.OUTCOME),
        Row(Does.FAILING, On.SETTLED, "look for the next", Does.TAKING, Rule.FAIL),
        *(
            Row(state, On.TROUBLE, "ask again later", state, Rule.TROUBLE)
            for state in (Does.STARTING, Does.TAKING, Does.WORKING, Does.PUBLISHING, Does.FAILING)
        ),
        *(
            Row(state, On.TROUBLE, "exit", Does.ENDED, Rule.LEAVE, If.LEAVES)
            for state in (Does.STARTING, Does.TAKING, Does.WORKING, Does.PUBLISHING, Does.FAILING)
        ),
    ),
)

SEEN: Final = Machine(
    (Seen.ABSENT, Seen.RUNNING, Seen.LEAVING, Seen.DEAD),
    (
        Row(Seen.ABSENT, On.SPAWNED, "start it", Seen.RUNNING, Rule.WATCH),
        Row(Seen.ABSENT, On.FOUND, "adopt it", Seen.RUNNING, "ruling 19: a driver is known"),
        Row(Seen.ABSENT, On.LOCKS, _SETTLE, Seen.DEAD, Rule.CRASH),
        Row(Seen.RUNNING, On.TOLD, "tell it to leave", Seen.LEAVING, Rule.WATCH),
        Row(Seen.RUNNING, On.KILLED, "kill it", Seen.RUNNING, Rule.OPERATOR),
        Row(Seen.RUNNING, On.KILLED, "kill it", Seen.LEAVING, Rule.OPERATOR, If.ALL),
        Row(Seen.RUNNING, On.EXITED, "replace it", Seen.ABSENT, Rule.RESTART),
        Row(Seen.RUNNING, On.EXITED, f"{_SETTLE}, replace it", Seen.DEAD, Rule.CRASH, If.FAILED),
        Row(Seen.LEAVING, On.TOLD, "tell it again", Seen.LEAVING, Rule.LEAVE),
        Row(Seen.LEAVING, On.KILLED, "kill it", Seen.LEAVING, Rule.OPERATOR),
        Row(Seen.LEAVING, On.KILLED, "kill it", Seen.LEAVING, Rule.OPERATOR, If.ALL),
        Row(Seen.LEAVING, On.EXITED, "none", Seen.ABSENT, Rule.WATCH),
        Row(Seen.LEAVING, On.EXITED, _SETTLE, Seen.DEAD, Rule.CRASH, If.FAILED),
        Row(Seen.DEAD, On.ANSWERED, "none", Seen.ABSENT, Rule.CRASH),
        Row(Seen.DEAD, On.ANSWERED, _SAY, Seen.ABSENT, Rule.HOLDS, If.NOT_SETTLED),
    ),
)

_LEAVE: Final = "its drivers leave"

STAGE: Final = Machine(
    (Runs.RUNNING, Runs.PAUSED, Runs.STOPPED, Runs.DONE),
    (
        Row(Runs.RUNNING, On.DONE, _SAY, Runs.DONE, Rule.DONE),
        Row(Runs.RUNNING, On.VAIN, "say why, start none", Runs.STOPPED, Rule.GIVES_UP),
        Row(Runs.RUNNING, On.BROKEN, "say why, start none", Runs.STOPPED, Rule.WATCH),
        Row(Runs.RUNNING, On.PAUSE, _LEAVE, Runs.PAUSED, Rule.OPERATOR),
        Row(Runs.RUNNING, On.RESUME, "forget what went wrong", Runs.RUNNING, Rule.OPERATOR),
        Row(Runs.RUNNING, On.WORKERS, "start or end some", Runs.RUNNING, Rule.OPERATOR),
        Row(Runs.PAUSED, On.DONE, _SAY, Runs.DONE, Rule.DONE),
        Row(Runs.PAUSED, On.VAIN, "say why", Runs.STOPPED, Rule.GIVES_UP),
        Row(Runs.PAUSED, On.PAUSE, "none", Runs.PAUSED, Rule.OPERATOR),
        Row(Runs.PAUSED, On.RESUME, "start them", Runs.RUNNING, Rule.OPERATOR),
        Row(Runs.PAUSED, On.WORKERS, "none", Runs.PAUSED, Rule.OPERATOR),
        Row(Runs.STOPPED, On.DONE, _SAY, Runs.DONE, Rule.DONE),
        Row(Runs.STOPPED, On.BROKEN, "say why", Runs.STOPPED, Rule.WATCH),
        Row(Runs.STOPPED, On.PAUSE, "none", Runs.STOPPED, Rule.OPERATOR),
        Row(Runs.STOPPED, On.RESUME, "start them", Runs.RUNNING, Rule.OPERATOR),
        Row(Runs.STOPPED, On.WORKERS, "start them", Runs.RUNNING, Rule.OPERATOR),
        Row(Runs.STOPPED, On.WORKERS, "none", Runs.PAUSED, Rule.OPERATOR, If.PAUSED),
        Row(Runs.DONE, On.MORE, "start them", Runs.RUNNING, Rule.WATCH),
        Row(Runs.DONE, On.MORE, "none", Runs.PAUSED, Rule.WATCH, If.PAUSED),
        Row(Runs.DONE, On.MORE, "none", Runs.STOPPED, Rule.WATCH, If.STOPPED),
        Row(Runs.DONE, On.BROKEN, "say why", Runs.DONE, Rule.WATCH),
        Row(Runs.DONE, On.PAUSE, "none", Runs.DONE, Rule.OPERATOR),
        Row(Runs.DONE, On.RESUME, "none", Runs.DONE, Rule.OPERATOR),
        Row(Runs.DONE, On.WORKERS, "none", Runs.DONE, Rule.OPERATOR),
    ),
)
