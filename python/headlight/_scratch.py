# SPDX-License-Identifier: GPL-3.0-or-later
"""Temporary folders that nothing leaves on the disk.

A root is a folder that is locked for as long as a process uses it, which systemd-tmpfiles respects too. Roots that nobody locks are
those of processes that were killed: the next one removes them.
"""
import atexit
import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile
import threading
import uuid
import weakref

from ._errors import HeadlightError

_PREFIX, _UNLOCKED = "headlight-python-", "headlight-new-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


@contextlib.contextmanager
def temporary(what):
    """An error of the temporary folder says which one that is."""
    try:
        yield
    except OSError as error:
        raise HeadlightError(f"{what} cannot be written to {tempfile.gettempdir()} ({error.strerror or error}): start Python with $TMPDIR "
                             "set to another folder") from error


@contextlib.contextmanager
def replacing(path):
    """A file, open for bytes, that takes the place of `path` once it is whole."""
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(part, "xb") as file:
            yield file
        os.replace(part, path)
    except OSError as error:
        raise HeadlightError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


class Root:
    """A folder under the system's temporary one, and the file descriptor that keeps its lock."""

    def __init__(self):
        unlocked = pathlib.Path(tempfile.mkdtemp(prefix=_UNLOCKED)).resolve()
        self.lock = os.open(unlocked, _FOLDER)
        with contextlib.suppress(OSError):  # a file system without locks: nobody will get this one and remove the folder
            fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.path = unlocked.rename(unlocked.with_name(_PREFIX + unlocked.name[len(_UNLOCKED):]))  # no other process sees it unlocked

    def close(self):
        """Closes the descriptor; the lock stays with whoever has inherited it."""
        os.close(self.lock)


def remove_stale():
    """Removes the roots of processes that have ended without doing so."""
    for path in pathlib.Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
        try:
            descriptor = os.open(path, _FOLDER)
        except OSError:
            continue  # another user's or program's, or just being removed
        try:
            if os.fstat(descriptor).st_uid != os.getuid():
                continue
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except OSError:
            pass  # in use
        finally:
            os.close(descriptor)


_root = None
_owner = None  # the process that made it: a fork neither uses nor removes the folder
_one_at_a_time = threading.Lock()


def _remove(path, process):
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)


def _process_root():
    global _root, _owner
    with _one_at_a_time:
        if _root is None or _owner != os.getpid() or not _root.path.is_dir():  # something may have tidied up the temporary folder
            remove_stale()
            _root, _owner = Root(), os.getpid()
            atexit.register(_remove, _root.path, _owner)
        return _root


class Folder:
    """A temporary folder that goes with this object, or when Python ends."""

    def __init__(self):
        with temporary("Files"):
            self.path = pathlib.Path(tempfile.mkdtemp(dir=_process_root().path))
        self._finalizer = weakref.finalize(self, _remove, self.path, os.getpid())

    def remove(self):
        self._finalizer()

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        self.remove()
