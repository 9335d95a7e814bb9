"""What of a recipe, a config or an error is shown: never a key or token; in a public report no path and no text of the
user's either."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from sftui.text import visible

HIDDEN = "‹hidden›"

_KEY = re.compile(r"""(?<![\w.-])([\w.-]+)["']?\s*[:=]\s*""")
"""A key begins where no other character of a key stands before it, so that a line is read once, however long."""
_VALUE = re.compile(r""""(?:[^"\\]|\\.)*"|'[^']*'|[^\s,}\]\#][^,}\]\n]*""")
_TAIL = re.compile(r"(?:token|key|secret)\Z")
_OWNER = re.compile(
    r"(?<![a-z])(?:hub|hf|access|auth|bearer|api|secret|session|refresh|private|mlflow|comet|swanlab|wandb)(?P<end>\Z)?"
)
_HUGGING_FACE = re.compile(r"(?<![a-z])hugging_?face")
_ALONE = re.compile(r"api_?key\Z|secret|passw(?:or)?d|passphrase|credential|webhook")
_KNOWN = re.compile(
    r"hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}"
    r"|AKIA[0-9A-Z]{12,}|xox[abprs]-[\w-]{10,}|AIza[\w-]{20,}|(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
"""Tokens that tell what they are: Hugging Face, OpenAI, GitHub, GitLab, AWS, Slack, Google, JWT, and a password in an
address."""
_NO_SECRET = re.compile(r"^(?:null|~|true|false|\"\"|'')?\s*$", re.IGNORECASE)

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


def without_secrets(line: str) -> str:
    """A line of a config, or a sentence that quotes one, with what looks like a secret replaced; O(characters)."""
    text, at = "", 0
    for key in _KEY.finditer(line):
        value = _VALUE.match(line, key.end()) if key.start() >= at and _names_a_secret(key[1].lower()) else None
        if value is not None and not _NO_SECRET.match(value[0]):
            text += line[at : value.start()] + HIDDEN
            at = value.end()
    return _KNOWN.sub(HIDDEN, text + line[at:])


def _names_a_secret(key: str) -> bool:
    """Whether a key is a password, or somebody's token or key: `hub_token`, `wandb_api_key`; not `eos_token`."""
    name = key.rpartition(".")[2]
    if _ALONE.search(name.rpartition("-")[2]):
        return True
    tail = _TAIL.search(name)
    if tail is None:
        return False
    before = name[: tail.start()]
    owners = _OWNER.finditer(before)
    apart = before.endswith(("_", "-"))  # other words may stand between
    return any(apart or owner["end"] is not None for owner in owners) or _HUGGING_FACE.search(before) is not None
