"""The stage of disk queues as the console has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.desks.queuestagedesk import ROOM, QueueStageDesk
from console.history import History
from engine.errors import Refused
from engine.protocols.diskqueue.options import Options


def desk_of(folder: Path) -> QueueStageDesk:
    return QueueStageDesk(Options(keep_input=False), History(folder / "history"))


def test_it_is_the_pipeline_with_little_room(tmp_path: Path) -> None:
    desk = desk_of(tmp_path)
    assert (desk.stage.options.keep_input, desk.stage.options.max_files) == (False, ROOM)
    desk.settle()
    picture = desk.look(0.0)
    assert desk.stage.now == 3.0 and [row.running for row in picture.view.stages] == [1, 2, 1]
    assert picture.fed == picture.books.total == 4 and picture.up == 3.0


def test_its_faults_and_their_targets(tmp_path: Path) -> None:
    desk = desk_of(tmp_path)
    desk.settle()
    known = {fault.name: desk.targets(fault) for fault in desk.faults()}
    assert known["kill"] == ("values.1", "parse.2", "parse.3", "output.4") and len(known) == 12
    assert desk.plan("kill parse.2").does.startswith("driver 2 is dead")
    with pytest.raises(Refused, match="no fault"):
        desk.plan("bore")
