from __future__ import annotations

from pathlib import Path

from console.systems.roundrobin import TURNING, table_lines, waiting_lines
from engine.parts.bulk import BulkSpec
from engine.parts.view import ClientRow
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive
from tests.helpers.protocols import User, on, running_sandbox


def texts(lines: list[list[tuple[str, str]]]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


def test_the_table_turns_with_each_task(tmp_path: Path) -> None:
    lab = running_sandbox(workers=3, tasks=0)

    async def scenario(user: User) -> None:
        await user.press("v")
        seen = []
        for _ in range(3):
            await user.pass_time(0.25)
            first = user.line("╭─▶ ")
            assert "next" in first and user.shows("╰── ")
            seen.append(first.split()[2])
            lab.run(BulkSpec("ping", 1))
            lab.advance(2.0)
        assert len(set(seen)) == 3, "whoever was given a task is last"

    on(lab, scenario, tmp_path)


def test_what_waits_and_who_is_not_in_turn_stand_beside_it(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        lab = driver.lab
        lab.replace(1, free=0, state="busy")
        lab.replace(2, state="lost")
        lab.clients = (ClientRow(b"flood", 90, lab.at, 70, 0, lab.at - 12),)
        lab.at += 0.1
        lab.publish()
        broker = lab.feed.pictures["broker"]
        lab.feed.show("broker", broker._replace(order=(lab.workers[0].key,), backlog=70))
        driver.app.tick()
        await driver.press("v")
        for words in ("╶─▶ tern-01", "an INCREMENT frees a slot", "what it held waits again", "■ … 70 12s"):
            assert driver.shows(words), words

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False))


def test_nobody_to_turn(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        picture = driver.app.look()
        assert "nobody has a free slot" in "\n".join(texts(table_lines(picture)))
        many = tuple(lab.key for lab in driver.lab.workers)
        broker = picture.broker._replace(order=many)
        assert f"and {40 - TURNING} more" in "\n".join(texts(table_lines(picture._replace(broker=broker))))
        assert "elsewhere" in "\n".join(texts(waiting_lines(picture._replace(broker=None))))

    drive(scenario, tmp_path, lab=FakeLab(40, busy=False))
