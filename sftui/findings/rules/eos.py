"""Stop tokens in a row, where each trained answer must end with one, and of template, tokenizer and model together."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sftui.findings.checks import (
    CHATS,
    CONVERSATION,
    LABELLED,
    TOKENIZED,
    Fault,
    chats,
    of_kind,
    row_check,
    setup_check,
)
from sftui.findings.context import FIRST_ANSWER, Context
from sftui.findings.fixes import newer, tight_tags
from sftui.findings.look import TAG, MessageTokens, RowLook, shown, sign_of_special
from sftui.findings.model import Consequence, Severity
from sftui.findings.rule import (
    DROP,
    FINE,
    GOOD,
    ROUNDS,
    ROUNDS_OF,
    SAMPLED,
    TAGS,
    TEXT,
    case,
    chat,
    chatml,
    fatal,
    major,
    minor,
    stored_case,
    tagged,
)
from sftui.findings.shapes import RowShape
from sftui.findings.words import TextMarks, spoken_of, without_code
from sftui.model import Inspection, Kind, Part, Reason
from sftui.trainers import trainer_of
from sftui.trainers.traits import Changes, Effect, Quirk

# Stop tokens of published families, as they are seen typed into data of another one, and what begins their turns.
_FOREIGN = re.compile(
    r"</s>|<\|(?:endoftext|eot_id|eom_id|end_of_text|im_end|end|return|eot|EOT|eos|end_?of_?turn|END_OF_TURN_TOKEN)\|>|<(?:eos|EOS)>|\[EOS\]"
    r"|<end_of_(?:turn|utterance)>|<turn\|>|<｜end▁of▁sentence｜>|(?P<start><\|(?:im_start|start_header_id)\|>|<start_of_turn>)"
)

# Each of them holds one of these.
_MARKS = TextMarks(("|>", "</s>", "<eos>", "<EOS>", "[EOS]", "<end_of_", "<start_of_turn>", "<｜end"))

_DIALOGUE = re.compile(r"^### ?(?:Response|Assistant|Answer|Output)|\[/INST\]|<\|?(?:assistant|im_start)", re.MULTILINE)


def _last_solid(look: RowLook, end: int) -> int:
    """The last token before `end` that is not white space, or -1."""
    return next((i for i in range(end - 1, -1, -1) if not look.spelling.blank(i)), -1)


EOS001 = fatal(
    "no-stop-token",
    "the row does not end with a stop token",
    "The model never sees where an answer ends, and rambles up to the token limit. TRU002 reports rows that were cut.",
    pairs="use a template that ends turns",
    leads_to=Consequence.UNSTOPPED,
    moves=("appended",),
    bad=case(TEXT),
    good=case(TEXT, changes={"tokenize.append_eos": "always"}),
)


def _may_go_without(look: RowLook) -> bool:
    """Whether the row may end without a stop token: of most the last id, or the one before a line break, is one."""
    ids, stops = look.tokens.ids[-2:], look.context.stops
    ends = ids and (ids[-1] in stops or (ids[0] in stops and look.spelling.blank(len(look.tokens) - 1)))
    return look.stored or not ends


@row_check(LABELLED, EOS001, of=lambda shape: shape.trains and not shape.dropped and shape.whole, row=_may_go_without)
def no_stop(look: RowLook) -> Iterator[Fault]:
    """EOS001: what is trained at the end of a whole row does not end with a stop token."""
    n, ids = look.padding, look.tokens.ids
    last = _last_solid(look, n)
    if last < 0 or ids[last] in look.context.stops or ids[last] in look.row_stops:
        return
    ends = (Part.INJECTED, Part.TERMINATOR) if look.conversation.kind is Kind.TEXT else (Part.INJECTED,)
    if look.spelling.is_special(last) and look.tokens.parts[last] in ends:
        return  # the trainer's own EOS; whether generation stops on it is EOS003's
    if look.chat and look.roles and look.roles[-1] not in look.context.traits.answering:
        return  # LAB012: the row does not end with an answer
    if look.stored and look.conversation.labels is not None and look.mask.drawn[last] is False:
        return  # stored labels that end masked: another rule's business
    if look.chat and not look.known:
        return
    header = look.context.header
    if header and look.conversation.kind is Kind.TEXT and look.rendered.text.rstrip().endswith(header):
        return  # TPL025: an end behind a header would be no cure
    appends = look.facts.eos_id is not None and not look.stored and look.context.traits.by_hand
    yield Fault(
        f"the row ends with {look.spelling.token(last)}, which is not a stop token",
        tokens=(last - 5, n),
        changes=[("tokenize.append_eos", "if_missing_ids")] if appends else (),
        severity=Severity.WARNING if is_prose(look) else None,
    )


@row_check(
    LABELLED,
    EOS001,
    shape=lambda shape, _: (
        not shape.dropped and set(shape.trained(Part.CONTENT, "assistant")) - {max(shape.order.answers, default=0)}
    ),
    row=lambda look: _may_go_on(look),
    kinds=CHATS,
)
def unended(look: RowLook) -> Iterator[Fault]:
    """EOS001 inside a row: an earlier answer is trained and the next turn follows it at once, though the last answer
    has an end."""
    answers = [turn for turn in look.answers if turn.has_content]
    opening = look.context.opening
    if len(answers) < 2 or not opening:
        return
    starts = sorted([*(turn.content[0] for turn in look.turns if turn.has_content), len(look.tokens)])
    ids, ending = look.tokens.input_ids, look.spelling.special_ids - opening

    def ends(turn: MessageTokens) -> bool:
        """Whether a special token that begins no turn stands between this answer and the next message."""
        end = turn.content[1]
        return not ending.isdisjoint(ids[end : starts[bisect_left(starts, end)]])

    open_ended = [turn for turn in answers[:-1] if look.mask.drawn[turn.content[1] - 1] and not ends(turn)]
    if open_ended and ends(answers[-1]):
        turn = open_ended[0]
        some = f"{len(open_ended)} earlier answers" if len(open_ended) > 1 else f"message {turn.message}"
        yield Fault(
            f"no stop token ends {some}; only the last answer has one",
            message=turn.message,
            tokens=(max(turn.content[0], turn.content[1] - 4), turn.content[1] + 3),
        )


def _may_go_on(look: RowLook) -> bool:
    """Whether no special token that begins no turn stands between some answer and a later message: where the
    last answer has no end, `unended` says nothing."""
    context, ids, stretches = look.context, look.tokens.ids, look.stretches
    ending = context.once("ending", lambda: context.tools.tokenizer.special_ids - context.opening)
    return any(
        [ending.isdisjoint(ids[stretches[at][1] : stretches[later][0]]) for at, later in look.shape.after_answers]
    )


def is_prose(look: RowLook) -> bool:
    """Plain text without a sign of a dialogue, which may be meant for continued pre-training, where ends matter
    less."""
    conversation = look.conversation
    plain = conversation.kind is Kind.TEXT and "segments" not in conversation.extra
    return plain and not _DIALOGUE.search(conversation.text or "")


EOS004 = fatal(
    "terminator-not-trained",
    "the end of a trained answer is masked",
    "The answer is trained but its stop token is not, so the model won't learn to stop. Axolotl trains only"
    " tokens in eot_tokens, by default the tokenizer's EOS, which Gemma's template never writes.",
    leads_to=Consequence.UNSTOPPED,
    moves=("stops", "behind stops"),
    bad=case(GOOD, changes={"mask.rule": "assistant", "mask.terminator": "mask"}),
    more=(
        case(GOOD, ROUNDS, preset="axolotl@0.19", changes={"tokenizer.eos_token": "<|endoftext|>"}),
        stored_case(
            {"input_ids": SAMPLED, "labels": [-100] * 15 + SAMPLED[15:26] + [-100] * 2}, facts={"eos_id": 3000}
        ),
    ),
)


EOS006 = fatal(
    "stop-masked-by-max-length",
    "torchtune masks the last token as soon as max_seq_len is set",
    "torchtune's Qwen tokenizers overwrite the last value of the mask even if nothing was cut, so the model never"
    " learns the stop token of the last answer. Llama 3 is not affected: its end-of-turn token comes before"
    " that token.",
    leads_to=Consequence.UNSTOPPED,
    moves=("stops",),
    bad=case(GOOD, preset="torchtune@0.7", changes={"length.max": 100}),
    good=case(GOOD, preset="torchtune@0.7"),
)


GEN003 = fatal(
    "turn-end-outside-tag",
    "the end of turn is outside the generation tag",
    "The answer is trained but its stop token is not, so the model won't learn to stop.",
    tags=True,
    leads_to=Consequence.UNSTOPPED,
    moves=("answers",),
    bad=case(GOOD, template=tagged(inside=False), changes=TAGS),
    good=case(GOOD, template=tagged(), changes=TAGS),
)


@row_check(
    LABELLED,
    EOS004,
    EOS006,
    GEN003,
    shape=lambda shape, _: _may_mask_stops(shape),
    recipe=lambda context: context.recipe.loss.objective != "reward",  # which reads a score at one token
    kinds=CHATS,
)
def masked_stop(look: RowLook) -> Iterator[Fault]:
    """EOS004, EOS006 and GEN003: an answer is trained to its last content token, but its stop token is not."""
    found: list[tuple[MessageTokens, int]] = []
    drawn, ids = look.mask.drawn, look.tokens.ids
    for turn in look.answers:
        start, end = turn.content
        if end <= start or not drawn[end - 1] or all(drawn[turn.terminator[0] : turn.terminator[1]]):
            continue
        stop = next((i for i in range(*turn.terminator) if ids[i] in look.row_stops), None)
        if stop is None or drawn[stop] or look.labels.reasons[stop] is Reason.TRUNCATED:
            continue  # what is cut off is TRU002's
        found.append((turn, stop))
    if not found:
        return
    turn, stop = found[0]
    forced = look.labels.reasons[stop] is Reason.FORCED and Quirk.MASKS_END in look.context.traits.quirks
    changes: Changes = ()
    if forced:
        rule, token = EOS006, look.spelling.token(stop)
        what = f"{token} at the end is masked because max_seq_len is set, although nothing is cut"
        changes = () if look.cut else (("length.max", None),)
    else:
        rule = GEN003 if look.recipe.mask.rule == "generation_tag" else EOS004
        some = f"in {len(found)} of {len(look.answers)} answers" if len(found) > 1 else f"in message {turn.message}"
        what = f"the answer is trained but its {look.spelling.token(stop)} is not, {some}"
        option = look.context.traits.options.get(Effect.TRAINS_END)
        if look.recipe.mask.terminator == "mask":
            changes = (("mask.terminator", "train"),)
        elif option is not None:
            changes = ((option, (look.spelling.piece(stop),)),)
    where = max(turn.content[0], stop - 4), stop + 1
    yield Fault(what, message=turn.message, tokens=where, changes=changes, tags=not (changes or forced), rule=rule)


def _may_mask_stops(shape: RowShape) -> bool:
    masked = shape.masked(Part.TERMINATOR, "assistant")
    return not set(shape.trained(Part.CONTENT, "assistant")).isdisjoint(masked)


_ENDED = {"input_ids": [300, 301, 302, 2], "labels": [300, 301, 302, 2], "attention_mask": [1, 1, 1, 1]}

EOS002 = fatal(
    "eos-masked-as-pad",
    "EOS is masked because it is also the pad token",
    "A collator set every label that equals the pad id to -100, so the model never learns the real EOS."
    " LLaMA-Factory and torchtune pad labels separately, and Unsloth fixes the pad token itself, so none of them is"
    " affected.",
    leads_to=Consequence.UNSTOPPED,
    bad=stored_case({**_ENDED, "labels": [300, 301, 302, -100]}, tokenizer="llama3", facts={"eos_id": 2, "pad_id": 2}),
    good=stored_case(_ENDED, tokenizer="llama3", facts={"eos_id": 2, "pad_id": 2}),
)


@row_check(LABELLED, EOS002, EOS004, kinds=TOKENIZED)
def stop_as_pad(look: RowLook) -> Iterator[Fault]:
    """EOS002: stored labels are masked at every real EOS, and the pad token is the EOS; EOS004 where it is another
    one."""
    facts, conversation = look.facts, look.conversation
    if conversation.labels is None or facts.eos_id is None:
        return
    attention = conversation.attention_mask
    places = [
        i
        for i, one in enumerate(look.tokens.input_ids)
        if one == facts.eos_id and (attention is None or i >= len(attention) or attention[i])
    ]
    drawn, ids, labels = look.mask.drawn, look.tokens.input_ids, conversation.labels
    # Of labels that are another id than the one at their place nobody knows whether they are shifted.
    behind = [i for i in places if i > 0 and drawn[i - 1] and labels[i - 1] == ids[i - 1] and not drawn[i]]
    if behind and not any(drawn[i] for i in places):
        same = facts.pad_id in (None, facts.eos_id)
        rule, more = (EOS002, "; pad and EOS are the same token") if same else (EOS004, "")
        what = f"the label of {look.spelling.token(behind[0])} after a trained token is masked{more}"
        yield Fault(what, tokens=(behind[0] - 3, behind[0] + 1), rule=rule)


EOS007 = minor(
    "doubled-stop-token",
    "two stop tokens in a row",
    "Both the data and the template add one, or both the template and the trainer. Pairs that the template"
    " itself writes are not reported: some families use them on purpose.",
    data="remove the stop token from the data",
    pairs="end texts, or turns in the template, with the stop token and nothing after it",
    bad=case(chat("hi", "Hello.<|im_end|>")),
)


_PUT = (Part.CONTENT, Part.INJECTED)
"""What the data or the trainer puts beside what the template writes."""


@row_check(
    LABELLED,
    EOS007,
    of=lambda shape: shape.trains,
    signs=lambda shape, context: (
        "" if Part.INJECTED in shape.parts or not _stops_are_special(context) else sign_of_special(shape, context)
    ),
)
def doubled_stop(look: RowLook) -> Iterator[Fault]:
    """EOS007: two trained stop tokens with nothing but white space between, not both by the template."""
    ids, blank, places, parts = look.tokens.ids, look.spelling.blank, look.special_trained, look.tokens.parts
    context = look.context
    if not _stops_are_special(context):
        places = [i for i, token in enumerate(ids) if token in look.row_stops]
    beginning = context.once("never stops", lambda: context.opening - context.stops)
    for before, i in pairwise(places):
        if ids[before] in beginning or ids[i] in beginning:
            continue
        if parts[before] not in _PUT and parts[i] not in _PUT:
            continue
        apart = not all(map(blank, range(before + 1, i))) or i >= look.padding
        if not apart and {ids[before], ids[i]} <= look.row_stops and look.mask.drawn[before] and look.mask.drawn[i]:
            what = f"{look.spelling.token(before)} is followed by {look.spelling.token(i)}, and both are trained"
            yield Fault(what, tokens=(before, i + 1))


def _stops_are_special(context: Context) -> bool:
    return context.once("stops are special", lambda: context.stops <= context.tools.tokenizer.special_ids)


EOS012 = fatal(
    "foreign-stop-text",
    "the text contains another model family's stop token",
    "This tokenizer has no such control token, so the model learns to write it as text, letter by letter if it"
    " is not a token at all.",
    data="remove or replace it in the data",
    repair=("strip-tokens", DROP),
    leads_to=Consequence.GARBLED,
    bad=case(chat("hi", "Hello.</s>")),
    more=(case(chat(*ROUNDS_OF, "and?", "Rome</s>", *ROUNDS_OF), preset="axolotl@0.19"),),
)


@row_check(CONVERSATION, EOS012, signs=lambda *_: TAG, row=lambda look: _MARKS.in_(look.spoken))
def foreign_stop(look: RowLook) -> Iterator[Fault]:
    """EOS012: a stop token's text that is no control token of this tokenizer; the worst place of the row."""
    tokenizer, milder = look.context.tools.tokenizer, None
    for number, text, content in look.texts:
        if not _MARKS.in_(text):
            continue
        bare = without_code(text)
        for match in _FOREIGN.finditer(bare):
            literal, token = match.group(), tokenizer.token_id(match.group())
            known = token is not None and tokenizer.is_special(token)
            if known or _struck(bare, match) or spoken_of(bare, *match.span()):
                continue
            trained, place = _at(look, number, literal, text.count(literal, 0, match.start()))
            ends = content and not match["start"] and bare.rstrip().endswith(literal)
            answer = number is None or not look.messages or look.roles[number] in look.context.traits.answering
            worst = answer and ends and trained is not False
            severity, shows = None if worst else Severity.WARNING, None if place else literal
            kind = "control" if match["start"] else "stop"
            single = place is not None and place[1] - place[0] == 1 and look.tokens.input_ids[place[0]] == token
            thing = f"a token ({token})" if single else "plain text"
            what = f"{literal} is {thing} for this tokenizer, not a {kind} token"
            found = Fault(what, shows, severity, message=number, tokens=place)
            if worst:
                yield found
            milder = milder or found
    if milder is not None:
        yield milder


