"""The command line: stdout is data, stderr is narration; exit 0 fine, 1 findings, 2 could not do it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit; the only place where errors become sentences and exit codes."""
    from sftui.errors import SftuiError

    words = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in words or bool(os.environ.get("SFTUI_DEBUG"))
    _end_on_signals()
    try:
        from sftui.cli.app import run

        code = run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not try to flush into it again.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        code = 130
    except SftuiError as error:
        if debug:
            raise
        from sftui.text import visible

        print(f"sftui: {visible(str(error))}", file=sys.stderr)  # noqa: T201
        code = 2
    except Exception as error:
        if debug:
            raise
        from sftui.text import visible

        sentence = f"sftui: this is a bug, --debug shows where: {type(error).__name__}: {error}"
        print(visible(sentence), file=sys.stderr)  # noqa: T201
        code = 2
    sys.exit(code)


def _end_on_signals() -> None:
    """SIGTERM and SIGHUP unwind like any error, so that half-written files are taken away."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)


__all__ = ["main"]
