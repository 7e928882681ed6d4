"""Kept runs on disk: one JSON file each, written whole or not at all; the newest are kept.

A file is written beside its place, flushed to the disk and renamed, so a crash or a full disk leaves the old state. A
run has one name (``engine.runs.record.run_id``): keeping it again, say first so far and then at its end, replaces it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from engine.files import personal
from engine.parts.plain import several
from engine.runs.record import MAX_RECORD, RunRecord, from_json, run_id, to_json
from engine.schema import Misfit

KEEP = 500  # runs
LAST = "last"  # the newest run
PLACE = re.compile(r"-\d{1,9}")
OURS = re.compile(r"\d{8}T\d{6}\.\d{6}Z-(ping|data)")


class History:
    """The runs in one folder. Safe to use from several processes: none ever sees half a run."""

    def __init__(self, folder: Path, keep: int = KEEP) -> None:
        self.folder = folder
        self.failed = 0  # runs that could not be kept
        self._keep = keep

    def keep(self, run: RunRecord) -> str:
        """Write a run and forget the oldest; the id under which it stands.

        Raises OSError (disk full, no permission …), counted in ``failed``; what was kept before stays.
        """
        name = run_id(run)
        try:
            personal.folder(self.folder)
            self._forget(name)
            personal.keep(self.folder / f"{name}.json", to_json(run).encode())
        except OSError:
            self.failed += 1
            raise
        return name

    def list(self) -> tuple[list[RunRecord], list[str]]:
        """The kept runs, oldest first, and a line with name and reason for each file that is not one of them."""
        runs, skipped = [], []
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            names = []
        except OSError as error:
            return [], [f"{self.folder}: {_reason(error)}"]
        for path in sorted(self.folder / name for name in names if name.endswith(".json")):
            try:
                runs.append(self.load(path.stem))
            except (OSError, Misfit) as error:
                skipped.append(f"{path}: {_reason(error)}")
        return runs, skipped

    def load(self, name: str) -> RunRecord:
        """One run by its id. Raises OSError or ``Misfit``: not there, not readable, not a run of that name."""
        path = self.folder / f"{name}.json"
        if not OURS.fullmatch(name):
            raise Misfit("not the name of a run, which looks like 20260131T235959.123456Z-ping")
        run = from_json(personal.read(path, MAX_RECORD))
        if run_id(run) != name:
            raise Misfit(f"holds another run, {run_id(run)}")
        return run

    def find(self, name: str) -> RunRecord:
        """One run by its id, by the beginning of one, by ``last``, or by its place from the newest: ``-1``, ``-2`` …

        Raises OSError or ``Misfit`` as ``load`` does, and where several runs begin so.
        """
        ids = sorted(path.stem for path in self.folder.glob("*.json") if OURS.fullmatch(path.stem))
        if name == LAST or PLACE.fullmatch(name):
            place = 1 if name == LAST else int(name[1:])
            if not 0 < place <= len(ids):
                raise Misfit(f"{several(len(ids), 'run')} kept" if ids else "no run is kept yet")
            return self.load(ids[-place])
        like = [known for known in ids if known.startswith(name)]
        if name and len(like) > 1 and name not in like:
            raise Misfit(f"{several(len(like), 'run')} with ids that begin so, from {like[0]} to {like[-1]}")
        return self.load(like[0] if name and len(like) == 1 else name)

    def _forget(self, coming: str) -> None:
        """Make room for one more: remove the oldest of our files, and with them what a crash left half written."""
        found = [(OURS.match(path.name.lstrip(".")), path) for path in self.folder.iterdir()]
        ours = sorted((name[0], path) for name, path in found if name and name[0] != coming)
        for _, path in ours[: max(0, len(ours) - self._keep + 1)]:
            path.unlink(missing_ok=True)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
