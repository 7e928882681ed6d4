from __future__ import annotations

import signal
from concurrent.futures import Future
from pathlib import Path

import pytest
from textual import events

from console import keys
from console.screens.commandline import CommandLine
from engine.errors import Refused
from tests.helpers.fake_lab import FakeLab, FakeLabs, FakeSettings
from tests.helpers.fake_queues import FakeQueues
from tests.helpers.pilot import Driver, drive


def test_quit_at_once(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("ctrl+q")
        assert not driver.app.is_running

    app = drive(scenario, tmp_path)
    assert app.signal_received is None
    assert app.summary is not None and app.summary.startswith("bulkping 100,000: not finished")


def test_without_a_run_there_is_no_summary(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("q")

    assert drive(scenario, tmp_path, lab=FakeLab(0, busy=False)).summary is None


def test_what_a_lab_has_left_for_later_is_started_when_the_screen_was_drawn(tmp_path: Path) -> None:
    class Later(FakeLab):
        filled = 0

        def fill(self) -> None:
            self.filled += 1
            raise Refused("10,000 more workers: 40,000 file descriptors are needed")

    async def scenario(driver: Driver) -> None:
        await driver.pilot.pause()
        assert lab.filled == 1 and "descriptors are needed" in driver.notice

    lab = Later(0, busy=False)
    drive(scenario, tmp_path, lab=lab)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(tmp_path: Path, number: signal.Signals) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("the suite runs in the background, where this signal is ignored")

    async def scenario(driver: Driver) -> None:
        signal.raise_signal(number)
        await driver.pilot.pause()
        await driver.pilot.pause()
        assert not driver.app.is_running

    app = drive(scenario, tmp_path)
    assert app.signal_received == number
    assert app.return_code == 128 + number
    assert app.summary is not None


def test_an_exception_is_not_swallowed(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        def boom() -> object:
            raise ZeroDivisionError("in the engine's health")

        driver.lab.health = boom  # type: ignore[method-assign, assignment]
        driver.app.call_later(driver.app.tick)
        await driver.pilot.pause()
        await driver.pilot.pause()

    with pytest.raises(ZeroDivisionError, match="health"):
        drive(scenario, tmp_path)


def test_every_key_is_in_the_palette(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        commands = list(driver.app.get_system_commands(driver.main))
        helps = {command.help for command in commands}
        there = (*keys.MAIN, *keys.APP, *keys.SYSTEM[:3])
        assert helps == {key.help for key in there if key.id != "focus.next"}
        titles = [command.title for command in commands]
        assert {"bulkdata  · d", "drain  · ctrl+d", "worker  · + =", "clients"} & set(titles) == {
            "bulkdata  · d",
            "drain  · ctrl+d",
            "worker  · + =",
        }, "each with its keys"
        await driver.press("ctrl+p")
        await driver.type("bulkdata")
        await driver.press("enter")
        await driver.pilot.pause()
        assert [order[0] for order in driver.lab.orders] == ["run"]

    drive(scenario, tmp_path)


def test_an_unknown_key_id_and_theme_are_told(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert driver.notice == "× keymap: there is no key 'run.pong' · help lists all"

    drive(scenario, tmp_path, settings=FakeSettings(tmp_path, keymap={"run.pong": "f5"}))

    async def other(driver: Driver) -> None:
        assert driver.notice.startswith("× no theme 'nonsense'")

    drive(other, tmp_path, settings=FakeSettings(tmp_path, theme="nonsense"))


def test_a_history_that_can_not_be_used_is_told_and_harms_nothing(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert driver.notice.startswith("! the history can not be read")
        await driver.command("pingt")
        assert driver.lab.orders == [("ping", True)]

    (tmp_path / "state" / "history").mkdir(parents=True)
    drive(scenario, tmp_path)


def test_a_changed_theme_file_is_taken_and_a_broken_one_leaves_the_old(tmp_path: Path) -> None:
    settings = FakeSettings(tmp_path, theme="mine")
    folder = settings.config_folder / "themes"
    folder.mkdir(parents=True)
    file = folder / "mine.toml"
    file.write_text('[theme]\nprimary = "#112233"\n')

    async def scenario(driver: Driver) -> None:
        app = driver.app
        assert app.theme == "mine" and app.theme_variables["primary"] == "#112233"
        file.write_text('[theme]\nprimary = "#445566"\n')
        await driver.command("theme mine")
        await driver.pilot.pause()
        assert app.theme_variables["primary"] == "#445566"
        file.write_text('[theme]\nprimary = "#4455"\nbad = 1')
        await driver.command("theme mine")
        assert driver.notice == "× mine.toml:3: theme.bad is unknown"
        assert app.theme == "mine" and app.theme_variables["primary"] == "#445566"

    drive(scenario, tmp_path, settings=settings)


def test_no_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def scenario(driver: Driver) -> None:
        strips = driver.app.screen._compositor.render_strips(driver.app.size)
        table = driver.main.table
        for strip in strips:
            for segment in strip.apply_filter(driver.app._filters[-1], table.background_colors[1]):
                for colour in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                    triplet = colour.triplet if colour else None
                    assert triplet is None or triplet.red == triplet.green == triplet.blue
        assert all(driver.shows(text) for text in ("○ lost", "◐ late", "◇ drain", "● DEGRADED"))

    drive(scenario, tmp_path)


def test_hammered_keys_do_no_harm(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        for _ in range(3):
            for key in (
                "p",
                "d",
                "x",
                "plus",
                "minus",
                "s",
                "S",
                "space",
                "down",
                "ctrl+k",
                "escape",
                "r",
                "escape",
                "enter",
            ):
                await driver.pilot.press(key)
            await driver.press(
                "escape", "t", "escape", "question_mark", "escape", "slash", "a", "escape", "colon", "escape"
            )
            await driver.tick()
        assert driver.app.is_running
        assert ("stop_worker",) not in [order[:1] for order in driver.lab.orders]

    drive(scenario, tmp_path)


def test_a_key_opens_another_system_and_leads_back_to_what_was_there(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("down", "down", "s")
        cursor, order = driver.main.table.cursor, driver.main.table.sort_column
        await driver.press("2")
        assert (driver.app.session.name, list(driver.labs.running)) == ("conversation", ["roundrobin", "conversation"])
        assert driver.at_main and driver.main.table.cursor is None
        await driver.tick()
        assert driver.shows("1● roundrobin 2● conversation")
        await driver.press("p")
        assert [order[0] for order in driver.lab.orders] == ["run"]
        await driver.press("v")
        await driver.press("1")
        assert driver.app.session.name == "roundrobin" and driver.at_main
        assert (driver.main.table.cursor, driver.main.table.sort_column) == (cursor, order)
        assert driver.lab.orders == []
        await driver.press("2")
        assert not driver.at_main, "its protocol screen is still open"

    drive(scenario, tmp_path)


def test_what_happens_elsewhere_meanwhile_is_not_missed(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("2")
        driver.labs.known["roundrobin"].fact("it happened behind your back", "bad")
        for _ in range(3):
            driver.labs.known["roundrobin"].advance(0.25)
            await driver.tick()
        await driver.press("1")
        await driver.tick(0.0)
        assert driver.shows("it happened behind your back")
        assert driver.app.session.picture is not None and len(driver.app.session.picture.backlog) >= 4

    drive(scenario, tmp_path, lab=FakeLab(2, busy=False))


def test_a_lab_that_can_not_be_opened_is_told_and_asked_again(tmp_path: Path) -> None:
    labs = FakeLabs(FakeLab(1, busy=False))

    async def scenario(driver: Driver) -> None:
        labs.refusals["conversation"] = Refused("can not bind [/b] it")
        await driver.press("2")
        assert driver.notice == "× conversation can not be opened: can not bind [/b] it"
        labs.refusals["conversation"] = OSError("too many open files")
        await driver.press("2")
        assert driver.notice == "× conversation can not be opened: OSError: too many open files"
        assert driver.app.session.name == "roundrobin"
        del labs.refusals["conversation"]
        await driver.press("2")
        assert driver.app.session.name == "conversation"

    drive(scenario, tmp_path, labs=labs)


def test_a_lab_that_opens_slowly_holds_up_nobody(tmp_path: Path) -> None:
    labs = FakeLabs(FakeLab(1, busy=False))
    labs.slow = True

    async def scenario(driver: Driver) -> None:
        await driver.press("3")
        assert driver.notice == "· pingpong is being opened"
        await driver.press("p")
        assert [order[0] for order in driver.lab.orders] == ["run"]
        labs.finish("pingpong")
        await driver.pilot.pause()
        await driver.pilot.pause()
        assert driver.app.session.name == "pingpong"

    drive(scenario, tmp_path, labs=labs)


def test_systems_by_word(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.command("system ping")
        assert driver.app.session.name == "pingpong"
        await driver.command("system nonsense")
        assert driver.notice == "× no system 'nonsense' · there are roundrobin, conversation, pingpong"
        await driver.command("system roundrobin")
        assert driver.app.session.name == "roundrobin"

    drive(scenario, tmp_path)


def test_an_order_whose_answer_comes_late_is_told_when_it_comes(tmp_path: Path) -> None:
    labs = FakeLabs(FakeLab(1, busy=False))
    answers: list[Future[object]] = []

    def order(name: str, give: object) -> Future[object]:
        answers.append(Future())
        return answers[-1]

    labs.order = order  # type: ignore[method-assign]

    async def scenario(driver: Driver) -> None:
        await driver.press("x", "p")
        assert driver.notice == ""
        answers[-1].set_exception(Refused("a run is going on"))
        await driver.pilot.pause()
        await driver.pilot.pause()
        assert driver.notice == "× a run is going on"
        answers[-2].set_result(None)
        await driver.pilot.pause()
        await driver.pilot.pause()
        assert driver.notice.startswith("✓ the run stops")

    drive(scenario, tmp_path, labs=labs)


def test_the_last_run_of_each_system_is_told_in_the_end(tmp_path: Path) -> None:
    labs = FakeLabs(FakeLab(1), FakeLab(1, system="pingpong"))

    async def scenario(driver: Driver) -> None:
        await driver.press("3")
        await driver.tick()
        await driver.press("ctrl+q")

    summary = drive(scenario, tmp_path, labs=labs).summary
    assert summary is not None
    assert [line.partition(":")[0] for line in summary.splitlines()[::3]] == ["roundrobin", "pingpong"]


def test_disk_queues_open_beside_a_system_with_a_broker_and_no_key_is_lost(tmp_path: Path) -> None:
    labs = FakeLabs(FakeLab(1, busy=False), FakeQueues(demonstration=False), names=("roundrobin", "diskqueue"))

    async def scenario(driver: Driver) -> None:
        labs.refusals["diskqueue"] = Refused("no temporary folder")
        await driver.command("system disk")
        assert driver.notice == "× diskqueue can not be opened: no temporary folder"
        del labs.refusals["diskqueue"]
        await driver.press("5", "colon")
        assert driver.app.session.name == "diskqueue"
        assert isinstance(driver.app.screen, CommandLine), "the key behind it went elsewhere"
        await driver.press("escape", "1")
        assert driver.app.session.name == "roundrobin"
        await driver.press("5")
        assert driver.app.session.name == "diskqueue"
        await driver.press("q")
        assert "1● 2●  diskqueue" in driver.screen()[0]
        assert driver.shows("roundrobin: 1 worker of other processes: tern-01")
        assert driver.shows("diskqueue: 6 drivers of /srv/pipeline; 3")
        await driver.press("y")
        assert not driver.app.is_running

    summary = drive(scenario, tmp_path, labs=labs).summary
    assert summary is not None
    assert summary.startswith("fed ")


@pytest.mark.parametrize("opens", ["t", "ctrl+k", "question_mark", "r", "enter", "ctrl+p"])
def test_keys_that_were_typed_ahead_leave_a_screen_once(tmp_path: Path, opens: str) -> None:
    async def scenario(driver: Driver) -> None:
        for last in ("escape", "enter"):
            await driver.press(opens)
            for _ in range(4):
                for screen in driver.app.screen_stack[1:]:
                    screen.post_message(events.Key(last, None))
            await driver.press(*["escape"] * 4)
            assert driver.at_main and driver.app.is_running

    drive(scenario, tmp_path)
