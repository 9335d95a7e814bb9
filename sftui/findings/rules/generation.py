"""Masks by `{% generation %}` tags, headers that are trained, and whether independent span methods agree."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import eq, gt
from typing import Any

from sftui.findings.checks import CHATS, CONVERSATION, LABELLED, SLOW, WRITTEN, Fault, row_check, setup_check
from sftui.findings.context import Context
from sftui.findings.look import RowLook
from sftui.findings.model import GENERATION_TAGS, Consequence
from sftui.findings.rule import DROP, GOOD, ROUNDS, TAGS, case, chat, chatml, fatal, loud, major, minor, tagged
from sftui.findings.words import text_of
from sftui.model import NOWHERE, Inspection, Part, Stage
from sftui.trainers.traits import Changes, Effect, Finds, Quirk

Range = tuple[int, int]
Draw = Callable[[Sequence[Mapping[str, Any]], bool], "str | None"]
_RESULT = re.compile(r"<\|tool\w*>\s*\Z")
# A generation prompt may open the thought that the content opens too.
_OPENING = re.compile(r"\s*<think>\s*")
_SENTINELS = ("qzXkjvA7wq", "wvJ3pQhxRz9")


@dataclass(frozen=True, slots=True)
class AnswerSpans:
    """Where one method finds each assistant message, by message index; what it cannot tell is left out.

    `outer`: the method includes the turn end (tags and prefixes do, sentinels find the content alone).
    """

    method: str
    found: Mapping[int, Range]
    outer: bool


def by_tags(generation: Sequence[Range], answers: Sequence[int], turns: Mapping[int, Range]) -> AnswerSpans:
    """The `{% generation %}` spans, one an answer.

    Several an answer (around what the template puts in between) are one, from the first to the last, where `turns`, the
    spans of another method, hold them all; else nothing is found where the numbers differ.
    """
    found = dict(zip(answers, generation))
    if len(generation) != len(answers):
        mine = {
            number: [place for place in generation if start <= place[0] and place[1] <= end]
            for number, (start, end) in turns.items()
        }
        found = {number: (places[0][0], places[-1][1]) for number, places in mine.items() if places}
        if sum(map(len, mine.values())) != len(generation):
            found = {}
    return AnswerSpans("generation tags", found, True)


def by_prefix(text: str, messages: Sequence[Mapping[str, Any]], answers: Sequence[int], draw: Draw) -> AnswerSpans:
    """From the prompt that precedes an answer to the render that ends with it; both must be prefixes of `text`."""
    found: dict[int, Range] = {}
    for number in answers:
        if number == 0:
            continue
        prompt, upto = draw(messages[:number], True), draw(messages[: number + 1], False)
        if prompt is None or upto is None or not upto.startswith(prompt) or not text.startswith(upto):
            continue
        # What waits for a result is the next turn's (Gemma 4's <|tool_response>, which TRL's own tags leave out too).
        found[number] = (len(prompt), len(_RESULT.sub("", upto)))
    return AnswerSpans("growing prefix", found, True)


def by_sentinels(text: str, messages: Sequence[Mapping[str, Any]], answers: Sequence[int], draw: Draw) -> AnswerSpans:
    """What changes when one answer is replaced in the whole conversation, the same for two different sentinels."""
    found: dict[int, Range] = {}
    for number in answers:
        places = {_replaced(text, messages, number, sentinel, draw) for sentinel in _SENTINELS}
        place = places.pop()
        if not places and place is not None:
            found[number] = place
    return AnswerSpans("two sentinels", found, False)


def _replaced(text: str, messages: Sequence[Mapping[str, Any]], number: int, sentinel: str, draw: Draw) -> Range | None:
    listed = isinstance(messages[number].get("content"), (list, tuple))
    content = [{"type": "text", "text": sentinel}] if listed else sentinel
    other = draw([*messages[:number], {**messages[number], "content": content}, *messages[number + 1 :]], False)
    if other is None or other.count(sentinel) != 1:
        return None
    before, after = other.split(sentinel)
    end = len(text) - len(after)
    return (len(before), end) if text.startswith(before) and text.endswith(after) and len(before) <= end else None


def disagreement(methods: Sequence[AnswerSpans], text: str) -> tuple[int, str, Range] | None:
    """The first message that two methods see elsewhere: its index, a sentence, and the place; None where all agree.

    Two outer spans must cover the same solid text, header tokens and white space aside; the content must lie in
    every outer span of its message and in none of another's.
    """
    contents = {number: place for spans in methods if not spans.outer for number, place in spans.found.items()}
    outer = [method for method in methods if method.outer]
    for method in outer:
        for number, (start, end) in method.found.items():
            inner = contents.get(number)
            said = text[slice(*inner)] if inner is not None else ""
            if inner is not None and said.strip():
                first, last = inner[1] - len(said.lstrip()), inner[0] + len(said.rstrip())
                if (first < start and not _OPENING.fullmatch(text, first, start)) or last > end:
                    what = (
                        f"{method.method} puts message {number} at characters {start}–{end}, but two sentinels"
                        f" put its content at {inner[0]}–{inner[1]}"
                    )
                    return number, what, (min(start, inner[0]), max(end, inner[1]))
            for other, place in contents.items():
                if other != number and place[0] < end and start < place[1]:
                    what = f"according to {method.method}, the span of message {number} reaches into message {other}"
                    return number, what, (start, end)
    for number in set.intersection(*(set(one.found) for one in outer)) if len(outer) > 1 else ():
        ends = {len(text[: one.found[number][1]].rstrip()) for one in outer}
        if len(ends) > 1:
            places = ", ".join(f"at {one.found[number][1]} by {one.method}" for one in outer)
            return number, f"message {number} ends {places}", (min(ends), max(ends))
    return None


_EMPTY_THINK = re.compile(r"<think>\s*</think>")
_MOST_MESSAGES = 24
_OTHERS = ("user", "system", "tool")


GEN001 = fatal(
    "no-generation-tags",
    "the mask needs {% generation %} tags but the template has none",
    "transformers then returns an all-zero mask with a single warning. 27 of 28 stock templates lack the tags.",
    tags=True,
    leads_to=Consequence.UNTRAINED,
    moves=("answers",),
    bad=case(GOOD, changes=TAGS),
    good=case(GOOD, template=tagged(), changes=TAGS),
)


@setup_check(GEN001)
def no_tags(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    # by its markers a trainer finds answers where a template has no tags, too
    if context.recipe.mask.rule != "generation_tag" or context.traits.finds is Finds.MARKERS:
        return
    without = [
        one
        for one in sample
        if (one.rendered is not None and not one.rendered.has_generation_tag) or refused_untagged(context, one)
    ]
    if without:
        yield Fault(
            "the mask comes from {% generation %} tags but the chat template has none",
            context.tools.template_name,
            template=GENERATION_TAGS,
            title="add generation tags to the chat template",
            of=without,
        )


def refused_untagged(context: Context, inspection: Inspection) -> bool:
    """Whether the trainer refused to render because the template has no tags, as TRL does before it begins."""
    if context.recipe.mask.rule != "generation_tag" or context.template is None or context.template.has_generation_tag:
        return False
    why = inspection.problem.sentence() if inspection.problem is not None else ""
    return inspection.stopped_at is Stage.RENDERED and "generation" in why


GEN009 = loud(
    "slow-tokenizer",
    "the mask needs offsets but the tokenizer is slow",
    "transformers maps the tags to tokens by offsets, which only fast tokenizers have.",
    data="use the fast tokenizer, or an id-based mask",
    moves=("behind stops",),
    bad=case(GOOD, template=tagged(), changes=TAGS, facts={"is_fast": False}),
    good=case(GOOD, template=tagged(), changes=TAGS),
)


@setup_check(GEN009)
def slow_tokenizer(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    if context.recipe.mask.rule == "generation_tag" and not context.facts.is_fast:
        what = f"{context.facts.class_name or 'the tokenizer'} is slow and has no offsets, which generation tags need"
        yield Fault(what, context.facts.class_name, changes=[("mask.rule", "assistant")])


GEN004 = fatal(
    "mask-lost",
    "the generation mask loses this answer and all later ones",
    "transformers before 5.24 looks up the token at the first character of the span; with trim_offsets, leading"
    " whitespace has none, and the search stops.",
    repair=("trim", DROP),
    leads_to=Consequence.UNTRAINED,
    bad=case(chat("hi", " Paris", "and?", "Rome"), template=tagged(), changes=TAGS, edit="without_spaces"),
    good=case(ROUNDS, template=tagged(), changes=TAGS),
)


GEN005 = fatal(
    "mask-runs-to-the-end",
    "the generation mask also covers other roles",
    "If the span ends at a character that no token covers, transformers before 5.24 trains everything to the end,"
    " including the next user turn.",
    repair=("trim", DROP),
    tags=True,
    leads_to=Consequence.QUESTIONS,
    moves=("others",),
    bad=case(
        ROUNDS,
        template=tagged().replace(
            "{% else %}{{ m.content }}", "{% else %}{% generation %}{{ m.content }}{% endgeneration %}"
        ),
        changes=TAGS,
    ),
    good=case(ROUNDS, template=tagged(), changes=TAGS),
    more=(case(chat("hi", "Paris ", "and?", "Rome"), template=tagged(inside=False), changes=TAGS, edit="to_the_end"),),
)


@row_check(
    LABELLED,
    GEN004,
    GEN005,
    masks=("generation_tag",),
    shape=lambda shape, _: shape.trained(Part.CONTENT, *_OTHERS) or shape.masked(Part.CONTENT, "assistant"),
    kinds=CHATS,
)
def lost_or_spilled(look: RowLook) -> Iterator[Fault]:
    """GEN004 and GEN005: what transformers' own search makes of a span without a token at its edge."""
    if not look.answers:
        return
    drawn = look.mask.drawn
    for turn in look.turns:
        if turn.role in _OTHERS and look.trains(turn.content):
            first = next(i for i in range(*turn.content) if drawn[i])
            yield Fault(
                f"the generation mask also trains message {turn.message} of the {turn.role}",
                message=turn.message,
                tokens=(first - 2, first + 4),
                tags=True,
                rule=GEN005,
            )
    if not any(drawn):
        return
    generation = look.rendered.generation
    lost = [
        turn
        for turn in look.answers
        if turn.has_content and not look.trains(turn.content) and _tagged(look, turn.content, generation)
    ]
    if lost:
        what = f"{len(lost)} of {len(look.answers)} answers have a generation span but no trained token"
        yield Fault(what, message=lost[0].message, tokens=lost[0].content, rule=GEN004)


