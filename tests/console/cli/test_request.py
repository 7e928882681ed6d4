"""``roundhouse request``, with a broker and a worker of this process."""

from __future__ import annotations

import pytest

from console.__main__ import main
from engine.catalogue import SERVERS, SYSTEMS
from engine.labs.live import LiveLab
from engine.protocols.negotiated import Options
from tests.helpers.processes import WAIT, free_endpoint


def test_a_request_and_its_reply_or_the_reason_why_there_is_none(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    endpoint = free_endpoint()
    options = Options(heartbeat=0.2, silence=10, patience=2, services="ping,upper=tr a-z A-Z,bad=false,idle")
    with LiveLab(SYSTEMS["negotiated"], options, bind=(endpoint,), workers=1, client=False) as lab:
        assert lab.wait_registered(1, WAIT)

        def ask(*words: str) -> tuple[int, bytes, bytes]:
            status = main(["request", *words, "--connect", endpoint])
            said = capfdbinary.readouterr()
            return status, said.out, said.err

        assert ask("upper", "hello; id")[:2] == (0, b"HELLO; ID")
        assert ask("nothing", "x") == (1, b"", b"roundhouse: nothing: nobody offers nothing\n")
        assert ask("bad") == (1, b"", b"roundhouse: bad: error encountered: exit status 1\n")
        assert ask("idle") == (1, b"", b"roundhouse: idle: this worker runs nothing for idle\n")
        assert not [fact.text for fact in lab.feed.since(0)[0] if "nothing here runs" in fact.text]


def test_services_are_those_of_some_systems(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--system", "roundrobin", "request", "upper"]) == 2
    assert "services are those of negotiated, not of roundrobin" in capsys.readouterr().err
    assert list(SERVERS) == [name for name, system in SYSTEMS.items() if system.ask is not None]
