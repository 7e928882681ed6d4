"""Another commit is checked out beside this one, and is gone afterwards."""

from __future__ import annotations

import subprocess

import pytest

from tests.bench.against import checkout, git, head, rows_of
from tests.bench.figures import Run
from tests.bench.peers import Foul
from tests.bench.stage import ROOT

try:
    git("rev-parse", "HEAD")
except (Foul, OSError):
    pytest.skip("not a checkout", allow_module_level=True)


def test_a_commit_is_checked_out_and_gone_afterwards() -> None:
    with checkout("HEAD") as tree:
        there = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree, capture_output=True, text=True, check=True)
        assert there.stdout.strip() == git("rev-parse", "HEAD") and tree != ROOT
        assert (tree / "engine" / "core.py").is_file() and str(tree) in git("worktree", "list")
    assert not tree.exists() and str(tree) not in git("worktree", "list")


@pytest.mark.parametrize("commit", ["no-such-commit", "", "--help"])
def test_what_is_no_commit_is_told(commit: str) -> None:
    with pytest.raises(Foul, match="no such commit"), checkout(commit):
        pass


def test_a_row_has_both_ratios_and_their_ranges() -> None:
    found = {"here": [Run(200.0), Run(300.0)], "v1": [Run(100.0)] * 2, "zmq_proxy": [Run(400.0)] * 2}
    rows = rows_of(found, "v1", ["wire", "100"])
    assert rows[0] == ["wire", "100", "here", "250", "40%", "2.50", "2.00–3.00", "0.625", "0.500–0.750"]
    assert len(head("v1")) == len(rows[0])
    assert rows_of({name: found[name] for name in ("here", "v1")}, "v1", ["one"])[1][-2:] == ["–", "–"]
