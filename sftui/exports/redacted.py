"""What of a recipe, a config or an error may stand in a public report: no path, no secret, no text of the user's."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from sftui.exports.secrets import without_secrets
from sftui.text import visible

PATH = "‹path›"
TEXT = "‹text›"
LONGEST = 60
"""Characters of a word that is shown."""

_ENDINGS = r"\.(?:jsonl?|jinja2?|ya?ml|gguf|model|csv|parquet|arrow|txt|html|gz|zst|py)"
_WORD = re.compile(r"[\w.+:@|<>\[\]-]+(?:/[\w.+:@-]+)?")
"""A name, a version, a special token, a Hub name."""
_FILE = re.compile(_ENDINGS + r"\Z", re.IGNORECASE)
_PLACES = re.compile(
    r"(?<![\w/‹])(?:~[\w.-]*|\.{1,2}|[A-Za-z]:)?[/\\][^\s:;,'\"`]+"  # begins where paths begin
    rf"|(?:[\w.-]+/){{2,}}[\w.-]+|[\w./-]+{_ENDINGS}(?![\w.])",  # several folders, or a file's ending
    re.IGNORECASE,
)
_QUOTED = re.compile(r"'(?:[^'\\\n]|\\.)*'(?!\w)|\"(?:[^\"\\\n]|\\.)*\"")


def redacted_value(value: Any) -> str:
    """A value of a knob as YAML writes it: numbers, names and special tokens as they are, `‹path›`, and other text by
    its length."""
    if value is None or isinstance(value, (bool, int, float)):
        return json.dumps(value)
    if isinstance(value, Mapping):
        pairs = (f"{redacted_value(str(key))}: {redacted_value(one)}" for key, one in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(redacted_value, value))}]"
    text = str(value)
    if text.startswith("file:") or _is_place(text):
        return PATH
    if len(text) <= LONGEST and _WORD.fullmatch(text):
        return without_secrets(visible(text))
    return f"‹{len(text):,} characters›"


def redacted_sentence(sentence: str, names: Iterable[str] = ()) -> str:
    """A sentence of sftui's, e.g. an error, without the paths, the quoted texts and the secrets in it.

    `names` are words that the user gave; what of them names a file or a folder is a path wherever it stands.
    """
    for name in sorted({one for one in names if len(one) > 1 and _is_place(one)}, key=len, reverse=True):
        sentence = sentence.replace(name, PATH)
    sentence = _PLACES.sub(PATH, _QUOTED.sub(TEXT, sentence))
    return visible(without_secrets(sentence))


def _is_place(text: str) -> bool:
    """Whether a text names a file or a folder rather than something of the Hub or of sftui."""
    beginning = text.startswith(("/", "~", ".", "\\")) or re.match(r"[A-Za-z]:[/\\]", text) is not None
    if beginning or text.count("/") > 1 or "\\" in text or _FILE.search(text):
        return True
    try:
        return os.path.exists(text)
    except (OSError, ValueError):
        return False
