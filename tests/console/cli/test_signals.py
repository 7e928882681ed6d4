"""A signal is noted, ends a wait and becomes the exit status."""

from __future__ import annotations

import signal

import pytest

from console.cli.signals import ENDING, Signals


@pytest.mark.parametrize("number", ENDING)
def test_the_first_signal_is_caught(number: int) -> None:
    before = [signal.getsignal(each) for each in ENDING]
    with Signals() as signals:
        assert not signals.wait(0)
        assert signals.status(1) == 1
        signal.raise_signal(number)
        assert signals.wait(3600)
        signal.raise_signal(signal.SIGTERM)
        assert signals.wait(3600)
        assert signals.caught == number
        assert signals.status(1) == 128 + number
    assert [signal.getsignal(each) for each in ENDING] == before


def test_what_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Signals() as signals:
            signal.raise_signal(signal.SIGHUP)
            assert signals.caught is None
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_second_signal_is_told_from_the_first() -> None:
    with Signals() as signals:
        assert not signals.again(0)
        signal.raise_signal(signal.SIGTERM)
        assert not signals.again(0) and not signals.again(0)
        signal.raise_signal(signal.SIGTERM)
        assert signals.again(3600) and signals.again(3600)


def test_a_service_that_is_hung_up_on_reads_its_configuration_again() -> None:
    with Signals(service=True) as signals:
        assert not signals.asks_to_reload()
        signal.raise_signal(signal.SIGHUP)
        assert not signals.wait(0) and signals.asks_to_reload() and not signals.asks_to_reload()
        signal.raise_signal(signal.SIGTERM)
        assert signals.wait(0) and signals.status(0) == 143


def test_an_interrupt_that_was_dealt_with_is_forgotten_and_no_other_signal_is() -> None:
    with Signals() as signals:
        assert not signals.forget()
        signal.raise_signal(signal.SIGINT)
        assert signals.status(7) == 128 + signal.SIGINT
        assert signals.forget() and not signals.wait(0) and not signals.again(0)
        assert signals.status(7) == 7
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        assert not signals.forget() and signals.status(7) == 128 + signal.SIGINT
