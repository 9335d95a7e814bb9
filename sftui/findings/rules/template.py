"""What the template did to one row: white space, prompts that are no prefix, text that was rendered elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from sftui.findings.checks import Checks
from sftui.findings.look import Look, shown
from sftui.findings.model import Finding, Severity
from sftui.findings.words import Standing, without_thoughts
from sftui.model import Kind, Part


def stripped(look: Look) -> Iterator[Finding]:
    """TPL009: the content's edges are missing from a region that is proven to be its own."""
    if not look.chat or not look.known:
        return
    regions: dict[int, tuple[int, int]] = {}
    for span in look.rendered.spans:
        if span.part is Part.CONTENT:
            regions[span.message] = (min(span.start, regions.get(span.message, (span.start, 0))[0]), span.end)
    for number, message in enumerate(look.messages):
        content = look.text_of(message)
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
        yield look.finding(
            "TPL009",
            f"the template strips {len(content) - len(bare)} white space characters from message {number}",
            message=number,
            span=(start, end),
            evidence=shown(content[:20] + " … " + content[-20:] if len(content) > 44 else content),
            severity=Severity.WARNING if indented and "    " in content.strip() else None,
        )
        return


def left_out(look: Look) -> Iterator[Finding]:
    """TPL015: not one line of what a user or the assistant says stands anywhere in the rendering."""
    if not look.chat or not look.known or look.labels.dropped is not None:
        return
    text = Standing(look.rendered.text)
    for number, message in enumerate(look.messages):
        # Of reasoning that a template takes out THK001 and THK004 tell; a call that lost its words is the message's
        # other half.
        called = bool(message.data.get("tool_calls"))
        if message.role not in ("user", "assistant") or (number in look.placed and not called):
            continue
        said = without_thoughts(look.text_of(message)).strip()
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        if not lines or any(line in text or json.dumps(line, ensure_ascii=False)[1:-1] in text for line in lines):
            continue
        what = f"what message {number} of the {message.role} says" + (
            " beside its tool call" if called and number in look.placed else ""
        )
        yield look.finding(
            "TPL015",
            f"the template leaves out {what}",
            message=number,
            evidence=shown(said),
            severity=Severity.WARNING if called and number in look.placed else None,
        )
        return


def prompt_no_prefix(look: Look) -> Iterator[Finding]:
    """TPL007: the prompt's text is no prefix of the whole, where the mask is cut by the prompt."""
    prompt = look.rendered.prompt
    if prompt is None or look.tokens.prompt_ids is None or look.rendered.text.startswith(prompt) or not look.chat:
        return
    if look.recipe.mask.rule not in ("auto", "completion"):
        return
    shared = _shared(prompt, look.rendered.text)
    at = next((i for i, end in enumerate(look.tokens.ends) if end > shared), len(look.tokens) - 1)
    change = None
    if look.recipe.mask.boundary == "prompt_length":
        change = ("mask.boundary", "common_prefix")
    yield look.finding(
        "TPL007",
        f"after {shared} characters the prompt goes on with `{shown(prompt[shared:], 30)}`, the whole text with "
        f"`{shown(look.rendered.text[shared : shared + 30], 30)}`",
        tokens=(max(0, at - 3), min(at + 4, len(look.tokens))),
        change=change,
        severity=None if change else Severity.INFO,
    )


def _shared(a: str, b: str) -> int:
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
    return low


def text_differs(look: Look) -> Iterator[Finding]:
    """TPL012: a row of text that also holds its messages, rendered otherwise."""
    data = look.inspection.row.data
    if data is None or look.conversation.kind is not Kind.TEXT or look.context.template is None:
        return
    messages = next((data[name] for name in ("messages", "conversations") if isinstance(data.get(name), list)), None)
    if not messages or not all(isinstance(one, Mapping) and isinstance(one.get("role"), str) for one in messages):
        return
    ours = look.context.render(messages)
    theirs = look.conversation.text or ""
    if (
        ours is None
        or ours.strip() == theirs.strip()
        or ours.strip().removeprefix(look.facts.bos_token or "\0") == theirs.strip()
    ):
        return
    at = _shared(ours, theirs)
    yield look.finding(
        "TPL012",
        f"the text differs from what the template renders from the messages after {at} characters",
        span=(max(0, at - 10), at + 30),
        evidence=f"{shown(theirs[at : at + 30], 30)} ≠ {shown(ours[at : at + 30], 30)}",
    )


CHECKS = Checks(labelled=(stripped, left_out, prompt_no_prefix), slow=(text_differs,))
