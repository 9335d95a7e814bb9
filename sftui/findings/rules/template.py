"""What the template did to one row: white space, prompts that are no prefix, text that was rendered elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from sftui.findings.checks import BY_PROMPT, CHATS, LABELLED, SLOW, Fault, row_check
from sftui.findings.fixes import common_boundary
from sftui.findings.look import RowLook, shown
from sftui.findings.model import Consequence, Severity
from sftui.findings.rule import DROP, GOOD, case, chat, chatml, fatal, major, minor
from sftui.findings.words import TextIndex, text_of, without_thoughts
from sftui.model import Kind, Part
from sftui.text import alike

TPL009 = minor(
    "content-stripped",
    "the template strips white space that the data has",
    "Indentation at the start and line breaks at the end are lost; offsets taken from the data are off.",
    data="strip the data, so that all tools agree, or use a template without `trim`",
    repair=("trim", DROP),
    bad=case(chat("hi", "Hello.\n\n"), tokenizer="llama3"),
    good=case(chat("hi", "Hello."), tokenizer="llama3"),
)


@row_check(LABELLED, TPL009, shape=lambda shape: shape.manner.bordered, kinds=CHATS)
def stripped(look: RowLook) -> Iterator[Fault]:
    """TPL009: the content's edges are missing from a region that is proven to be its own."""
    if not look.known:
        return
    regions: dict[int, tuple[int, int]] = {}
    for span in look.rendered.spans:
        if span.part is Part.CONTENT:
            regions[span.message] = (min(span.start, regions.get(span.message, (span.start, 0))[0]), span.end)
    for number, message in enumerate(look.messages):
        content = text_of(message)
        bare = content.strip()
        if not bare or len(bare) == len(content) or number not in regions:
            continue
        start, end = regions[number]
        if bare != look.rendered.text[start:end].strip() or content in look.rendered.text[start:end]:
            continue
        at = look.rendered.text.find(content, max(0, start - len(content)), end + len(content))
        if at >= 0:
            continue
        head = content[: len(content) - len(content.lstrip())]
        indented = "\n" in content and head.strip("\n") != ""
        yield Fault(
            f"the template strips {len(content) - len(bare)} white space characters from message {number}",
            message=number,
            span=(start, end),
            evidence=shown(content[:20] + " … " + content[-20:] if len(content) > 44 else content),
            severity=Severity.WARNING if indented and "    " in content.strip() else None,
        )


TPL015 = fatal(
    "content-left-out",
    "the text of a message does not reach the rendered text",
    "The template prints nothing of it. Llama 3.1 writes the tool call alone and drops what the assistant says"
    " beside it; others know only some orders of messages.",
    data="use a template that prints it, or give the text a message of its own",
    repair=(DROP,),
    leads_to=Consequence.LOST,
    bad=case(chat("hi", "Hello.", "Bye.", "Bye!"), template=chatml().replace("in messages", "in messages[-2:]")),
    good=case(chat("hi", "Hello.", "Bye.", "Bye!"), template=chatml()),
)


@row_check(
    LABELLED,
    TPL015,
    shape=lambda shape: shape.manner.beside or not shape.order.turns.difference(shape.manner.mute) <= shape.placed,
    row=lambda look: look.read.manner.beside or not look.order.turns.difference(look.read.manner.mute) <= look.placed,
    kinds=CHATS,
)
def left_out(look: RowLook) -> Iterator[Fault]:
    """TPL015: not one line of what a user or the assistant says stands anywhere in the rendering."""
    if not look.known or look.labels.dropped is not None:
        return
    text = TextIndex(look.rendered.text)
    for number, message in enumerate(look.messages):
        # Of reasoning that a template takes out THK001 and THK004 tell; a call that lost its words is the message's
        # other half.
        called = bool(message.data.get("tool_calls"))
        if look.roles[number] not in ("user", "assistant") or (number in look.placed and not called):
            continue
        said = without_thoughts(text_of(message)).strip()
        if text.any_line(said):
            continue
        what = f"what message {number} of the {message.role} says" + (
            " beside its tool call" if called and number in look.placed else ""
        )
        yield Fault(
            f"the template leaves out {what}",
            message=number,
            evidence=shown(said),
            severity=Severity.WARNING if called and number in look.placed else None,
        )


TPL007 = major(
    "generation-prompt-not-a-prefix",
    "the prompt is no prefix of the whole text",
    "Rendered with the generation prompt the text parts from the full conversation, so a mask by prompt length is"
    " off by some tokens. LLaMA-Factory encodes pieces on their own and is not affected.",
    scope="setup",
    moves=("edge",),  # from where prompt and row part to where the prompt alone ends
    bad=case(GOOD, template=chatml(prompt="<think>")),
    good=case(GOOD, template=chatml()),
)


@row_check(
    LABELLED,
    TPL007,
    row=lambda look: look.rendered.prompt is not None and not look.rendered.text.startswith(look.rendered.prompt),
    masks=BY_PROMPT,
    kinds=CHATS,
)
def prompt_no_prefix(look: RowLook) -> Iterator[Fault]:
    """TPL007: the prompt's text is no prefix of the whole, where the mask is cut by the prompt."""
    prompt = look.rendered.prompt
    if prompt is None or look.tokens.prompt_ids is None or look.rendered.text.startswith(prompt):
        return
    shared = alike(prompt, look.rendered.text)
    at = next((i for i, end in enumerate(look.tokens.ends) if end > shared), len(look.tokens) - 1)
    changes = common_boundary(look.context)
    yield Fault(
        f"after {shared} characters the prompt goes on with `{shown(prompt[shared:], 30)}`, the whole text with "
        f"`{shown(look.rendered.text[shared : shared + 30], 30)}`",
        tokens=(max(0, at - 3), min(at + 4, len(look.tokens))),
        changes=changes,
        severity=None if changes else Severity.INFO,
    )


TPL012 = major(
    "text-not-rendered-by-template",
    "stored text differs from what the template renders",
    "The row has both messages and text, and they differ: it was rendered with another template, or with plain"
    " Jinja2, which keeps line breaks and escapes letters in JSON.",
    data="render again with apply_chat_template, or train on the messages",
    bad=case(
        {"text": "\nuser: hi\n\nassistant: Hello.\n", **chat("hi", "Hello.")},
        changes={"data.format": "text"},
        template=chatml(),
    ),
    good=case(
        {"text": "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n", **chat("hi", "Hello.")},
        changes={"data.format": "text"},
    ),
)


@row_check(SLOW, TPL012, recipe=lambda context: context.template is not None, kinds=(Kind.TEXT,))
def text_differs(look: RowLook) -> Iterator[Fault]:
    """TPL012: a row of text that also holds its messages, rendered otherwise."""
    ours = look.context.render(look.messages_beside) if look.messages_beside else None
    theirs = look.conversation.text or ""
    if (
        ours is None
        or ours.strip() == theirs.strip()
        or ours.strip().removeprefix(look.facts.bos_token or "\0") == theirs.strip()
    ):
        return
    at = alike(ours, theirs)
    yield Fault(
        f"the text differs from what the template renders from the messages after {at} characters",
        span=(max(0, at - 10), at + 30),
        evidence=f"{shown(theirs[at : at + 30], 30)} ≠ {shown(ours[at : at + 30], 30)}",
    )
