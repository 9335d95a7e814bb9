"""Taking things out of the terminal: clipboard, files, the editor. Pure of widgets.

Nobody can know whether a clipboard took what was sent, so the answer says what was tried. Inside
tmux with its default `set-clipboard external` a bare OSC 52 never arrives, but `tmux load-buffer
-w -` does (trap T8).
"""

from __future__ import annotations

import base64
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.errors import ExportError, SftuiError
from sftui.text import many

if TYPE_CHECKING:
    from sftui.session.inputs import Inputs

OSC52_LIMIT = 74_994
"""Bytes of text beyond which xterm and others drop the sequence without a word."""


def copy_out(text: str, write: Callable[[str], None], environment: Mapping[str, str]) -> str:
    """Sends `text` to the clipboard and says what was tried."""
    data = text.encode("utf-8", "backslashreplace")
    size = many(len(text), "character")
    if environment.get("TMUX") and shutil.which("tmux"):
        try:
            done = subprocess.run(
                ["tmux", "load-buffer", "-w", "-"],
                input=data,
                timeout=2,
                check=False,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            if done.returncode == 0:
                return f"sent {size} to tmux (prefix ] pastes) and the system clipboard"
        except (OSError, subprocess.SubprocessError):
            pass
    if len(data) > OSC52_LIMIT:
        return f"{size} are too many for the clipboard; press w to write a file"
    write(f"\x1b]52;c;{base64.b64encode(data).decode('ascii')}\x07")
    return f"sent {size} to the terminal's clipboard (OSC 52); if nothing arrives, press w to write a file"


def write_out(text: str, named: str, inputs: Inputs) -> str:
    """Writes atomically; a name that ends with `!` may be there already. ExportError where it may not, or is an
    input."""
    from sftui.exports.files import write_atomically

    target = Path(os.path.expanduser(named.removesuffix("!")))
    inputs.refuse(target)
    if target.exists() and not named.endswith("!"):
        raise ExportError(f"{target} already exists", fix="end the name with ! to overwrite it")
    write_atomically(target, text.encode("utf-8", "backslashreplace"))
    return f"wrote {target}"


def editor(environment: Mapping[str, str]) -> list[str]:
    """$VISUAL, else $EDITOR, else the first of a few that is there; SftuiError where there is none."""
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environment.get(name, ""))
        except ValueError as error:
            raise SftuiError(f"${name} cannot be read", why=str(error), fix="fix its quotes") from error
        if words:
            if shutil.which(words[0]) is None:
                raise SftuiError(f"${name} names {words[0]}, which is not there", fix="set it to an editor that is")
            return words
    for fallback in ("nano", "vim", "vi"):
        if shutil.which(fallback):
            return [fallback]
    raise SftuiError("there is no editor", fix="set $VISUAL or $EDITOR")


@contextmanager
def read_only_copy(text: str, name: str) -> Iterator[Path]:
    """A read-only file with `text`, gone afterwards whatever happens."""
    folder = Path(tempfile.mkdtemp(prefix="sftui-"))
    try:
        path = folder / name
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
        os.chmod(path, 0o400)
        yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def file_next_to(data: str, what: str, ending: str = ".jsonl") -> str:
    """A name for a file made from the data: `train-repaired.jsonl`."""
    stem = re.sub(
        r"[^\w.-]+", "", re.split(r"\.(?:jsonl|ndjson|json|csv|tsv|parquet|gz|zst)\b", Path(data).name)[0]
    ).strip("-.")
    return f"{stem or 'data'}-{what}{ending}"
