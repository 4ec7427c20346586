# SPDX-License-Identifier: GPL-3.0-or-later
"""The window."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from . import _process
from ._commands import Call, command
from ._errors import HeadlightError
from ._scratch import Root, temporary

# Removes the window's files when it is closed, whether or not Python still runs.
_RUN = 'trap : HUP INT TERM; folder=$1; shift; "$@"; code=$?; rm -rf -- "$folder"; exit $code'


class Window:
    """An open window; it stays when Python ends."""

    def __init__(self, process):
        self.process = process

    @property
    def is_open(self):
        return self.process.poll() is None

    def wait(self):
        """Until it is closed."""
        self.process.wait()

    def close(self):
        """Ends the program; unsaved sessions are offered at its next start."""
        if self.is_open:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait()

    def __repr__(self):
        return f"<headlight.Window: {'open' if self.is_open else 'closed'}>"


def _copy(source, folder):
    """Files in memory's temporary folder outlive it in the window's: linked, not copied."""
    target = folder / source.name
    if source.is_dir():
        return shutil.copytree(source, target, copy_function=_link)
    return _link(source, target)


def _link(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def _start(words, folder, lock):
    path = _process.program()
    with tempfile.TemporaryFile() as errors:
        with _process.starting(path):
            process = subprocess.Popen(["sh", "-c", _RUN, "sh", str(folder), path, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=errors, env=_process.environment(), start_new_session=True, pass_fds=(lock,))
        try:
            with process.stdout as out:
                if out.readline():  # it announces that it is there
                    return Window(process)
            process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
        errors.seek(0)
        messages = _process.Messages()
        messages.feed(errors.read().decode("utf-8", "replace"))
        messages.end()
        raise HeadlightError("\n".join(messages.texts()) or f"The window did not open: exit code {process.returncode}")


def show(source=None, tokens=None, tokenizer=None, **options):
    """Opens the window and returns once it is there.

    source, tokens, tokenizer
        as for figure(); without a source the window starts as it does on its own
    options
        text=, pair=, view=, layer=, heads=, query=, key=, attention= and what else `headlight open` takes
    """
    opening = command("open")
    call = Call(opening, [] if source is None else [source], {"tokens": tokens, "tokenizer": tokenizer, **options}, "show()")
    with temporary("What is in memory"):
        root = Root()
    try:
        words = list(call.words)
        with temporary("What is in memory"):
            if call.prepared is not None and call.prepared.folder is not None:
                words[0] = str(_copy(pathlib.Path(words[0]), root.path))
            if call.stdin is not None:
                text = root.path / "text.txt"
                text.write_bytes(call.stdin)
                words[words.index("--text=-")] = f"--text-file={text}"
        return _start(["open", *words, "--announce"], root.path, root.lock)
    except BaseException as error:
        shutil.rmtree(root.path, ignore_errors=True)
        if isinstance(error, HeadlightError) and call.prepared is not None and call.prepared.folder is not None:
            raise HeadlightError(str(error).replace(words[0], call.prepared.called)) from None
        raise
    finally:
        root.close()
        call.remove()
