"""A broker of a pair that is alone in its process, and operated over its control socket."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.__main__ import main
from engine.catalogue import SYSTEMS
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.labs.operated import ask_broker
from engine.protocols.negotiated import Options
from engine.protocols.negotiated.orders import ORDERS, asked
from engine.settings.paths import Paths
from tests.helpers.processes import free_endpoint, until

NEGOTIATED = SYSTEMS["negotiated"]


def told(lab: LiveLab, words: str) -> bool:
    return any(words in fact.text for fact in lab.feed.since(0)[0])


def test_a_fallback_in_a_process_of_its_own_is_operated(capsys: pytest.CaptureFixture[str]) -> None:
    """O27: it has never heard its primary. What follows when that comes: the tests of its core."""
    here, there = free_endpoint(), free_endpoint()
    options = Options(primary=here, fallback=there, peer=free_endpoint())
    folder = Paths.of_user().control

    def say(word: str) -> str:
        assert main(["pair", word, "--connect", there]) == 0
        return capsys.readouterr().out

    with (
        LiveLab(NEGOTIATED, options, bind=(there,), workers=0, client=False, control=folder) as fallback,
        LiveLab(NEGOTIATED, options, connect=there, workers=0, client=False, broker=False, control=folder) as elsewhere,
    ):
        until(lambda: "nobody serves" in say("show"))
        assert "tell the fallback to serve" in say("show")
        assert main(["pair", "back", "--connect", there]) == 1
        assert "there is nothing to hand back" in capsys.readouterr().err
        until(lambda: main(["pair", "serve", "--connect", there]) == 0)
        assert f"the fallback serves at {there} from now on" in capsys.readouterr().out
        assert told(fallback, "the fallback serves")
        elsewhere.operate("pair")
        assert told(elsewhere, f"the primary at {here} is silent")


def test_what_is_no_pair_and_who_is_not_there(tmp_path: Path) -> None:
    endpoint = free_endpoint()
    with pytest.raises(Refused, match="no broker of this user"):
        ask_broker(tmp_path, endpoint, ORDERS, asked("pair"))
    with LiveLab(NEGOTIATED, bind=(endpoint,), workers=0, client=False, control=tmp_path / "control") as lab:
        with pytest.raises(Refused, match=r"none of a pair: negotiated\.fallback is not set"):
            lab.operate("back")
        with pytest.raises(Refused, match="knows no such word: sideways"):
            lab.operate("sideways")
    with pytest.raises(Refused, match="knows no pairs"):
        LiveLab(SYSTEMS["roundrobin"]).operate("pair")
