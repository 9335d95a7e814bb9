"""How a command ends: the only place where errors become sentences and exit codes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

from sftui.errors import SftuiError


def exit_code(work: Callable[[], object], debug: bool) -> int:
    """Do the work of a command and say how it ended; with `debug`, errors pass through."""
    try:
        code = work()
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not try to flush into it again.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except SftuiError as error:
        if debug:
            raise
        tell(str(error))
    except MemoryError:
        if debug:
            raise
        tell("there was not enough memory for this; try fewer rows at a time")
    except Exception as error:
        if debug:
            raise
        tell(f"this is a bug, --debug shows where: {type(error).__name__}: {error}")
    except BaseException as error:
        from sftui.tokens.loaded import is_panic, panic_told

        if debug or not is_panic(error):
            raise
        tell(f"the tokenizer's library gave up: {panic_told(error)}")
    return 2


def tell(sentence: str) -> None:
    """One sentence on stderr."""
    from sftui.text import visible

    print(f"sftui: {visible(sentence)}", file=sys.stderr)  # noqa: T201


def end_on_signals() -> None:
    """SIGTERM and SIGHUP unwind like any error, so that half-written files are taken away."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)
