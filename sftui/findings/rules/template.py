"""What the template does to a row, and to small conversations of our own, which are rendered to find it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sftui.errors import SftuiError
from sftui.findings.checks import BY_PROMPT, CHATS, LABELLED, SLOW, Fault, chats, row_check, setup_check
from sftui.findings.context import FIRST_ANSWER, FIRST_USER, NOON, Context
from sftui.findings.fixes import common_boundary
from sftui.findings.look import RowLook, pieces_of, shown
from sftui.findings.model import Consequence, Severity
from sftui.findings.rule import DROP, GOOD, ROUNDS, case, chat, chatml, fatal, info, loud, major, minor
from sftui.findings.rules.roles import TPL003, raw_message
from sftui.findings.words import TextIndex, text_of, without_thoughts
from sftui.model import Conversation, Inspection, Kind, Message, Part, common_prefix
from sftui.recipe import TODAY, changed
from sftui.templates import compile_template, families_for, variables_of
from sftui.trainers import trainer_of
from sftui.trainers.own_config import losses_of
from sftui.trainers.traits import MessageKind, Quirk

if TYPE_CHECKING:
    from sftui.tokens import LoadedTokenizer

TPL009 = minor(
    "content-stripped",
    "the template strips whitespace from the data",
    "Indentation at the start and line breaks at the end are lost, so offsets computed from the data are wrong.",
    data="strip whitespace from the data, so that all tools agree, or use a template without `trim`",
    repair=("trim", DROP),
    bad=case(chat("hi", "Hello.\n\n"), tokenizer="llama3"),
    good=case(chat("hi", "Hello."), tokenizer="llama3"),
)


@row_check(LABELLED, TPL009, of=lambda shape: shape.known, shape=lambda shape, _: shape.manner.bordered, kinds=CHATS)
def stripped(look: RowLook) -> Iterator[Fault]:
    """TPL009: the content's edges are missing from a region that is proven to be its own."""
    regions: dict[int, tuple[int, int]] = {}
    for span in look.rendered.spans:
        if span.part is Part.CONTENT:
            regions[span.message] = (min(span.start, regions.get(span.message, (span.start, 0))[0]), span.end)
    for number, message in enumerate(look.messages):
        content = text_of(message)
        bare = content.strip()
        if not bare or len(bare) == len(content) or number not in regions:
            continue
        (start, end), text = regions[number], look.rendered.text
        if bare != text[start:end].strip() or content in text[max(0, start - len(content)) : end + len(content)]:
            continue
        head = content[: len(content) - len(content.lstrip())]
        indented = "\n" in content and head.strip("\n") != ""
        yield Fault(
            f"the template strips {len(content) - len(bare)} whitespace characters from message {number}",
            shown(content[:20] + " … " + content[-20:] if len(content) > 44 else content),
            message=number,
            span=(start, end),
            severity=Severity.WARNING if indented and "    " in content.strip() else None,
        )


TPL015 = fatal(
    "content-left-out",
    "the text of a message is missing from the rendered text",
    "The template prints none of it. Llama 3.1 writes only the tool call and drops the assistant's text next to"
    " it; others accept messages only in certain orders.",
    data="use a template that prints it, or put the text into its own message",
    repair=(DROP,),
    leads_to=Consequence.LOST,
    bad=case(chat("hi", "Hello.", "Bye.", "Bye!"), template=chatml().replace("in messages", "in messages[-2:]")),
    good=case(chat("hi", "Hello.", "Bye.", "Bye!"), template=chatml()),
)


