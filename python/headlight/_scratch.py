# SPDX-License-Identifier: GPL-3.0-or-later
"""Temporary folders that nothing leaves on the disk.

A root holds a locked file for as long as a process uses it. Roots that nobody locks are those of processes that were killed: the
next one removes them.
"""
import atexit
import fcntl
import os
import pathlib
import shutil
import tempfile
import weakref

_PREFIX = "headlight-python-"
_LOCK = "lock"


class Root:
    """A folder under the system's temporary one, and the file descriptor that keeps its lock."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix=_PREFIX))
        unlocked = self.path / (_LOCK + ".new")
        self.lock = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        unlocked.rename(self.path / _LOCK)  # no other process sees it unlocked

    def close(self):
        """Closes the descriptor; the lock stays with whoever has inherited it."""
        os.close(self.lock)


def remove_stale():
    """Removes the roots of processes that have ended without doing so."""
    for path in pathlib.Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
        try:
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # another program's, or just being made or removed
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except OSError:
            pass  # in use
        finally:
            os.close(descriptor)


_root = None
_owner = None  # the process that made it: a fork neither uses nor removes the folder


def _remove(path, process):
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)


def _process_root():
    global _root, _owner
    if _root is None or _owner != os.getpid():
        remove_stale()
        _root, _owner = Root(), os.getpid()
        atexit.register(_remove, _root.path, _owner)
    return _root


class Folder:
    """A temporary folder that goes with this object, or when Python ends."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(dir=_process_root().path))
        self._finalizer = weakref.finalize(self, _remove, self.path, os.getpid())

    def remove(self):
        self._finalizer()

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        self.remove()
