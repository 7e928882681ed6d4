"""Who may do what on a simulated disk: owners, modes and sticky folders, without groups.

Sources: path_resolution(7), unlink(2) and rename(2) on EACCES and EPERM.
"""

from __future__ import annotations

from typing import NamedTuple

ROOT = 0  # the uid that no mode keeps from anything
USER = 1000  # the uid that disk queues run as, unless a disk says otherwise
STRANGER = 65534  # the uid of somebody else

READ, WRITE, SEARCH = 4, 2, 1
STICKY = 0o1000


class Access(NamedTuple):
    """Whose something is, and its mode."""

    owner: int  # uid
    mode: int

    def allows(self, user: int, bits: int) -> bool:
        """Whether a user may do this (``READ``, ``WRITE``, ``SEARCH`` or several) with it."""
        mine = self.mode >> 6 if user == self.owner else self.mode
        return user == ROOT or mine & bits == bits

    def keeps(self, user: int, owner: int) -> bool:
        """Whether this sticky folder keeps a user from renaming or removing a file of ``owner``."""
        return bool(self.mode & STICKY) and user not in (ROOT, owner, self.owner)