@row_check(
    LABELLED,
    TPL015,
    of=lambda shape: shape.known and not shape.dropped,
    shape=lambda shape, context: (
        shape.manner.beside
        or (
            Quirk.REPLACES_WORDS in context.traits.quirks
            and any(context.traits.kind_of(role) is MessageKind.CALL for role in shape.roles)
        )
        or not shape.order.turns.difference(shape.manner.mute) <= shape.placed
    ),
    kinds=CHATS,
)
def left_out(look: RowLook) -> Iterator[Fault]:
    """TPL015: not one line of what a user or the assistant says stands anywhere in the rendering."""
    text = TextIndex(look.rendered.text)
    replaces = Quirk.REPLACES_WORDS in look.context.traits.quirks
    for number, message in enumerate(look.messages):
        if replaces and (held := raw_message(look, number)).get("tool_calls"):
            said = held.get(look.recipe.data.message_keys.get("content", "content"))
            if isinstance(said, str) and not text.any_line(said.strip()):
                what = f"{look.context.traits.title} replaces the text of message {number} with its tool call"
                yield Fault(what, shown(said), Severity.WARNING, message=number)
            continue
        # Of reasoning that a template takes out THK001 and THK004 tell; a call that lost its words is the message's
        # other half.
        called = bool(message.data.get("tool_calls"))
        if look.roles[number] not in ("user", "assistant") or (number in look.placed and not called):
            continue
        said = without_thoughts(text_of(message)).strip()
        if text.any_line(said):
            continue
        call, severity = (" next to its tool call", Severity.WARNING) if number in look.placed else ("", None)
        what = f"the text of {message.role} message {number}{call}"
        yield Fault(f"the template leaves out {what}", shown(said), severity, message=number)


TPL007 = major(
    "generation-prompt-not-a-prefix",
    "the prompt is not a prefix of the whole text",
    "Rendered with the generation prompt, the text differs from the full conversation, so a mask based on prompt"
    " length is off by a few tokens. LLaMA-Factory encodes pieces separately and is not affected.",
    scope="setup",
    pairs="use a template whose generation prompt matches how its answers begin",
    moves=("edge",),
    bad=case(GOOD, template=chatml(prompt="<think>")),
    good=case(GOOD, template=chatml()),
)


@row_check(LABELLED, TPL007, masks=BY_PROMPT, kinds=CHATS)
def prompt_no_prefix(look: RowLook) -> Iterator[Fault]:
    """TPL007: the prompt's text is no prefix of the whole, where the mask is cut by the prompt."""
    prompt = look.rendered.prompt
    if prompt is None or look.tokens.prompt is None or look.rendered.text.startswith(prompt):
        return
    answers = look.roles[look.conversation.prompt_messages or 0 :]
    if not look.recipe.supervised and answers and answers[0] not in look.context.traits.answering:
        return  # PRF002, PRF003
    shared = common_prefix(prompt, look.rendered.text)
    at = next((i for i, end in enumerate(look.tokens.ends) if end > shared), len(look.tokens) - 1)
    changes = common_boundary(look.context) if look.recipe.supervised else []
    yield Fault(
        f"after {shared} characters the prompt continues with `{shown(prompt[shared:], 30)}`, the whole text"
        f" with `{shown(look.rendered.text[shared : shared + 30], 30)}`",
        tokens=(at - 3, at + 4),
        changes=changes,
        severity=None if changes else Severity.INFO,
    )


_BOTH, _AS_TEXT = chat("hi", "Hello."), {"data.format": "text"}
_RENDERED = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n"
TPL012 = major(
    "text-not-rendered-by-template",
    "stored text differs from what the template renders",
    "The row has both messages and text, and they differ: the text was rendered with a different template, or with"
    " plain Jinja2, which keeps line breaks and escapes characters in JSON.",
    data="render again with apply_chat_template, or train on the messages",
    bad=case({"text": "\nuser: hi\n\nassistant: Hello.\n", **_BOTH}, changes=_AS_TEXT, template=chatml()),
    good=case({"text": _RENDERED, **_BOTH}, changes=_AS_TEXT),
)


@row_check(SLOW, TPL012, recipe=lambda context: context.template is not None, kinds=(Kind.TEXT,))
def text_differs(look: RowLook) -> Iterator[Fault]:
    """TPL012: a row of text that also holds its messages, rendered otherwise."""
    ours = look.context.render(look.messages_beside) if look.messages_beside else None
    theirs = look.conversation.text or ""
    bare = "" if ours is None else ours.strip()
    if ours is None or theirs.strip() in (bare, bare.removeprefix(look.facts.bos_token or "\0")):
        return
    at = common_prefix(ours, theirs)
    yield Fault(
        f"the text differs from what the template renders from the messages after {at} characters",
        f"{shown(theirs[at : at + 30], 30)} ≠ {shown(ours[at : at + 30], 30)}",
        span=(max(0, at - 10), at + 30),
    )