def _struck(text: str, end: re.Match[str]) -> bool:
    """Whether `</s>` closes HTML's strike-through: its `<s>` stands inside the same line, not where a text begins."""
    line = text[: end.start()].rpartition("\n")[2]
    opened = line.rfind("<s>")
    inside = opened >= 0 and "</s>" not in line[opened:]
    return end.group() == "</s>" and inside and bool(text[: end.start() - len(line) + opened].strip())


def _at(look: RowLook, number: int | None, literal: str, before: int) -> tuple[bool | None, tuple[int, int] | None]:
    """Whether this text is trained, and its tokens, where the row got that far; `before` are others of it in the
    message."""
    if look.inspection.tokens is None or look.inspection.labels is None or look.inspection.rendered is None:
        return None, None
    for span in look.rendered.spans:
        if span.part is Part.CONTENT and (number is None or span.message == number):
            at = look.rendered.text.find(literal, span.start, span.end)
            while at >= 0 and before:
                at, before = look.rendered.text.find(literal, at + 1, span.end), before - 1
            if at >= 0:
                where = look.tokens_over(at, at + len(literal))
                if where:
                    return look.mask.drawn[where[0]], (where[0], where[-1] + 1)
    return None, None


_CONTROL = re.compile(r"<\|[^|<>\s]{1,40}\|>|<(?:start_of_turn|end_of_turn)>")
_RESERVED = re.compile(r"reserved|<unused\d|<extra_id_|placeholder_\d|<\|dummy")


