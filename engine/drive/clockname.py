"""Which monotonic clock this process reads: processes with the same name read the same one."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

BOOT = Path("/proc/sys/kernel/random/boot_id")
NAMESPACE = Path("/proc/self/ns/time")


@cache
def clock_name() -> str:
    """The boot of this machine, and the time namespace, which may shift its clock; empty where that is not known."""
    try:
        boot = BOOT.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
    try:
        return f"{boot} {os.readlink(NAMESPACE)}"
    except FileNotFoundError:  # a kernel without time namespaces
        return boot
    except OSError:
        return ""