_CONTROL = re.compile(
    r"<\|[^|<>\s]{1,40}\|>|<｜[^｜<>]{1,40}｜>|<(?:start_of_turn|end_of_turn|bos|eos|s|/s|turn\||\|turn)>"
)
_DATE = re.compile(r"\b\d{1,2} [A-Z][a-z]{2} 20\d\d\b")
_SYSTEM, _SECOND_USER, _SECOND_ANSWER, _REASON = "sftuiSystem7", "sftuiQuestion8", "sftuiAnswer8", "sftuiReason7"


def user(text: str = FIRST_USER) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str = FIRST_ANSWER, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def _roles(chat: Conversation) -> list[str]:
    return [message.role for message in chat.messages]


def _reasons(message: Message) -> bool:
    return "</think>" in str(message.content) or bool(message.data.get("reasoning_content"))


TPL001 = loud(
    "no-chat-template",
    "there is no chat template",
    "Base tokenizers ship none, and transformers no longer has a default: apply_chat_template raises an error."
    " Tools that silently guess a template are worse.",
    pairs="use a tokenizer with a chat template",
    moves=("row",),
    bad=case(GOOD, facts={"chat_templates": {}}, template=""),
)


@setup_check(TPL001)
def no_template(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    found = chats(sample)
    if not context.traits.renders_templates:
        return  # formats of their own: LLaMA-Factory takes `empty` where the tokenizer has none
    if found and not context.tools.templates and context.template is None and not any(one.rendered for one in found):
        families = families_for(context.facts.name, context.facts, context.tools.tokenizer.token_id)
        what = "the rows are chats but there is no chat template"
        yield Fault(what, context.facts.name, changes=[("render.template", f"builtin:{families[0]}")], of=found)


@setup_check(TPL003)
def system_merged(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """TPL003 as an information: the system text is inside the user's turn."""
    with_system = chats(sample, lambda chat: "system" in _roles(chat))
    if not with_system:
        return
    whole = context.render([{"role": "system", "content": _SYSTEM}, user(), answer()])
    alone = context.render([user(), answer()])
    if whole is None or alone is None or whole.count(_SYSTEM) != 1 or whole.index(_SYSTEM) > whole.find(FIRST_USER):
        return
    before, between = whole.partition(_SYSTEM)[0], whole.partition(_SYSTEM)[2].partition(FIRST_USER)[0]
    if before == alone.partition(FIRST_USER)[0] and not between.strip():
        what = "the template writes the system message into the user turn"
        yield Fault(what, shown(whole[: whole.index(FIRST_USER)]), Severity.INFO, of=with_system)


TPL004 = minor(
    "default-system-injected",
    "the template adds text that the data never had",
    "Without a system message the template writes its own. Train and serve with the same choice.",
    data="add an explicit system message, or edit the template",
    bad=case(GOOD, template="qwen2.5"),
)


@setup_check(TPL004)
def injected_text(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    without = chats(sample, lambda chat: {"system", "developer"}.isdisjoint(_roles(chat)))
    two = context.render([user(), answer(), user(_SECOND_USER), answer(_SECOND_ANSWER)])
    if not without or two is None or FIRST_USER not in two or _SECOND_USER not in two:
        return
    first = two.partition(FIRST_USER)[0].removeprefix(context.facts.bos_token or "\0")
    text = first[: len(first) - common_prefix(first[::-1], two.partition(_SECOND_USER)[0][::-1])]
    said = _CONTROL.sub("", text).strip()
    if said and not (context.recipe.render.inject_system and context.recipe.render.inject_system in said):
        count = len(context.tools.tokenizer.encode(text).ids)
        what = f"without a system message the template adds {len(text)} characters ({count} tokens) of its own"
        yield Fault(what, shown(text, 160), of=without)


TPL005 = major(
    "date-in-template",
    "the template writes today's date",
    "The same row gets different ids on different days: caches differ, and training differs from serving.",
    data="pass a constant date_string, or write the date into a copy of the template",
    moves=("frame",),
    bad=case(GOOD, template="{{ strftime_now('%d %b %Y') }}" + chatml()),
    good=case(GOOD, template=chatml()),
    more=(
        case(
            GOOD,
            template=chatml(
                before="{% if date_string is not defined %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}"
                "{{ date_string }}"
            ),
        ),
    ),
)


@setup_check(TPL005)
def date(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    if context.template is None:
        return
    one, again, other = (context.render([user()], now=now) for now in (NOON, NOON, datetime(2031, 11, 23, 18, 45, 7)))
    if one is not None and again is not None and one != again:
        what = "the template renders the same row differently each time"
        yield Fault(what, shown(one[:40]), title="use a template without random choices")
        return
    named = "date_string" in context.template.source
    pinned = [("render.kwargs", {**context.recipe.render.kwargs, "date_string": "01 Jan 2026"})]
    said = "date_string" in context.template_kwargs
    frozen = _DATE.search(one) if one and one == other and named and not said else None
    if frozen is not None:
        what = "the template writes a fixed date if no date_string is given"
        yield Fault(what, shown(frozen.group(), 40), Severity.INFO, changes=pinned)
    if one and other and one != other and (context.recipe.render.date == TODAY or _unsaid(context)):
        at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), 0)
        today = [] if _unsaid(context) else [("render.date", datetime.now().date().isoformat())]
        yield Fault(
            "the template writes the current date or time into every row: trainers render on the day of the run, so"
            " the ids differ from day to day",
            _dated(context, one, other, at),
            changes=pinned if named and not said else today,
            title="" if (named and not said) or today else "write the date into a copy of the template",
        )


def _unsaid(context: Context) -> bool:
    """Whether the trainer cannot be given a day, and writes the one on which it runs."""
    recipe = context.recipe
    if recipe.render.date == TODAY:
        recipe = changed(recipe, "render.date", NOON.date().isoformat())
    return any(loss.startswith("render.date") for loss in losses_of(recipe))


def _dated(context: Context, one: str, other: str, at: int) -> str:
    """What a template writes on two days from where they part, and which tokens of the first day are of it."""
    shared = next((i for i, (a, b) in enumerate(zip(reversed(one[at:]), reversed(other[at:]))) if a != b), 0)
    ends = [len(text) - shared for text in (one, other)]
    encoded = context.tools.tokenizer.encode(one, context.recipe.tokenize.add_special_tokens)
    places = [i for i, (a, b) in enumerate(zip(encoded.starts, encoded.ends)) if a < ends[0] and b > at]
    which = f", tokens {places[0]} to {places[-1]}" if len(places) > 1 else f", token {places[0]}" if places else ""
    return (
        f"{shown(one[max(0, at - 20) : at])}[{shown(one[at : ends[0]], 40)} ↔ {shown(other[at : ends[1]], 40)}]{which}"
    )


TPL008 = major(
    "history-rewritten",
    "earlier turns change when later turns follow",
    "Masks computed turn by turn on partial renders mislabel such rows. Harmless if the mask is read from the"
    " full render.",
    data="make one row per trained turn",
    bad=case(
        ROUNDS,
        template="{% set n = messages | length %}"
        + chatml("{% if loop.index0 < n - 1 %}{{ m.content | upper }}{% else %}{{ m.content }}{% endif %}<|im_end|>"),
    ),
    good=case(ROUNDS),
)


@setup_check(TPL008)
def history(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """TPL008, for plain answers and for answers with reasoning; only reported for sets that have several answers."""
    several = chats(sample, lambda chat: _roles(chat).count("assistant") > 1)
    if not several:
        return
    kinds = [("plain answers", answer())]
    if chats(several, lambda chat: any(map(_reasons, chat.messages))):
        kinds += [
            ("answers with <think>", answer(f"<think>{_REASON}</think>{FIRST_ANSWER}")),
            ("answers with reasoning_content", answer(reasoning_content=_REASON)),
        ]
    for name, first in kinds:
        part = context.render([user(), first])
        whole = context.render([user(), first, user(_SECOND_USER), answer(_SECOND_ANSWER)])
        if part is None or whole is None or whole.startswith(part):
            continue
        at = common_prefix(part, whole)
        by_turn = context.recipe.mask.rule in ("completion", "auto", "turn_content", "turn_full")
        sides = (shown(text[max(0, at - 10) : at + 25], 40) for text in (part, whole))
        yield Fault(
            f"an earlier turn changes when later turns follow ({name})",
            " ≠ ".join(sides),
            Severity.WARNING if by_turn and at <= part.find(FIRST_ANSWER) else Severity.INFO,
            of=several,
        )
        return


TPL011 = major(
    "template-drift",
    "the template in use is not the tokenizer's own",
    "The tokenizer has a template that renders the same conversation differently: what is trained is not what a"
    " server renders.",
    pairs="use the tokenizer's own template, or serve with the one in use",
    leads_to=Consequence.UNSERVED,
    moves=("frame",),
    bad=case(GOOD, changes={"render.template": "builtin:zephyr"}),
)


@setup_check(TPL011)
def drift(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """TPL011: the tokenizer brings a template, and the recipe trains with one that renders something else."""
    own = context.facts.chat_templates.get("default")
    if context.recipe.render.template == "tokenizer" or own is None or context.template is None or not chats(sample):
        return
    if trainer_of(context.recipe).brings_template(context.recipe):
        return  # TPL016 and TPL027 look at the rows themselves
    own_template = compile_template(own, "the tokenizer's own", rendering=context.template.rendering)
    theirs = Context(context.recipe, context.facts, own_template, context.detected, context.tools)
    for what, messages, prompt in (("a conversation", [user(), answer()], False), ("a prompt", [user()], True)):
        a, b = context.render(messages, prompt=prompt), theirs.render(messages, prompt=prompt)
        if a is not None and b is not None and a != b:
            sentence = f"the tokenizer's own template renders {what} differently from the training template"
            yield Fault(sentence, f"{shown(a, 60)} ≠ {shown(b, 60)}", changes=[("render.template", "tokenizer")])
            return


TPL013 = fatal(
    "template-token-not-atomic",
    "the template writes a token that this tokenizer does not have",
    "A control token that the vocabulary does not have is split into pieces, and generation can never stop on it. A"
    " named one, such as bos_token, stops every row.",
    pairs="use the tokenizer that the template is written for",
    leads_to=Consequence.GARBLED,
    bad=case(
        GOOD,
        tokenizer="gemma",
        template="{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}",
    ),
    good=case(GOOD, template=chatml()),
)


@setup_check(TPL013)
def atomic(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """TPL013: what the template writes as a control token, by name or by its looks, and the vocabulary does not
    have."""
    plain = context.plain
    if not chats(sample):
        return
    if context.lacking:
        names = " and ".join(f"`{name}`" for name in context.lacking)
        yield Fault(
            f"the template writes {names}, which this tokenizer does not have: every chat fails on it",
            ", ".join(context.lacking),
        )
    if plain is None:
        yield from _split_by_slots(context, chats(sample))
        return
    prompt = context.render([user()], prompt=True) or ""
    tokenizer = context.tools.tokenizer
    split = absent_words(plain + prompt, tokenizer)
    if not split:
        return
    tail = plain.rpartition(FIRST_ANSWER)[2]
    fatal = any(one in tail for one in split) and not any(tokenizer.is_special(i) for i in tokenizer.encode(tail).ids)
    worst = next((one for one in split if one in tail), split[0]) if fatal else split[0]
    what = ", and no other token ends the turn" if fatal else ", so the model reads it as plain text"
    yield _unknown(split, worst, what, tokenizer, None if fatal else Severity.INFO)


def _split_by_slots(context: Context, found: Sequence[Inspection]) -> Iterator[Fault]:
    """The same of a trainer that renders by code of its own, where the tokenizer brings no template that could tell
    what is usual (TPL016 does where it brings one)."""
    first = next((one.rendered for one in found if one.rendered is not None and one.rendered.spans), None)
    if context.traits.renders_templates or context.facts.chat_templates or first is None:
        return
    own = "".join([first.text[span.start : span.end] for span in first.spans if span.part is not Part.CONTENT])
    split = absent_words(own, context.tools.untouched)
    if split:
        what = ": the model has to learn it from your rows, or its embedding row if the trainer adds it"
        yield _unknown(split, split[0], what, context.tools.untouched, Severity.WARNING)


def absent_words(text: str, tokenizer: LoadedTokenizer) -> list[str]:
    """What a text writes as control tokens, by its looks, and the vocabulary does not have; each once, in order."""
    return [one for one in dict.fromkeys(_CONTROL.findall(text)) if tokenizer.token_id(one) is None]


def _unknown(
    words: Sequence[str], worst: str, what: str, tokenizer: LoadedTokenizer, severity: Severity | None
) -> Fault:
    sentence = f"{', '.join(words[:4])} {'is' if len(words) == 1 else 'are'} not in this tokenizer's vocabulary{what}"
    pieces = pieces_of(tokenizer.encode(worst).ids, tokenizer)
    return Fault(sentence, f"{worst} → {pieces}", severity, count=len(words))


_SWITCHED = chatml(prompt="{% if enable_thinking %}<think>{% endif %}")
_ON, _OFF = {"render.kwargs": {"enable_thinking": True}}, {"render.kwargs": {"enable_thinking": False}}
TPL014 = minor(
    "thinking-flag-unset",
    "the template depends on enable_thinking but the recipe does not set it",
    "Model sizes and servers treat an unset flag differently, so training and serving may differ.",
    data="pass enable_thinking when rendering the rows, and the same value when serving",
    moves=("nowhere",),
    bad=case(GOOD, template=_SWITCHED),
    good=case(GOOD, template=_SWITCHED, changes=_OFF),
)


@setup_check(TPL014)
def thinking(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    if context.template is None or "enable_thinking" in context.template_kwargs or not chats(sample):
        return
    if "enable_thinking" not in variables_of(context.template):
        return
    tails = {}
    for name, extra in (("unset", {}), ("true", {"enable_thinking": True}), ("false", {"enable_thinking": False})):
        text = context.render([user()], prompt=True, extra=extra)
        if text is None:
            return
        tails[name] = text.rpartition(FIRST_USER)[2]
    if len(set(tails.values())) > 1:
        kwargs = {**context.recipe.render.kwargs, "enable_thinking": tails["unset"] == tails["true"]}
        evidence = " · ".join(f"{name}: {shown(tail[-30:], 30)}" for name, tail in tails.items())
        what = "the end of the prompt depends on enable_thinking, which the recipe does not set"
        yield Fault(what, evidence, changes=[("render.kwargs", kwargs)])


TPL026 = info(
    "thinking-flag-of-servers",
    "the recipe sets enable_thinking, and a server that does not set it renders a different prompt",
    "The flag is a template argument that the model's folder does not store: a server renders with the"
    " template's default unless a request, or its own configuration, sets the flag.",
    data="serve with the same flag, set in the server or in each request",
    bad=case(GOOD, template=_SWITCHED, changes=_ON),
    good=case(GOOD, template=_SWITCHED, changes=_OFF),
)


@setup_check(TPL026)
def thinking_served(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """TPL026: of the template that is served, else the one in use, else the tokenizer's own."""
    served, flags = context.tools.served, context.template_kwargs
    used = {"default": context.template.source} if context.template is not None else context.facts.chat_templates
    source = (served.templates if served is not None else used).get("default")
    if "enable_thinking" not in flags or not source or "enable_thinking" not in source or not chats(sample):
        return
    template = compile_template(source, "the template of a server")
    asked, silent = ({**context.variables, **flags}, {**context.variables, **flags})
    del silent["enable_thinking"]
    try:
        told, untold = (
            template.text([user()], add_generation_prompt=True, variables=one)[0] for one in (asked, silent)
        )
    except SftuiError:
        return
    if told != untold:
        at = common_prefix(told, untold)
        value = str(flags["enable_thinking"]).lower()
        yield Fault(
            f"rows are rendered with enable_thinking={value}; a server that does not set it writes a different prompt",
            f"{shown(told[max(0, at - 24) :], 60)} ≠ {shown(untold[max(0, at - 24) :], 60)}",
        )


BND002 = major(
    "template-boundary-merges",
    "the template's prompt is never a prefix in tokens",
    "In every row, the prompt's text is a prefix but its tokens are not: the end of the header merges with what"
    " follows.",
    data="compute the mask from spans of the full render",
    pairs="use a template whose generation prompt ends where a token ends",
    moves=("edge",),
    bad=case(
        GOOD,
        template=(
            "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}\n{% else %}{{ '\\n\\n' + m.content"
            " }}<|im_end|>{% endif %}{% endfor %}"
        ),
    ),
)


@setup_check(BND002)
def template_boundary(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """BND002: for a plain answer the prompt is a prefix as text, and not as tokens."""
    if (
        any(inspection.tokens is not None and inspection.tokens.prompt_ids is not None for inspection in sample)
        and context.recipe.mask.rule in BY_PROMPT
        and boundary_merges(context)
    ):
        prompt, whole = context.render([user()], prompt=True) or "", context.plain or ""
        a, b = context.ids(prompt), context.ids(whole)
        same, tokenizer, changes = common_prefix(a, b), context.tools.tokenizer, common_boundary(context)
        yield Fault(
            f"the prompt's {len(a)} tokens share only {same} with the whole text, in every row",
            f"{pieces_of(a[same : same + 4], tokenizer)} ≠ {pieces_of(b[same : same + 4], tokenizer)}",
            None if changes else Severity.INFO,
            changes=changes,
            count=len(sample),
        )


@setup_check(TPL007)
def other_prompt(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """TPL007 where no mask hangs on the prompt: a server still begins the answer otherwise than it is trained."""
    if not chats(sample) or any(one.tokens is not None and one.tokens.prompt_ids is not None for one in sample):
        return  # reported of each row
    prompt, whole = context.render([user()], prompt=True), context.plain
    if prompt is None or whole is None or whole.startswith(prompt) or FIRST_ANSWER not in whole:
        return
    # Families that think leave an open or an empty block in the prompt on purpose.
    meant = whole.startswith(prompt.partition("<think>")[0])
    generated, trained = prompt.rpartition(FIRST_USER)[2], whole.rpartition(FIRST_USER)[2].partition(FIRST_ANSWER)[0]
    yield Fault(
        "a server begins answers differently than they are trained",
        f"a server's prompt ends with {shown(generated[-40:], 40)}, but training continues after"
        f" {shown(trained[-40:], 40)}",
        Severity.INFO if meant else None,
        title="use a template whose generation prompt matches how its answers begin",
        rows=tuple(inspection.row.index for inspection in chats(sample)),
        count=len(sample),
    )


def boundary_merges(context: Context) -> bool:
    """Whether the template itself makes prompt and answer merge, whatever the row says."""

    def work() -> bool:
        prompt, whole = context.render([user()], prompt=True), context.plain
        if prompt is None or whole is None or not whole.startswith(prompt):
            return False
        a = context.ids(prompt)
        return context.ids(whole)[: len(a)] != a

    return context.once("boundary_merges", work)


_LISTING = "{% if tools is not none %}You have tools.{% endif %}" + chatml()
TOO004 = minor(
    "empty-tools-boilerplate",
    "an empty tool list changes the rendered text",
    "For tools=[], the template prints its tool preamble, but not when there are no tools.",
    data="store null instead of an empty list",
    bad=case(chat("Weather?", "Sunny.", tools=[]), template=_LISTING),
    good=case(chat("Weather?", "Sunny."), template=_LISTING),
)


@setup_check(TOO004)
def empty_tools(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    empty = chats(sample, lambda chat: isinstance(chat.tools, (list, tuple)) and not chat.tools)
    if not empty:
        return
    with_list, without = context.render([user(), answer()], tools=[]), context.plain
    if with_list is not None and without is not None and with_list != without:
        yield Fault(
            f"{len(empty)} of {len(sample)} sampled rows have an empty tool list, for which the template writes"
            f" {len(with_list) - len(without)} more characters",
            shown(with_list, 120),
            of=empty,
        )


THK006 = minor(
    "think-tag-not-a-token",
    "this tokenizer splits think tags into several tokens",
    "The template uses the tag as a marker, but the model sees only plain text.",
    data="add the tags as tokens and train their embeddings",
    bad=case(chat("hi", "<think>They greet me.</think>Hello.")),
)


@setup_check(THK006)
def think_tags(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    if not any("</think>" in (inspection.rendered.text if inspection.rendered else "") for inspection in sample):
        return
    tokenizer = context.tools.tokenizer
    ids = tokenizer.encode("</think>").ids
    if len(ids) > 1:
        yield Fault(f"</think> is {len(ids)} tokens in this tokenizer", pieces_of(ids, tokenizer))
