"""What differs from system to system is a field of its ``SYSTEM``: no other file of the product names one.

Disk queues have no broker: documents lie in folders, and drivers, sandbox, replay and screens of documents are written
for that one protocol. They may import it, and still name it nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalogue import CATALOGUE, QUEUES

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path.relative_to(ROOT)
    for top in ("engine", "console", "themes")
    for path in (ROOT / top).rglob("*")
    if path.suffix in (".py", ".tcss", ".toml")
)
OWN = ("engine/protocols/", "engine/catalogue.py", "console/systems/")

NAME = re.compile(rf"\b({'|'.join(CATALOGUE)})\b", re.IGNORECASE)
IMPORT = re.compile(r"from engine\.protocols\.(\w+)[\w.]* import ")

DOCUMENTS = {
    "console/cli/attended.py",
    "console/cli/pipelinefile.py",
    "console/cli/queuearguments.py",
    "console/cli/queuereport.py",
    "console/cli/queues.py",
    "console/kinds/queues.py",
    "console/pictures/queuebridge.py",
    "console/screens/document.py",
    "console/screens/driver.py",
    "console/screens/orders.py",
    "console/screens/pipeline.py",
    "console/screens/queuesandbox.py",
    "console/widgets/drivers.py",
    "console/widgets/queuestrip.py",
    "console/widgets/stages.py",
    "engine/drive/disk.py",
    "engine/drive/documents.py",
    "engine/drive/driverprocess.py",
    "engine/drive/feeding.py",
    "engine/drive/hub.py",
    "engine/drive/inheriting.py",
    "engine/drive/locks.py",
    "engine/drive/pipeline.py",
    "engine/drive/pipelinerecord.py",
    "engine/drive/pipelineview.py",
    "engine/drive/queuedemo.py",
    "engine/drive/queuedriver.py",
    "engine/drive/queueprocesses.py",
    "engine/drive/queuerelay.py",
    "engine/drive/queueview.py",
    "engine/drive/recovering.py",
    "engine/drive/roots.py",
    "engine/drive/sender.py",
    "engine/faults/queuefaults.py",
    "engine/faults/terms.py",
    "engine/labs/content.py",
    "engine/labs/pipelinestate.py",
    "engine/labs/queuereplaylab.py",
    "engine/labs/queueorders.py",
    "engine/labs/queues.py",
    "engine/labs/queuesandbox.py",
    "engine/labs/queuestatus.py",
    "engine/labs/queuewhy.py",
    "engine/sim/disk.py",
    "engine/sim/explore/documents.py",
    "engine/sim/explore/procedure.py",
    "engine/sim/driver.py",
    "engine/sim/queues.py",
    "engine/sim/recovery.py",
    "engine/tracing/operations.py",
}
"""What is written for documents in folders. A new file of that kind is named here."""

COMMANDS = {
    "console/cli/jobs.py": {"conversation"},
    "console/jobs/file.py": {"conversation"},
    "console/jobs/line.py": {"conversation"},
    "console/cli/jobprompt.py": {"conversation"},
    "console/cli/jobtasks.py": {"conversation"},
    "console/screens/jobtasks.py": {"conversation"},
    "console/screens/jobwords.py": {"conversation"},
}
"""Commands that only one system has, because its seed has them: ``submit``, ``jobs`` and ``stop``; their screens."""


def named(path: str, text: str) -> list[str]:
    """Every place in a file where a system is named that the file may not name."""
    own, may = COMMANDS.get(path, set()), set(QUEUES) if path in DOCUMENTS else set()
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        imported = IMPORT.match(line.strip())
        rest = line[line.index("import ") :] if imported is not None and imported[1] in may else line
        found += [f"{path}:{number}: {name[1]}" for name in NAME.finditer(rest) if name[1].lower() not in own]
    return found


def others() -> Iterator[tuple[str, str]]:
    for path in map(Path.as_posix, FILES):
        if not path.startswith(OWN):
            yield path, (ROOT / path).read_text(encoding="utf-8")


def test_there_is_something_to_look_at() -> None:
    assert len(CATALOGUE) >= 5 and Path("engine/system.py") in FILES


def test_no_system_is_named_outside_its_own_places() -> None:
    assert [place for path, text in others() for place in named(path, text)] == []


def test_what_may_name_one_does_so() -> None:
    texts = dict(others())
    assert {path for path in DOCUMENTS if not IMPORT.search(texts.get(path, ""))} == set()
    assert {path for path in COMMANDS if not NAME.search(texts.get(path, ""))} == set()


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_name_is_seen(name: str) -> None:
    for line in (f"from engine.protocols.{name} import SYSTEM", f'if system.name == "{name}":', f"# as in {name}"):
        assert named("engine/faults/faults.py", f"x = 1\n{line}\n") == [f"engine/faults/faults.py:2: {name}"]
    assert named("engine/faults/faults.py", f"the{name}s = 1") == []


def test_what_is_written_for_documents_may_import_their_protocol_and_no_other() -> None:
    (queues,) = QUEUES
    path = "engine/drive/disk.py"
    assert named(path, f"    from engine.protocols.{queues}.config import Refused\n") == []
    assert named(path, f'name = "{queues}"\n') == [f"{path}:1: {queues}"]
    other = next(iter(CATALOGUE))
    assert named(path, f"from engine.protocols.{other} import SYSTEM\n") == [f"{path}:1: {other}"]
