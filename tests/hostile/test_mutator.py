"""The messages that nobody should say."""

from __future__ import annotations

from random import Random

import pytest

from engine.catalogue import SYSTEMS
from tests.helpers.mutator import Mutator
from tests.helpers.session import corpus_of, mutators, said_by

VALID = [[b"", b"READY"], [b"", b"\x01\x02\x03\x04", b"a job"]]


def test_the_same_seed_spoils_in_the_same_way() -> None:
    first, again, other = (Mutator(VALID, Random(seed)) for seed in (1, 1, 2))
    said = [first() for _ in range(500)]
    assert said == [again() for _ in range(500)] != [other() for _ in range(500)]


def test_every_message_has_a_frame_and_few_are_right() -> None:
    mutator = Mutator(VALID, Random(1))
    said = [mutator() for _ in range(2000)]
    assert all(said) and sum(frames in VALID for frames in said) < 200
    assert VALID == [[b"", b"READY"], [b"", b"\x01\x02\x03\x04", b"a job"]]
    assert max(map(len, said)) > 90 and max(len(frame) for frames in said for frame in frames) > 5000


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_role_is_heard_in_a_session_and_joins_with_its_first_words(name: str) -> None:
    system = SYSTEMS[name]
    corpus = corpus_of(system)
    assert {seat for seat, _ in corpus} >= {"broker", "worker-0", "client"}
    assert mutators(system, corpus, Random(1))("broker", "no such socket")()
    socket, opening = said_by(system, "worker-0", 2.0)
    assert opening and all(frames in corpus["broker", socket] for frames in opening[:1])
