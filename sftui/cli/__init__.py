"""The command line: stdout is data, stderr is narration; exit 0 fine, 1 findings, 2 could not do it."""

from __future__ import annotations

import os
import sys

from sftui.cli.ending import end_on_signals, exit_code
from sftui.cli.terminal import hold_standard_streams
from sftui.starting import begin


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit; as the program itself, without `arguments`, in a process that is watched over."""
    words = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in words or bool(os.environ.get("SFTUI_DEBUG"))
    hold_standard_streams()
    end_on_signals()

    started = begin(words) if arguments is None else None

    def work() -> int:
        from sftui.cli.app import run

        return run(words, watched=arguments is None, debug=debug, started=started)

    try:
        sys.exit(exit_code(work, debug))
    finally:
        if started is not None:
            started.end()


__all__ = ["main"]
