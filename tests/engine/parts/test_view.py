from __future__ import annotations

import copy

from hypothesis import given
from hypothesis import strategies as st

from engine.parts.view import BrokerView, ClientView, LedgerView, WorkerView

amounts = st.integers(0, 1_000)


@given(amounts, st.lists(st.tuples(st.text(max_size=3), amounts), max_size=4), amounts, amounts, amounts)
def test_a_ledger_balances_exactly_where_its_sides_agree(
    succeeded: int, failed: list[tuple[str, int]], in_flight: int, queued: int, dropped: int
) -> None:
    total = succeeded + sum(n for _, n in failed) + in_flight + queued + dropped
    for sent in (total - 1, total, total + 1):
        view = LedgerView(sent, succeeded, tuple(failed), in_flight, queued, dropped)
        assert view.balanced == (sent == total)


def test_pictures_need_only_what_every_protocol_has_and_are_immutable_all_through() -> None:
    ledger = LedgerView(0, 0, (), 0, 0, 0)
    pictures = (
        BrokerView(at=1.0, workers=(), backlog=0, in_flight=0, ledger=ledger, counters=(), incidents=()),
        WorkerView(at=1.0, state="up", slots=1, running=0, done=0, broker_heard=0.0),
        ClientView(at=1.0, linked=True, run=None, late=0),
    )
    for picture in pictures:
        assert hash(picture) == hash(copy.deepcopy(picture))  # a list or a dict anywhere would not hash
