"""How the tests run: with what is compiled once, on so many processes, and ``-m quick`` as what to run at each save."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.helpers.examples import SLOW, USUAL

# No test is judged by how long it took: the machine may be busy.
settings.register_profile(
    "timeless",
    max_examples=USUAL,
    deadline=None,
    derandomize=not SLOW,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("timeless")

TESTS = Path(__file__).parent
USERS = ("ROUNDHOUSE_", "TEXTUAL", "XDG_", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TMUX")
CACHE = TESTS.parent / ".pytest_cache" / "bytecode"
QUICK = (
    "engine/parts",
    "engine/protocols",
    "engine/runs",
    "engine/tracing",
    "engine/journal",
    "console/pictures",
    "console/sessions",
    "console/widgets",
    "console/cli",
)
FIRST = ("test_tidy.py", "test_packaging.py", "terminal")  # one long test that began last would keep one processor idle
DEAR = ("console/cli/test_explore", "console/cli/test_outside", "console/cli/test_queues.py")  # walks, and processes


# Hundreds of processes of ours start in these tests. Where Python may write nothing beside the sources, each would
# compile them anew: half of what its start costs.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(CACHE)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# What the user likes is nothing that a test may see; only which tests are to run is said so.
for name in [name for name in os.environ if name.startswith(USERS) and name != "ROUNDHOUSE_SLOW"]:
    del os.environ[name]

# nohup and a shell's & have these signals ignored, and what a test starts would inherit that; a handler it does not.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda number, frame: None)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--rewrite`` (tests/helpers/dialogues.py)."""
    parser.addoption("--rewrite", action="store_true", help="write what cores say now into tests/transcripts")


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether transcripts are written anew instead of compared."""
    return bool(request.config.getoption("--rewrite"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What is collected stays until the end: the garbage collector never looks at it, now or while tests run."""
    gc.disable()
    try:
        import_share(session)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def import_share(session: pytest.Session) -> None:
    """Each process of a whole run imports its share of the tests first, or all of them would compile every file."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes == 1 or [Path(one).resolve() for one in session.config.args] != [TESTS]:
        return
    number = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    for path in sorted(TESTS.rglob("test_*.py"))[number::processes]:
        if not pytest_ignore_collect(path, session.config):
            with suppress(Exception, pytest.skip.Exception):  # reported when it is collected
                import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: many tests wait for processes of theirs."""
    return (os.cpu_count() or 1) + 1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What is not quick need not even be read where only that is asked for."""
    if config.option.markexpr == "quick" and collection_path.name.startswith("test_") and not quick(collection_path):
        return True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of these folders as quick, but for those that search for examples or start a console; the longest
    tests begin first.
    """
    items.sort(key=lambda item: place(item.path))
    for item in items:
        if quick(item.path) and not item.get_closest_marker("hypothesis") and not starts_a_console(item):
            item.add_marker(pytest.mark.quick)


def place(path: Path) -> int:
    """Which of ``FIRST`` a file belongs to; behind all of them for the others, whose order stays."""
    name = path.relative_to(TESTS).as_posix()
    return next((i for i, start in enumerate(FIRST) if name.startswith(start)), len(FIRST))


def starts_a_console(item: pytest.Item) -> bool:
    """A console keeps its settings in a folder that its test gives it."""
    screens = item.path.relative_to(TESTS).as_posix().startswith(("console/sessions", "console/widgets"))
    return screens and "tmp_path" in getattr(item, "fixturenames", ())


def quick(path: Path) -> bool:
    """Whether a file is in one of these folders, and cheap."""
    name = path.relative_to(TESTS).as_posix()
    return name.startswith(QUICK) and not name.startswith(DEAR)
