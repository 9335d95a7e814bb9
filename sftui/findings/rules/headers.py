"""Words of roles that another format writes before each message, left in the messages themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sftui.findings.checks import CONVERSATION, Fault, chats, row_check, setup_check
from sftui.findings.context import Context
from sftui.findings.dataset import SPOKEN
from sftui.findings.look import HUMAN, TAG, RowLook, shown
from sftui.findings.model import Severity
from sftui.findings.rule import DROP, case, chat, major
from sftui.findings.words import text_of, without_code
from sftui.model import Inspection

_WORD = re.compile(r"\s*(?:#{1,4} ?)?(?P<answer>Assistant|ASSISTANT|Chatbot)?(?(answer)|(?:Human|HUMAN|User|USER)) ?:")
_ENOUGH, _MOST = 3, 0.8
"""Rows, and the share of them, that make it a format and no way to say something."""

CON016 = major(
    "role-word-in-text",
    "messages begin with another format's role label",
    "`Human:` or `Assistant:` is a turn header from another format. The template writes its own, so the model"
    " sees both and learns to begin its answers with the label.",
    data="remove the labels from the data",
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


_HEADER = re.compile(
    r"^(?:#{2,4} ?(?:Human|User|Assistant|Instruction|Response|Input) ?:|\[/?INST\]|<start_of_turn>"
    "|<\\|(?:user|assistant|system|prompter|im_start|start_header_id)\\|>|<\uff5c(?:User|Assistant)\uff5c>"
    r"|(?P<word>Human) ?:)",
    re.MULTILINE,
)
_ANY = ("##", "INST]", "_turn>", "|>", "\uff5c>", "Human")
"""Of which one stands in every text that holds such a header."""
_SCRIPT = re.compile(r"^(?:Assistant|ASSISTANT|AI|Bot|Chatbot|Robot|Computer) ?:", re.MULTILINE)

INJ003 = major(
    "turn-header-in-answer",
    "an answer continues with another format's turn header",
    "The model that generated it ran past the end of its turn and wrote the next question as well. Yours learns to do"
    " the same.",
    data="cut the answer before the header",
    repair=(DROP,),
    inherent=True,
    bad=case(chat("Who?", "Me.\n\n### Human: And who else?\n### Assistant: You.")),
    good=case(chat("Who?", "Me.\n\n### Humans and others")),
    more=(case(chat("Who?", "Me.\nHuman: And who else?")),),
)


@row_check(
    CONVERSATION,
    INJ003,
    kinds=SPOKEN,
    signs=lambda *_: "#" + TAG + HUMAN,
    row=lambda look: any(map(look.spoken.__contains__, _ANY)),
)
def header_inside(look: RowLook) -> Iterator[Fault]:
    """INJ003: at the beginning of a later line, in words where the answer is no script; a control token is INJ001's."""
    tokenizer = look.context.tools.tokenizer
    for number, text in look.written:
        found = _HEADER.search(without_code(text), len(text) - len(text.lstrip()) + 1)
        if found is None or (found["word"] and _SCRIPT.search(text)):
            continue
        token = tokenizer.token_id(found[0])
        if token is None or not tokenizer.is_special(token):
            what = f"{look.name(number)} continues with {shown(found[0], 20)}, which begins a turn in another format"
            severity = Severity.INFO if found["word"] else None
            yield Fault(what, shown(text[max(0, found.start() - 30) : found.end() + 50]), severity, message=number)