EOS003 = fatal(
    "wrong-stop-token",
    "answers end with a token that generation does not stop on",
    "Answers end with one token, but generation_config.json or the tokenizer's EOS names another, so generation does"
    " not stop.",
    leads_to=Consequence.UNSTOPPED,
    moves=("stops",),
    bad=case(GOOD, tokenizer="gemma", generation_config={"eos_token_id": 1}),
    good=case(GOOD),
    more=(
        case(
            GOOD,
            preset="llamafactory@0.9",
            changes={"render.template": "llamafactory/qwen"},
            generation_config={"eos_token_id": 3000},
        ),
    ),
)


@setup_check(EOS003)
def wrong_stop(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """EOS003: the token that ends answers is none that generation stops on."""
    rendered = context.turn_end
    end = rendered if rendered is not None else _written_end(context, sample)
    if end is None or not chats(sample):
        return
    piece, own = context.tools.tokenizer.piece(end), end == context.facts.eos_id
    shows, chosen = f"{piece} {end}", [("tokenizer.eos_token", piece)]
    if context.generation_stops:
        # Trainer copies the tokenizer's EOS into generation_config, so an EOS that was chosen is one that stops.
        if end not in context.generation_stops and not (context.recipe.tokenizer.eos_token and own):
            names = ", ".join(context.tools.tokenizer.piece(i) for i in sorted(context.generation_stops))
            what = f"answers end with {piece} but generation_config.json stops on {names}"
            if own and rendered is None:
                # The trainer chose it: transformers' Trainer (4.56 and later, `align_special_tokens`) then adds it for
                # the model that it saves, of which an adapter has nothing.
                kept = "the model's generation_config.json, which a merged adapter keeps,"
                what = f"answers end with {piece} but {kept} stops on {names}"
                fix = f"add {end} ({piece}) to eos_token_id in the generation_config.json you serve with"
                yield Fault(what, shows, Severity.INFO, title=fix)
                return
            yield Fault(what, shows, changes=chosen)
    elif context.generation_config is None and context.config_stops and end not in context.config_stops:
        names = ", ".join(_named(context, i) for i in sorted(context.config_stops))
        # A trainer that knows the tokenizer's EOS writes it into the model's configs; who loads the base model has what
        # stands there.
        yield Fault(
            f"answers end with {piece} but config.json stops on {names}, and there is no generation_config.json"
            " next to it",
            shows,
            Severity.WARNING if own else None,
            changes=() if own else chosen,
            title=f"eos_token_id: {end} in config.json" if own else "",
        )
    elif context.facts.eos_id is not None and not own:
        # Without generation_config.json the model may well stop on both: seen with every Gemma.
        yield Fault(
            f"answers end with {piece} but the tokenizer's EOS is {context.facts.eos_token}; make sure that generation"
            f" stops on {piece}",
            shows,
            Severity.INFO,
            changes=chosen,
        )


def _written_end(context: Context, sample: Sequence[Inspection]) -> int | None:
    """What trained answers end with under a trainer that renders no chat template, where generation stops on nothing
    that is trained behind any of them."""
    stops = context.generation_stops
    if not stops:
        return None
    looks = [RowLook(row, context) for row in chats(sample) if row.tokens is not None and row.labels is not None]
    ids = [[look.tokens.ids[i] for i in ends] for look in looks for _, ends in trained_ends(look) if ends]
    return ids[0][0] if ids and all(stops.isdisjoint(some) for some in ids) else None


def trained_ends(look: RowLook) -> Iterator[tuple[MessageTokens, Sequence[int]]]:
    """Each answer with the places of the special tokens that are trained between it and the next message."""
    turns = [turn for turn in look.turns if turn.has_content]
    for turn, following in zip(turns, [*(later.content[0] for later in turns[1:]), len(look.tokens)]):
        if turn.role == "assistant":
            between = range(turn.content[1], following)
            yield turn, [i for i in between if look.mask.drawn[i] and look.spelling.is_special(i)]


def _named(context: Context, token: int) -> str:
    """A token by its piece and its id, by its id alone where the tokenizer has none such."""
    piece = shown(context.tools.tokenizer.piece(token), 40) if 0 <= token < context.facts.vocab_size else ""
    return f"{piece} {token}".strip()


_WIDE_TAGS = tagged().replace("{% endgeneration %}", "{{ '\n' }}{% endgeneration %}")

EOS008 = minor(
    "trained-after-stop",
    "whitespace after the stop token is trained",
    "Generation stops before it, so training on it teaches nothing and does no harm.",
    data="end the turn with the stop token in the template",
    tags=True,
    moves=("behind stops",),
    bad=FINE,
    good=case(GOOD, tokenizer="llama3"),
    more=(
        case(GOOD, ROUNDS, template=_WIDE_TAGS, changes=TAGS),
        case(GOOD, ROUNDS, template=_WIDE_TAGS, preset="trl@1.16", changes=TAGS),
    ),
)


@setup_check(EOS008)
def behind_stop(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """EOS008: white space that is trained behind an answer's stop token; both sides of a preference have it."""
    if not context.recipe.supervised:
        return
    looks = [RowLook(row, context) for row in sample if row.tokens is not None and row.labels is not None]
    found = [(look, place) for look in looks if (place := _blank_behind(look)) is not None]
    if found:
        look, at = found[0]
        # Only the hand-written preparations can leave it out: no trainer has a key for it.
        by_hand = context.traits.by_hand
        yield Fault(
            f"in {len(found)} of {len(sample)} sampled rows {look.spelling.token(at)} after the stop token is trained",
            look.spelling.quote(at - 2, at + 1),
            changes=[("mask.trailing", "mask")] if by_hand else [],
            fix=None if by_hand else tight_tags(context, EOS008, look.rendered),
            of=[behind.inspection for behind, _ in found],
        )


def _blank_behind(look: RowLook) -> int | None:
    """The first trained token of white space right behind an answer's end."""
    ends = [turn.separator[0] for turn in look.answers if turn.separator[1] > turn.separator[0] == turn.terminator[1]]
    return next((at for at in ends if look.mask.drawn[at] and look.spelling.blank(at)), None)


EOS009 = fatal(
    "trl-text-column-without-eos",
    "this TRL version appends EOS only to a column named `text`",
    "Before 1.15, the step that appends EOS checks for a column literally named `text`, so a different"
    " dataset_text_field gets none.",
    leads_to=Consequence.UNSTOPPED,
    moves=("appended",),
    bad=case({"body": "Q: hi\nA: Hello."}, preset="trl@1.14", changes={"own.dataset_text_field": "body"}),
    good=case({"body": "Q: hi\nA: Hello."}, preset="trl@1.16", changes={"own.dataset_text_field": "body"}),
)


@setup_check(EOS009)
def literal_text_column(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """EOS009: the EOS is looked for in a column of a fixed name, as by TRL before 1.15."""
    column = trainer_of(context.recipe).unended_column(context.recipe)
    texts = of_kind(sample, Kind.TEXT)
    if column is None or not texts:
        return
    yield Fault(
        f"this {context.traits.title} appends EOS only to the column `text`, but the text is in `{shown(column, 40)}`",
        column,
        changes=newer(context),
        title=f"use {context.traits.title} 1.15 or later, or rename the column to text",
        of=texts,
    )


EOS010 = major(
    "control-tokens-untrained",
    "the template's control tokens are new to this base model",
    "The tokenizer has no template of its own, so the control tokens in the recipe's template were hardly"
    " trained. LoRA on attention alone leaves their embeddings unchanged, and the model never emits them.",
    bad=case(GOOD, template=chatml(), facts={"chat_templates": {}}),
)


@setup_check(EOS010)
def new_tokens(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """EOS010: control tokens of a template that the tokenizer does not bring, and reserved tokens that are trained."""
    tokenizer, plain = context.tools.tokenizer, context.plain
    if plain is not None and not context.facts.chat_templates and chats(sample):
        used = [
            one
            for one in dict.fromkeys(_CONTROL.findall(plain))
            if (i := tokenizer.token_id(one)) is not None and tokenizer.is_special(i)
        ]
        if used:
            yield Fault(
                f"the tokenizer has no chat template, so {', '.join(used[:4])} are probably untrained in this model",
                " ".join(used),
            )
            return
    for inspection in sample:
        if inspection.tokens is None or inspection.labels is None:
            continue
        for token, label in zip(inspection.tokens.input_ids, inspection.labels.counted):
            if label >= 0 and tokenizer.is_special(token) and _RESERVED.search(tokenizer.piece(token)):
                what = (
                    f"{shown(tokenizer.piece(token), 40)} is trained, but it is a reserved token that the model has"
                    " never seen"
                )
                yield Fault(what, shown(tokenizer.piece(token), 40), of=[inspection])
                return


EOS011 = fatal(
    "template-ends-without-stop",
    "the template writes nothing after the last answer",
    "Single-turn datasets then contain no stop token at all, as with GLM-4 MoE.",
    data="append the stop token, or use another template",
    pairs="use a template that ends turns",
    leads_to=Consequence.UNSTOPPED,
    bad=case(GOOD, template=chatml("{{ m.content }}")),
)


@setup_check(EOS011)
def no_end(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    plain = context.plain
    if plain is None or FIRST_ANSWER not in plain or plain.rpartition(FIRST_ANSWER)[2].strip():
        return
    appends = context.recipe.tokenize.append_eos != "never" and Quirk.ENDS_TEXTS_ALONE not in context.traits.quirks
    if chats(sample) and not context.facts.adds_eos and not appends:
        yield Fault("the template writes nothing after the last answer, so nothing ends it", shown(plain[-60:], 60))
