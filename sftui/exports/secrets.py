"""Keys and tokens that stand in a config: never shown, whatever else of the config is."""

from __future__ import annotations

import re

HIDDEN = "‹hidden›"

_FIELD = re.compile(
    r"""(?<![\w.-])(?P<key>[\w.-]+)(?P<is>["']?\s*[:=]\s*)
        (?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|[^\s,}\]\#][^,}\]\n]*)""",
    re.VERBOSE,
)
"""A key begins where no other character of a key stands before it, so that a line is read once, however long."""
_TAIL = re.compile(r"(?:token|key|secret)\Z")
_WHOSE = re.compile(
    r"(?<![a-z])(?:hub|hf|hugging_?face|access|auth|bearer|api|secret|session|refresh|private|mlflow|comet|swanlab|wandb)"
)
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
    return _KNOWN.sub(HIDDEN, _FIELD.sub(_hide, line))


def _hide(found: re.Match[str]) -> str:
    if _NO_SECRET.match(found["value"]) or not _names_a_secret(found["key"].lower()):
        return found[0]
    return found["key"] + found["is"] + HIDDEN


def _names_a_secret(key: str) -> bool:
    """Whether a key is a password, or somebody's token or key: `hub_token`, `wandb_api_key`; not `eos_token`."""
    name = re.split(r"[.-]", key)[-1]
    if _ALONE.search(name):
        return True
    tail = _TAIL.search(name)
    if tail is None:
        return False
    before = key[: len(key) - len(name) + tail.start()]
    whose = _WHOSE.search(before)
    return whose is not None and (before.endswith(("_", "-")) or whose.end() == len(before))
