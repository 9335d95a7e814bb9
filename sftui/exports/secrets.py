"""Keys and tokens that stand in a config: never shown, whatever else of the config is."""

from __future__ import annotations

import re

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
