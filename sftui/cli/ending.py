"""How a command ends: the only place where errors become sentences and exit codes.

0 is fine, 1 means findings or differences and nothing else, 2 that it could not be done, whatever the reason.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType

from sftui.cli.terminal import guarded, narrate
from sftui.errors import SftuiError


def exit_code(work: Callable[[], object], debug: bool) -> int:
    """Do the work of a command and say how it ended; with `debug`, an error's trace comes before its sentence."""
    with guarded():
        try:
            code = work()
            sys.stdout.flush()
            return code if isinstance(code, int) else 0
        except BrokenPipeError:
            _give_up_stdout()  # whoever read our output has gone
            return 0
        except KeyboardInterrupt:
            return 130
        except (SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # a panic of Rust is no Exception
            if debug:
                traceback.print_exc()
            narrate(_sentence(error))
            try:
                sys.stdout.flush()
            except OSError:
                _give_up_stdout()
            return 2


def _sentence(error: BaseException) -> str:
    """An error as the sentence that the user reads."""
    if isinstance(error, SftuiError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there was not enough memory for this; try fewer rows at a time"
    if isinstance(error, OSError) and error.errno is not None:
        reason = (error.strerror or str(error)).lower()
        if error.filename is None:
            return f"the output could not be written: {reason}"
        return f"{os.fsdecode(error.filename)}: the system refused: {reason}"
    from sftui.tokens.loaded import is_panic, panic_text

    if is_panic(error):
        return f"the tokenizer's library crashed: {panic_text(error)}"
    return f"this is a bug; --debug shows where: {type(error).__name__}: {error}"


def _give_up_stdout() -> None:
    """The interpreter must not try to flush into it again at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stdout.flush()


def end_on_signals() -> None:
    """SIGTERM and SIGHUP unwind like any error, so that half-written files are taken away."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)
