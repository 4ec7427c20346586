# SPDX-License-Identifier: GPL-3.0-or-later
"""What this package raises."""


class HeadlightError(RuntimeError):
    """Something could not be done; the message is the program's own, or names the argument and what to do."""


class ArgumentError(HeadlightError, TypeError):
    """An argument that the function does not have, or that is missing."""
