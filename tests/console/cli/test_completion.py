"""What shells and man are given."""

from __future__ import annotations

import subprocess
from argparse import Namespace

import pytest

from console.cli.arguments import SHELLS
from console.cli.completion import completion, man
from engine.catalogue import CATALOGUE

RUNS = "roundhouse() { printf 'worker-12  roundrobin worker\\ntcp-1  broker\\n'; }"
Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_knows_the_commands_their_options_and_the_systems(shell: str, capsys: Capture) -> None:
    assert completion(Namespace(shell=shell)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for word in ("bulkping", "in-flight", "pipeline", *CATALOGUE):
        assert word in out, word


def test_bash_completes_a_command_an_option_and_a_system(capsys: Capture) -> None:
    completion(Namespace(shell="bash"))
    script = capsys.readouterr().out
    for words, wanted in (
        ("roundhouse bulkp", "bulkping"),
        ("roundhouse bulkping --in", "--in-flight"),
        ("roundhouse broker --system ping", "pingpong"),
        ("roundhouse order tcp-127.0.0.1-6714 exp", "expire"),
        ("roundhouse order worker-1", "worker-12"),
    ):
        line = (
            f"COMP_WORDS=({words}); COMP_CWORD={len(words.split()) - 1}; COMP_LINE='{words}'; COMP_POINT={len(words)}"
        )
        call = "$(complete -p roundhouse | sed 's/.*-F \\([^ ]*\\).*/\\1/'); printf '%s\\n' \"${COMPREPLY[@]}\""
        done = subprocess.run(
            ["bash", "-c", f"{RUNS}\n{script}\n{line}\n{call}"], capture_output=True, text=True, check=False
        )
        assert done.stdout.split() == [wanted], done.stderr


def test_the_manual_has_every_command_and_no_stray_request(capsys: Capture) -> None:
    assert man() == 0
    lines = capsys.readouterr().out.splitlines()
    requests = {line.split()[0] for line in lines if line.startswith(".")}
    assert requests <= {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".nf", ".fi"}
    assert ".SS bulkping" in lines and ".SS completion" in lines
    assert "\\fB\\-\\-in\\-flight\\fR \\fIN\\fR" in lines
    assert any(line.startswith("Exit status: 0 everything") for line in lines)