@row_check(CONVERSATION, GEN004, masks=("generation_tag",), of=lambda shape: shape.rendered and not shape.trains)
def all_lost(look: RowLook) -> Iterator[Fault]:
    """GEN004 where not one token is left: a trainer that stops at such rows, or LAB001's cause."""
    start, end = next(iter(look.rendered.generation), (0, 0))
    if end and look.rendered.text[start : start + 1].isspace():
        number = next(iter(look.shape.order.answers), None)
        what = "no token of the row is trained: the first generation span begins with whitespace that no token covers"
        yield Fault(what, message=number, span=(start, min(end, start + 40)))


def _tagged(look: RowLook, content: tuple[int, int], generation: Sequence[tuple[int, int]]) -> bool:
    start, end = look.tokens.starts[content[0]], look.tokens.ends[content[1] - 1]
    return any(a <= start and end <= b + 1 for a, b in generation) if start != NOWHERE else False


_HEADER_TAGGED = (
    "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ '<|im_start|>' + m.role + '\n' + m.content"
    " + '<|im_end|>' }}{% endgeneration %}{% else %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>' }}{%"
    " endif %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

GEN002 = minor(
    "header-trained",
    "tokens of the answer's header are trained",
    "The server supplies them, so training on them teaches nothing that a user sees. torchtune always trains whole"
    " headers and has no option for it.",
    tags=True,
    moves=("headers",),
    bad=case(GOOD, changes={"mask.rule": "turn_full"}),
    more=(case(GOOD, ROUNDS, template=_HEADER_TAGGED, changes=TAGS),),
)


@row_check(
    LABELLED,
    GEN002,
    shape=lambda shape, _: shape.trained(Part.HEADER, "assistant") and not shape.trained(Part.CONTENT, "user"),
    recipe=lambda context: context.recipe.supervised,  # whose sides are trained whole, BND001
    kinds=CHATS,
)
def header_trained(look: RowLook) -> Iterator[Fault]:
    """GEN002: header tokens of answers carry loss, where the rest of the prompt does not."""
    touched = [turn for turn in look.answers if look.trains(turn.header)]
    if not touched or all(look.mask.drawn):
        return
    if any(look.trains(turn.content) for turn in look.turns if turn.role == "user"):
        return  # LAB002
    turn = touched[0]
    where = [i for i in range(*turn.header) if look.mask.drawn[i]]
    noun, verb = ("token", "is") if len(where) == 1 else ("tokens", "are")
    what, place = f"{len(where)} header {noun} of message {turn.message} {verb} trained", (where[0], where[-1] + 1)
    yield Fault(what, message=turn.message, tokens=place, changes=_masking_opened(look), tags=True)


def _masking_opened(look: RowLook) -> Changes:
    option = look.context.traits.options.get(Effect.MASKS_OPENED)
    return ((option, True),) if option is not None else ()


GEN011 = major(
    "empty-think-trained",
    "an empty think block is trained",
    "The template writes <think></think> into answers without reasoning, and the mask covers it: the model"
    " learns to skip reasoning.",
    data="mask the block, or supply the reasoning",
    pairs="give the rows a column chat_template_kwargs with {enable_thinking: false}, or supply the reasoning",
    tags=True,
    aliases=("THK002",),
    moves=("injected",),
    bad=case(GOOD, template=chatml("<think>\n\n</think>\n\n{{ m.content }}<|im_end|>")),
    more=(
        case(GOOD, ROUNDS, template=tagged(lead="<think>\n\n</think>\n\n"), changes=TAGS),
        case(GOOD, ROUNDS, preset="llamafactory@0.9", changes={"render.template": "llamafactory/qwen3"}),
    ),
)


def _touching(look: RowLook, blocks: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The tokens of each of some stretches of the text, which are in order and apart."""
    found: list[list[int]] = [[] for _ in blocks]
    ends = [end for _, end in blocks]
    for i, (start, end) in enumerate(zip(look.tokens.starts, look.tokens.ends) if blocks else ()):
        at = bisect_right(ends, start) if start != NOWHERE else len(blocks)
        while at < len(blocks) and blocks[at][0] < end:
            found[at].append(i)
            at += 1
    return found


@row_check(LABELLED, GEN011, row=lambda look: "</think>" in look.rendered.text)
def empty_think(look: RowLook) -> Iterator[Fault]:
    """GEN011: an empty think block that the data does not have, and that is trained."""
    text = look.rendered.text
    own = {match.group() for message in look.messages for match in _EMPTY_THINK.finditer(text_of(message))}
    blocks = [match.span() for match in _EMPTY_THINK.finditer(text) if match.group() not in own]
    for where in _touching(look, blocks):
        if where and all(look.mask.drawn[i] for i in where[1:-1] or where):
            changes = _masking_opened(look)
            if Quirk.THINKING_OPTION in look.context.traits.quirks:
                changes = (("render.kwargs", {**look.recipe.render.kwargs, "enable_thinking": False}),)
            what = "the template writes an empty think block and it is trained"
            yield Fault(what, tokens=(where[0], where[-1] + 1), changes=changes, tags=True)


GEN000 = major(
    "span-methods-disagree",
    "independent ways to find the answers disagree",
    "Generation tags, growing prefixes and marked renders should all find the same text. If they disagree, no"
    " single mask can be trusted.",
    data="check the row; prefer the generation tags of a tested template",
    tags=True,
    moves=("answers",),
    bad=case(
        ROUNDS,
        template=tagged().replace("{% generation %}{{ m.content }}", "{{ m.content }}{% generation %}"),
        changes=TAGS,
    ),
    good=case(ROUNDS, template=tagged(), changes=TAGS),
)


@row_check(
    SLOW,
    GEN000,
    recipe=lambda context: context.template is not None and context.recipe.render.inject_system is None,
    of=lambda shape: not shape.pieces and 1 < len(shape.roles) <= _MOST_MESSAGES and shape.order.answers,
    row=lambda look: look.context.memo.get(("spans", look.roles), True),
    kinds=CHATS,
)
def methods_disagree(look: RowLook) -> Iterator[Fault]:
    """GEN000: decided once for each order of roles, and then reported at every row that has it."""
    if not look.context.once(("spans", look.roles), lambda: _disagreement(look) is not None):
        return
    found = _disagreement(look)
    if found is not None:
        number, sentence, span = found
        yield Fault(sentence, message=number, span=span, tags=True)


def _disagreement(look: RowLook) -> tuple[int, str, tuple[int, int]] | None:
    """Where two span methods part in this row, in characters of its rendered text; None where they agree or cannot
    tell."""
    conversation = look.conversation

    def draw(messages: Sequence[Mapping[str, Any]], prompt: bool) -> str | None:
        return look.context.render(
            messages, prompt=prompt, tools=conversation.tools, extra=conversation.template_kwargs
        )

    messages = [message.data for message in look.messages]
    text = draw(messages, False)
    bos = look.facts.bos_token or ""
    if text is None or look.rendered.text not in (text, text.removeprefix(bos)):
        return None  # the trainer renders otherwise, or the text holds the date of the day
    answers = look.shape.order.answers
    methods = [by_prefix(text, messages, answers, draw), by_sentinels(text, messages, answers, draw)]
    if look.rendered.has_generation_tag and text == look.rendered.text:
        methods.append(by_tags(look.rendered.generation, answers, methods[0].found))
    found = disagreement(methods, text)
    if found is None:
        return None
    shift = len(text) - len(look.rendered.text)
    return found[0], found[1], (max(0, found[2][0] - shift), max(0, found[2][1] - shift))


GEN007 = fatal(
    "offsets-wrong",
    "the tokenizer's offsets cannot be right",
    "They are empty, run backwards or do not cover the text, so every character-based mask is wrong.",
    data="upgrade tokenizers, or use an id-based mask",
    bad=case(GOOD, edit="offsets_lost"),
)


@row_check(LABELLED, GEN007, shape=lambda shape, _: not shape.cut_out, kinds=WRITTEN)
def offsets(look: RowLook) -> Iterator[Fault]:
    """GEN007: offsets that cannot be right; a normalizer may move some, so only gross errors count."""
    starts, ends, text = look.tokens.starts, look.tokens.ends, look.rendered.text
    if not starts or len(text.strip()) < 8:
        return
    reach, nowhere = max(ends), starts.count(NOWHERE)
    empty = list(map(eq, starts, ends)).count(True) - nowhere
    placed = [start for start in starts if start != NOWHERE] if nowhere else starts
    back = list(map(gt, placed, placed[1:])).count(True)
    if reach < len(text) * 0.5 or empty > len(starts) * 0.5 or back > len(starts) * 0.05:
        turns = f", and {back} run backwards" if back else ""
        what = f"the offsets reach character {max(reach, 0)} of {len(text)}, {empty} of {len(starts)} are empty{turns}"
        yield Fault(what, tokens=(0, len(starts)))
