"""Stop tokens of template, tokenizer, model and trainer together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sftui.findings.checks import Fault, chats, setup_check
from sftui.findings.consequences import Consequence
from sftui.findings.context import FIRST_ANSWER, Context
from sftui.findings.examples import GENERATION, ROUNDS, case, chatml, tagged
from sftui.findings.fixes import newer, tight_tags
from sftui.findings.look import RowLook, shown
from sftui.findings.model import Severity
from sftui.findings.rule import FINE, GOOD, fatal, major, minor
from sftui.model import Inspection, Kind
from sftui.trainers import trainer_named
from sftui.trainers.traits import Quirk

_CONTROL = re.compile(r"<\|[^|<>\s]{1,40}\|>|<(?:start_of_turn|end_of_turn)>")
_RESERVED = re.compile(r"reserved|<unused\d|<extra_id_|placeholder_\d|<\|dummy")


EOS003 = fatal(
    "EOS003",
    "wrong-stop-token",
    "the trained terminator is not what generation stops on",
    "Answers end with one token while generation_config.json, or the tokenizer's EOS, names another, so generation"
    " runs on.",
    moves=("stops",),
    leads_to=Consequence.UNSTOPPED,
    bad=case(GOOD, tokenizer="gemma", generation_config={"eos_token_id": 1}),
    good=case(GOOD),
)


@setup_check(EOS003)
def wrong_stop(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """EOS003: the token that ends answers is none that generation stops on."""
    end = context.turn_end
    if end is None or not chats(sample):
        return
    piece = context.tools.tokenizer.piece(end)
    if context.generation_stops:
        # Trainer copies the tokenizer's EOS into generation_config, so an EOS that was chosen is one that stops.
        if end not in context.generation_stops and not (
            context.recipe.tokenizer.eos_token and end == context.facts.eos_id
        ):
            names = ", ".join(context.tools.tokenizer.piece(i) for i in sorted(context.generation_stops))
            yield Fault(
                f"answers end with {piece} and generation_config.json stops on {names}",
                f"{piece} {end}",
                changes=[("tokenizer.eos_token", piece)],
            )
    elif context.generation_config is None and context.config_stops and end not in context.config_stops:
        names = ", ".join(_named(context, i) for i in sorted(context.config_stops))
        # A trainer that knows the tokenizer's EOS writes it into the model's configs; who loads the base model has what
        # stands there.
        yield Fault(
            f"answers end with {piece} and config.json stops on {names}, with no generation_config.json beside it",
            f"{piece} {end}",
            Severity.WARNING if end == context.facts.eos_id else None,
            changes=[("tokenizer.eos_token", piece)] if end != context.facts.eos_id else [],
            title="" if end != context.facts.eos_id else f"eos_token_id: {end} in config.json",
        )
    elif context.facts.eos_id is not None and end != context.facts.eos_id:
        # Without generation_config.json the model may well stop on both: seen with every Gemma.
        yield Fault(
            f"answers end with {piece} but the tokenizer's EOS is {context.facts.eos_token}; make sure that generation"
            f" stops on {piece}",
            f"{piece} {end}",
            Severity.INFO,
            changes=[("tokenizer.eos_token", piece)],
        )


def _named(context: Context, token: int) -> str:
    """A token by its piece and its id, by its id alone where the tokenizer has none such."""
    piece = shown(context.tools.tokenizer.piece(token), 40) if 0 <= token < context.facts.vocab_size else ""
    return f"{piece} {token}".strip()


EOS008 = minor(
    "EOS008",
    "trained-after-stop",
    "white space behind the stop token is trained",
    "Generation stops before it, so the loss there teaches nothing; it does no harm.",
    data="end the turn with the stop token in the template",
    tags=True,
    moves=("behind stops",),
    bad=FINE,
    good=case(GOOD, tokenizer="llama3"),
    more=(
        case(
            GOOD,
            ROUNDS,
            template=tagged().replace("{% endgeneration %}", "{{ '\n' }}{% endgeneration %}"),
            changes=GENERATION,
        ),
        case(
            GOOD,
            ROUNDS,
            template=tagged().replace("{% endgeneration %}", "{{ '\n' }}{% endgeneration %}"),
            preset="trl@1.16",
            changes=GENERATION,
        ),
    ),
)


@setup_check(EOS008)
def behind_stop(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """EOS008: white space that is trained behind an answer's stop token."""
    found: list[tuple[RowLook, int]] = []
    for one in sample:
        if one.tokens is None or one.labels is None:
            continue
        look = RowLook(one, context)
        for turn in look.answers:
            start, end = turn.separator
            if end > start and look.mask.drawn[start] and look.spelling.blank(start) and turn.terminator[1] == start:
                found.append((look, start))
                break
    if found:
        look, at = found[0]
        # Only the hand-written preparations can leave it out: no trainer has a key for it.
        by_hand = context.traits.by_hand
        yield Fault(
            f"in {len(found)} of {len(sample)} sampled rows {look.spelling.token(at)} behind the stop token is trained",
            look.spelling.quote(at - 2, at + 1),
            changes=[("mask.trailing", "mask")] if by_hand else [],
            fix=None if by_hand else tight_tags(context, EOS008, look.rendered),
            rows=tuple(one.inspection.row.index for one, _ in found),
            count=len(found),
        )


