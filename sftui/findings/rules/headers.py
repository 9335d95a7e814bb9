"""Words of roles that another format writes before each message, left in the messages themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sftui.findings.checks import Fault, chats, setup_check
from sftui.findings.context import Context
from sftui.findings.look import shown
from sftui.findings.model import Severity
from sftui.findings.rule import case, chat, major
from sftui.findings.words import text_of
from sftui.model import Inspection

_WORD = re.compile(r"\s*(?:#{1,4} ?)?(?P<answer>Assistant|ASSISTANT|Chatbot)?(?(answer)|(?:Human|HUMAN|User|USER)) ?:")
_ENOUGH, _MOST = 3, 0.8
"""Rows, and the share of them, that make it a format and no way to say something."""

CON016 = major(
    "role-word-in-text",
    "messages begin with the word of a role from another format",
    "`Human:` or `Assistant:` was a turn header elsewhere. The template writes its own, so the model is asked with both"
    " and learns to begin its answers with the word.",
    data="remove the words from the data",
    bad=case(*[chat(f"Human: {word}?", f"Assistant: {word}.") for word in ("One", "Two", "Three")]),
    good=case(*[chat(f"{word}?", "User: anyone. Assistant: a model.") for word in ("One", "Two", "Three")]),
)


@setup_check(CON016)
def role_words(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """CON016: nearly all rows have such words, at the first question or answer."""
    rows, words = list[Inspection](), dict[str, bool]()
    for row in chats(sample):
        messages = row.conversation.messages if row.conversation is not None else ()
        firsts = {message.role: text_of(message) for message in reversed(messages)}
        found = [_WORD.match(firsts.get(role, "")) for role in ("user", "assistant")]
        own = [match for match, answer in zip(found, (False, True)) if match and bool(match["answer"]) is answer]
        rows += [row] if own else []
        words |= {match.group().strip(): bool(match["answer"]) for match in own}
    if len(rows) < max(_ENOUGH, _MOST * len(chats(sample))):
        return
    names = " and ".join(f"`{shown(word, 20)}`" for word in words)
    severity = None if any(words.values()) else Severity.INFO
    yield Fault(f"messages begin with {names}, which another format writes before each turn", names, severity, of=rows)
