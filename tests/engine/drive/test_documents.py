"""What is done with a document, and what its failure is."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import stat
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import psutil
import pytest

from engine.drive import documents
from engine.drive.documents import Cancelled, parse_work, process
from engine.errors import Refused
from engine.protocols.diskqueue.operations import Process, Processed
from tests.helpers.processes import until


@pytest.fixture
def task(tmp_path: Path) -> Process:
    (tmp_path / "in").write_text("text of doc\n", encoding="utf-8")
    return Process("doc", 1, str(tmp_path / "in"), str(tmp_path / "out"))


def done(work: str, task: Process) -> str:
    assert process(parse_work(work), task) == Processed("done")
    return Path(task.output).read_text(encoding="utf-8")


def test_copy_upper_and_sleep(task: Process) -> None:
    assert done("copy", task) == "text of doc\n"
    assert done("upper", task) == "TEXT OF DOC\n"
    assert done("sleep 0.001", task) == "text of doc\n"


def test_fail_and_fail_marked(task: Process) -> None:
    assert process(parse_work("fail"), task) == Processed("failed", "told to fail")
    marked = parse_work("fail marked")
    assert process(marked, task) == Processed("done")
    Path(task.input).write_text("fail once\n", encoding="utf-8")
    assert process(marked, task) == Processed("failed", "the document says 'fail once'")
    assert process(marked, task._replace(attempt=2)) == Processed("done")
    Path(task.input).write_text("fail twice\n", encoding="utf-8")
    assert process(marked, task._replace(attempt=2)).outcome == "failed"
    assert process(parse_work("fail marked 0.0"), task).outcome == "failed"
    with pytest.raises(Refused, match="neither copy"):
        parse_work("fail marked soon")


def test_a_command_gets_both_paths_as_words_of_their_own(task: Process) -> None:
    assert done("cp {input} {output}", task) == "text of doc\n"
    assert done('sh -c \'tr a-z A-Z < "$1" > "$2"\' sh {input} {output}', task) == "TEXT OF DOC\n"


def test_a_command_is_told_of_its_stages_format_document_and_driver(task: Process) -> None:
    names = ("start_stage", "end_stage", "format", "id", "driver")
    about = {name: f"<{name}>" for name in names}
    env = " ".join(f"$QUEUE_{name.upper()}" for name in names)
    line = " ".join(f"--x={{{name}}}" for name in names)
    assert done(f"sh -c 'echo $* {env} > $2' sh {{input}} {{output}} {line}", task).split()[2:] == [
        *(f"--x={value}" for value in ("", "", "", task.id, "")), task.id
    ]  # fmt: skip
    work = parse_work(f"sh -c 'echo $* {env} > $2' sh {{input}} {{output}} {line}", about=about)
    assert process(work, task).outcome == "done"
    values = [task.id if name == "id" else f"<{name}>" for name in names]
    with open(task.output, encoding="utf-8") as file:
        assert file.read().split()[2:] == [*(f"--x={value}" for value in values), *values]


def test_an_id_is_no_option_of_a_command(task: Process) -> None:
    plain, named = "cp {input} {output} {id}", "sh -c 'cp $1 $2' sh {input} {output} --id={id}"
    dashed = task._replace(id="-rf")
    assert process(parse_work(plain), dashed).text.startswith("its id would be an option of the command")
    assert process(parse_work(named), dashed).outcome == "done"
    with pytest.raises(Refused, match="must be a word of its own"):
        parse_work("sh -c 'echo {id}' sh {input} {output}")


def test_a_commands_failure_tells_its_status_and_its_last_words(
    task: Process, capfd: pytest.CaptureFixture[str]
) -> None:
    failed = process(parse_work("sh -c 'echo no good >&2; exit 3' sh {input} {output}"), task)
    assert failed == Processed("failed", "exit status 3: no good")
    assert capfd.readouterr().err == "no good\n"
    killed = process(parse_work("sh -c 'kill -9 $$' sh {input} {output}"), task)
    assert killed == Processed("failed", "killed by signal 9")


def test_a_command_that_writes_nothing_has_failed(task: Process) -> None:
    assert process(parse_work("true {input} {output}"), task) == Processed("failed", "wrote no output")


@pytest.mark.parametrize(
    ("work", "message"),
    [
        ("", "neither copy"),
        ("sleep x", "neither copy"),
        ("cp {input}", "neither copy"),
        ("nobody-has-this {input} {output}", "no command 'nobody-has-this'"),
        ("sh -c 'cat < {input} > {output}'", "must be a word of its own"),
        ("sh -c cat<{input}>{output}", "must be a word of its own"),
        ("cp '{input} {output}", "No closing quotation"),
        ("nobody_has_this:f", "ModuleNotFoundError"),
        ("os:nobody", "AttributeError"),
        ("os:sep", "is not callable"),
    ],
)
def test_what_cannot_be_done_is_refused(work: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        parse_work(work)


def test_a_python_function(task: Process) -> None:
    assert done("shutil:copyfile", task) == "text of doc\n"


def test_a_python_function_out_of_a_file_that_is_named(task: Process, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("class To:\n    from shutil import copyfile as copy\n", encoding="utf-8")
    assert done(f"{tmp_path}/mine.py:To.copy", task) == "text of doc\n"
    for name in (f"{tmp_path}/none.py:f", f"{tmp_path}/mine.py:none"):
        with pytest.raises(Refused, match=f"work {name}: "):
            parse_work(name)


def test_a_module_that_exits_when_it_is_imported_is_refused_with_its_words(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import sys\nsys.exit('no licence')\n", encoding="utf-8")
    with pytest.raises(Refused, match=r"work .*mine\.py:f: it exits when it is imported: no licence"):
        parse_work(f"{tmp_path}/mine.py:f")


@pytest.mark.parametrize("name", ["planted:copy", "planted.py:copy", "./planted.py:copy"])
def test_no_function_comes_from_the_folder_that_one_happens_to_be_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "planted.py").write_text("open('ran', 'w')\nfrom shutil import copyfile as copy\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [path for path in sys.path if path])
    with pytest.raises(Refused, match=r"No module named|by its whole path"):
        parse_work(name)
    assert "" not in sys.path
    assert not (tmp_path / "ran").exists()


def test_what_a_function_raises_is_a_failure(task: Process, capfd: pytest.CaptureFixture[str]) -> None:
    failed = process(parse_work("json:loads"), task)
    assert failed.outcome == "failed"
    assert failed.text.startswith("TypeError: ")
    assert "Traceback" in capfd.readouterr().err
    assert process(lambda task, source: exit(3), task) == Processed("failed", "it exited: 3")


def test_an_unreadable_input_is_a_failure(task: Process) -> None:
    os.unlink(task.input)
    assert process(parse_work("copy"), task).outcome == "failed"


def test_a_full_disk_blocks(task: Process, tmp_path: Path) -> None:
    def work(task: Process, source: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", task.output)

    assert process(work, task) == Processed("blocked", f"No space left on device: {task.output}")


def test_a_lost_folder_blocks(task: Process) -> None:
    gone = task._replace(output="/nobody/has/this/out")
    assert process(parse_work("copy"), gone).outcome == "blocked"


def test_a_signal_ends_a_command_and_its_children(task: Process) -> None:
    output = Path(task.output)

    def due(number: int, frame: FrameType | None) -> None:
        if output.exists() and output.read_text(encoding="utf-8"):  # it is at work
            documents.cancel()

    former = signal.signal(signal.SIGALRM, due)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        work = parse_work("sh -c 'echo $$ > \"$2\"; sleep 60; true' sh {input} {output}")
        assert process(work, task) == Processed("cancelled")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    pid = int(output.read_text(encoding="utf-8"))
    until(lambda: not psutil.pid_exists(pid))


def test_a_signal_at_any_moment_of_a_commands_start_leaves_no_child(task: Process) -> None:
    """At each step of what starts it and waits for it, also between its start and the knowledge of it."""
    work = parse_work("sh -c 'sleep 60; true' sh {input} {output}")
    former = signal.signal(signal.SIGALRM, lambda number, frame: documents.cancel())
    before, steps, told, waited = set(psutil.Process().children(recursive=True)), 0, False, False

    def tell() -> None:
        nonlocal told
        if not told:
            told = True
            signal.raise_signal(signal.SIGALRM)

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps, waited
        if frame.f_code.co_name == "wait":
            waited = waited or not told
            tell()
        if frame.f_code.co_name not in ("_run", "_start") or frame.f_code.co_filename != documents.__file__:
            return None
        frame.f_trace_opcodes = True  # where a Python offers that; that a function returns is told everywhere
        steps += 1
        if steps == at:
            tell()
        return trace

    try:
        for at in itertools.count(1):
            steps, told = 0, False
            sys.settrace(trace)
            try:
                outcome = process(work, task)
            finally:
                sys.settrace(None)
            assert outcome == Processed("cancelled")
            assert set(psutil.Process().children(recursive=True)) <= before, at
            if waited:
                break
    finally:
        signal.signal(signal.SIGALRM, former)
    assert at > 10, "it went through all of its start"


def test_a_command_that_can_not_be_started_leaves_the_next_one_to_be_cancelled(task: Process, tmp_path: Path) -> None:
    """A note that it is to end is for that command alone."""
    command = tmp_path / "command"
    command.write_text("#!/nobody/has/this\n", encoding="utf-8")
    command.chmod(0o755)
    work = parse_work(f"{command} {{input}} {{output}}")
    assert process(work, task).outcome == "failed"
    with pytest.raises(Cancelled):
        documents.cancel()


# ---- others write here too ----------------------------------------------------------------------------------------

WORKS = ["copy", "upper", "fail marked", "shutil:copyfile", "cp {input} {output}"]


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("odd", ["link", "zero", "fifo", "folder"])
def test_a_document_is_a_regular_file(task: Process, tmp_path: Path, odd: str, work: str) -> None:
    """A link published a secret, ``/dev/zero`` filled the disk, a FIFO hung the driver."""
    secret = tmp_path / "secret"
    secret.write_text("secret", encoding="utf-8")
    os.unlink(task.input)
    match odd:
        case "link":
            os.symlink(secret, task.input)
        case "zero":
            os.symlink("/dev/zero", task.input)
        case "fifo":
            os.mkfifo(task.input)
        case _:
            os.mkdir(task.input)
    result = process(parse_work(work), task)
    kind = {"zero": "a link", "fifo": "a FIFO"}.get(odd, f"a {odd}")
    assert result == Processed("failed", f"in is {kind}, not a regular file")
    assert not os.path.lexists(task.output)


@pytest.mark.parametrize("work", WORKS)
def test_what_stands_under_the_outputs_name_is_not_written_through(task: Process, tmp_path: Path, work: str) -> None:
    home = tmp_path / "home"
    home.write_text("the operator's", encoding="utf-8")
    os.symlink(home, task.output)
    assert process(parse_work(work), task) == Processed("done")
    assert home.read_text(encoding="utf-8") == "the operator's"
    assert Path(task.output).is_file() and not Path(task.output).is_symlink()


def test_an_output_that_is_a_link_is_not_published(task: Process, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    result = process(lambda task, source: os.symlink(tmp_path / "secret", task.output), task)
    assert result == Processed("failed", "out is a link, not a regular file")


def test_an_input_that_is_swapped_for_a_link_meanwhile_is_a_failure(task: Process, tmp_path: Path) -> None:
    def work(task: Process, source: int) -> None:
        os.unlink(task.input)
        os.symlink(tmp_path / "secret", task.input)
        Path(task.output).write_text("what the link showed", encoding="utf-8")

    assert process(work, task) == Processed("failed", "in is a link, not a regular file")


def test_a_work_may_move_its_input(task: Process) -> None:
    assert process(parse_work("mv {input} {output}"), task) == Processed("done")


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o444])
def test_a_document_keeps_its_mode(task: Process, work: str, mode: int) -> None:
    os.chmod(task.input, mode)
    assert process(parse_work(work), task) == Processed("done")
    assert stat.S_IMODE(os.stat(task.output).st_mode) == mode


def test_an_output_is_private_from_its_first_byte_on(task: Process) -> None:
    os.chmod(task.input, 0o600)
    seen: list[int] = []

    def work(task: Process, source: int) -> None:
        Path(task.output).write_text("half", encoding="utf-8")
        seen.append(stat.S_IMODE(os.stat(task.output).st_mode))

    former = os.umask(0o022)
    try:
        assert process(work, task) == Processed("done")
        assert os.umask(0o022) == 0o022, "and the umask is as it was"
    finally:
        os.umask(former)
    assert seen == [0o600]


def test_another_group_gets_nothing(task: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver is no member of the group whose members may read the document."""
    if os.geteuid():
        pytest.skip("only root can give a file to another group")
    os.chmod(task.input, 0o640)
    os.chown(task.input, -1, 65534)

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refuse)
    assert process(parse_work("copy"), task) == Processed("done")
    assert stat.S_IMODE(os.stat(task.output).st_mode) == 0o600


def test_a_document_that_grows_while_it_is_read_has_an_end(task: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    read = os.pread

    def grow(descriptor: int, size: int, place: int) -> bytes:
        with open(task.input, "ab") as file:
            file.write(b"more")
        return read(descriptor, size, place)

    monkeypatch.setattr(os, "pread", grow)
    assert process(parse_work("copy"), task) == Processed("failed", "it changed its size while it was read")
