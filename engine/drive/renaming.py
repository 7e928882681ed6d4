"""Renaming within a folder so that nothing is replaced.

Sources: rename(2) and RENAME_NOREPLACE, link(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

_NOREPLACE = 1
_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None


def rename(old: str, new: str, at: int, contended: bool) -> None:
    """Rename atomically within a folder, raising FileExistsError where the new name is in use.

    Linux does it in one call. Elsewhere, and on file systems that do not know the flag: what is contended is
    renamed plainly, for only the kernel can choose one winner, and its new name has the number that the caller has
    locked; what only the caller may touch is linked under its new name, which refuses an existing one.
    """
    if _renameat2 is not None:
        if _renameat2(at, os.fsencode(old), at, os.fsencode(new), _NOREPLACE) == 0:
            return
        code = ctypes.get_errno()
        if code not in (errno.EINVAL, errno.ENOSYS):
            raise OSError(code, os.strerror(code), old)
    rename_portably(old, new, at, contended)


def rename_portably(old: str, new: str, at: int, contended: bool) -> None:
    """The same without the system call that only Linux has."""
    if not contended:
        try:
            os.link(old, new, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        except FileExistsError:
            one, other = (os.stat(name, dir_fd=at, follow_symlinks=False) for name in (old, new))
            if not os.path.samestat(one, other):  # else: a driver died right here
                raise
        os.unlink(old, dir_fd=at)
        return
    if stands(new, at):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)
    os.rename(old, new, src_dir_fd=at, dst_dir_fd=at)


def stands(name: str, at: int) -> bool:
    """Whether there is anything of this name in a folder."""
    try:
        os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