EOS009 = fatal(
    "EOS009",
    "trl-text-column-without-eos",
    "this TRL appends EOS only to a column called `text`",
    "Before 1.15 the map that appends EOS tests for the literal name, so another dataset_text_field gets none.",
    moves=("appended",),
    leads_to=Consequence.UNSTOPPED,
    bad=case({"body": "Q: hi\nA: Hello."}, preset="trl@1.14", changes={"own.dataset_text_field": "body"}),
    good=case({"body": "Q: hi\nA: Hello."}, preset="trl@1.16", changes={"own.dataset_text_field": "body"}),
)


@setup_check(EOS009)
def literal_text_column(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """EOS009: the EOS is looked for in a column of a fixed name, as by TRL before 1.15."""
    column = trainer_named(context.recipe.preset).unended_column(context.recipe)
    texts = [one for one in sample if one.conversation is not None and one.conversation.kind is Kind.TEXT]
    if column is None or not texts:
        return
    yield Fault(
        f"this {context.traits.title} appends EOS to the column `text` only, and the text is in `{shown(column, 40)}`",
        column,
        changes=newer(context),
        title=f"use {context.traits.title} 1.15 or later, or rename the column to text",
        of=texts,
    )


EOS010 = major(
    "EOS010",
    "control-tokens-untrained",
    "the template's control tokens are new to this base model",
    "The tokenizer brings no template of its own, so the control tokens that the recipe's template writes were"
    " hardly trained. LoRA on attention alone leaves their embeddings as they are and the model never emits them.",
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
                f"the tokenizer brings no chat template, so {', '.join(used[:4])} are probably untrained in this model",
                " ".join(used),
            )
            return
    for one in sample:
        if one.tokens is None or one.labels is None:
            continue
        for token, label in zip(one.tokens.input_ids, one.labels.counted):
            if label >= 0 and tokenizer.is_special(token) and _RESERVED.search(tokenizer.piece(token)):
                yield Fault(
                    f"{shown(tokenizer.piece(token), 40)} is trained, a reserved token that the model has never seen",
                    shown(tokenizer.piece(token), 40),
                    rows=(one.row.index,),
                )
                return


EOS011 = fatal(
    "EOS011",
    "template-ends-without-stop",
    "the template writes nothing after the last answer",
    "Single-turn sets then hold no stop token at all, as with GLM-4 MoE.",
    data="append the stop token, or use another template",
    leads_to=Consequence.UNSTOPPED,
    bad=case(GOOD, template=chatml("{{ m.content }}")),
)


@setup_check(EOS011)
def no_end(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    plain = context.plain
    if (
        plain is not None
        and FIRST_ANSWER in plain
        and chats(sample)
        and not plain.rpartition(FIRST_ANSWER)[2].strip()
        and not context.facts.adds_eos
    ):
        if context.recipe.tokenize.append_eos != "never" and Quirk.ENDS_TEXTS_ALONE not in context.traits.quirks:
            return
        yield Fault("the template writes nothing after the last answer, so nothing ends it", shown(plain[-60:], 60))
