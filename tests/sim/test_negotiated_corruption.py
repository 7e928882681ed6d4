"""One wrong bit anywhere in a dialogue of negotiated: some time later everybody is at home, and tasks are answered.

Here some bits of each message are tried; ``python -m tests.helpers.flips`` tries every single one.
"""

from __future__ import annotations

import pytest

from engine.core import NEVER
from engine.protocols.negotiated import names
from tests.helpers.flips import LEAST, SCENES, flips, healed, play

STEP = 179  # bits; a prime, so that each bit of a byte has its turn
HEALS = 15.0  # seconds of a heartbeat of two


@pytest.mark.parametrize("scene", SCENES)
def test_a_dialogue_without_a_wrong_bit_is_well_at_its_end(scene: str) -> None:
    assert play(scene, None).trouble() == ""


@pytest.mark.parametrize("scene", SCENES)
def test_f12_after_any_wrong_bit_everything_comes_right(scene: str) -> None:
    for flip in flips(scene, STEP):
        took, wrong = healed(scene, flip)
        assert not wrong, (flip, wrong)
        assert took < HEALS < LEAST < NEVER, (flip, took)


@pytest.mark.parametrize("command", [names.CHECKCONFIG, names.READY, names.READYOK])
def test_a_wrong_bit_in_what_is_believed_while_the_link_stands(command: bytes) -> None:
    """CHECKCONFIG for another form than the three ended the peer; READY offered other services and slots; READYOK made
    a worker PING seldom.
    """
    scene = "is copied"  # everybody stays, on one link
    first = next(number for number, (_, frames) in enumerate(play(scene, None).line.sent) if frames[0] == command)
    for flip in flips(scene, 3):
        if flip.message == first:
            assert not healed(scene, flip)[1], flip
