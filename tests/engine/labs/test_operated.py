"""A pair whose brokers are apart: each with a control socket of its own, over which it is operated."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from console.__main__ import main
from engine.catalogue import SYSTEMS
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.labs.operated import ask_broker
from engine.protocols.negotiated import Options
from engine.protocols.negotiated.orders import ORDERS, asked
from engine.settings import Paths
from tests.helpers.processes import free_endpoint, until

NEGOTIATED = SYSTEMS["negotiated"]


def told(lab: LiveLab, words: str) -> bool:
    return any(words in fact.text for fact in lab.feed.since(0)[0])


def test_a_pair_in_two_processes_is_operated(capsys: pytest.CaptureFixture[str]) -> None:
    """004 note on fallbacks; O27: a fallback that never heard its primary, a primary that comes, and its return."""
    here, there = free_endpoint(), free_endpoint()
    options = Options(heartbeat=0.2, silence=4, primary=here, fallback=there, peer=free_endpoint())
    folder = Paths.of_user().control

    def broker(endpoint: str) -> LiveLab:
        return LiveLab(NEGOTIATED, options, bind=(endpoint,), workers=0, client=False, control=folder)

    def say(word: str, endpoint: str) -> str:
        assert main(["pair", word, "--connect", endpoint]) == 0
        return capsys.readouterr().out

    def refused(word: str, endpoint: str) -> str:
        assert main(["pair", word, "--connect", endpoint]) == 2
        return capsys.readouterr().err

    def finds(word: str, endpoint: str, words: str) -> Callable[[], bool]:
        return lambda: words in say(word, endpoint)

    with ExitStack() as stack:
        fallback = stack.enter_context(broker(there))
        until(finds("show", there, "nobody serves"))
        assert "tell the fallback to serve" in say("show", there)
        assert "there is nothing to hand back" in refused("back", there)
        until(lambda: main(["pair", "serve", "--connect", there]) == 0)
        assert "the fallback serves" in capsys.readouterr().out
        workers = stack.enter_context(
            LiveLab(NEGOTIATED, options, connect=there, workers=2, broker=False, control=folder)
        )
        assert workers.wait_registered(2, 30.0)
        assert "serves already" in refused("serve", there)

        primary = stack.enter_context(broker(here))
        until(finds("show", here, f"the fallback serves, at {there}"))
        assert f"tell its fallback at {there}" in refused("back", here)
        until(finds("show", there, "the primary is back and waits"))
        workers.operate("pair")  # over the control socket of the broker that it is connected to
        assert told(workers, f"the fallback serves, at {there}")
        until(lambda: main(["pair", "back", "--connect", there]) == 0)
        capsys.readouterr()
        until(finds("show", there, f"the primary serves, at {here}"))
        until(finds("show", here, f"the primary serves, at {here}"))
        assert told(primary, "the primary serves again")
        assert told(fallback, "the fallback stands by: the primary serves again")
        until(lambda: primary.registered() == 2, "both workers at the primary")


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
