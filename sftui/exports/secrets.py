"""Keys and tokens that stand in a config: never shown, whatever else of the config is."""

from __future__ import annotations

import re

HIDDEN = "‹hidden›"

_NAMED = re.compile(
    r"""(?P<key>["']?[\w.-]*?(?:
            (?<![a-z])(?:hub|hf|hugging_?face\w*|access|auth|bearer|api|secret|session|refresh|private|mlflow|comet|swanlab|wandb|push_to_hub)
            [_-]?(?:\w+[_-])?(?:token|key|secret)
          | api_?key | apikey | secret\w* | passw(?:or)?d\w* | passphrase | credential\w* | webhook\w*
        )["']?\s*[:=]\s*)
        (?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|[^\s,}\]\#][^,}\]\n]*)""",
    re.VERBOSE | re.IGNORECASE,
)
_KNOWN = re.compile(
    r"hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}"
    r"|AKIA[0-9A-Z]{12,}|xox[abprs]-[\w-]{10,}|AIza[\w-]{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
"""Tokens that tell what they are: Hugging Face, OpenAI, GitHub, GitLab, AWS, Slack, Google, JWT, and a password in an
address."""
_NO_SECRET = re.compile(r"^(?:null|~|true|false|\"\"|'')?\s*$", re.IGNORECASE)


def without_secrets(line: str) -> str:
    """A line of a config, or a sentence that quotes one, with what looks like a secret replaced."""
    return _KNOWN.sub(HIDDEN, _NAMED.sub(_hide, line))


def _hide(found: re.Match[str]) -> str:
    return found[0] if _NO_SECRET.match(found["value"]) else found["key"] + HIDDEN
