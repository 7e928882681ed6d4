"""Every file and folder of a user that Roundhouse reads or writes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import platformdirs


@dataclass(frozen=True, slots=True)
class Paths:
    """Every file and folder that is used. Nothing is made before it is needed."""

    config: Path  # the one configuration file
    themes: Path  # the user's own themes, *.toml
    state: Path  # what must survive a restart
    runs: Path  # one JSON file a run
    jobs: Path  # scripts of submitted jobs, for as long as those may run
    kept: Path  # what cores ask to be kept, say a broker's place in a pair
    history: Path  # what was typed on the console's command line
    log: Path
    control: Path  # the control sockets of running brokers, in a folder of this user alone
    alerts: Path  # rules of alerts, and who is told
    minutes: Path  # their history, a file for each that listens
    keys: Path  # of CURVE: one's own, and those that are authorized

    @classmethod
    def of_user(cls) -> Paths:
        """As the platform wants it (``XDG_CONFIG_HOME``, ``XDG_STATE_HOME`` … where those are the custom)."""
        config = platformdirs.user_config_path("roundhouse", appauthor=False)
        state = platformdirs.user_state_path("roundhouse", appauthor=False)
        log = platformdirs.user_log_path("roundhouse", appauthor=False)
        with warnings.catch_warnings():
            # without XDG_RUNTIME_DIR it is a folder under the temporary one; whose it is, is checked where it is used
            warnings.simplefilter("ignore")
            control = platformdirs.user_runtime_path("roundhouse", appauthor=False)
        return cls(
            config=config / "roundhouse.toml",
            themes=config / "themes",
            state=state,
            runs=state / "runs",
            jobs=state / "jobs",
            kept=state / "kept",
            history=state / "history",
            log=log / "roundhouse.log",
            control=control,
            alerts=config / "alerts.toml",
            minutes=state / "minutes",
            keys=config / "keys",
        )
