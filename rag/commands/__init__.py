"""The commands of ``citewell``, a module each, named as the command is.

Each has ``add``, which declares the command and its arguments, and ``run``, which does it: call, print, exit code. Both
are all that is imported for ``--help``; what a command works with it imports when it runs. What several commands share
is in ``arguments``, ``batch`` and ``output``.
"""
