"""Axolotl's `rl: dpo` and `rl: ipo`: a prompt and two answers, as texts.

Source: axolotl 0.21.0, prompt_strategies/dpo/*.py (a row as three texts, by its `type`), utils/data/rl.py (its length)
and core/trainers/dpo (max_length is sequence_len); then trl 1.14.1, trainer/dpo_trainer.py `_prepare_dataset`, which
adds special tokens to the texts, BOS on top of a rendered one. Before 0.21 the answer was cut out by its first
occurrence (prompt_strategies/dpo/chat_template.py), under TRL 1.9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from string import Formatter
from typing import Any

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.conversations.detected import NO_ROW, refusal, type_word
from sftui.errors import RecipeError
from sftui.model import (
    NOWHERE,
    SIDES,
    Batch,
    Conversation,
    Example,
    Kind,
    Labels,
    Message,
    Part,
    RenderedText,
    Row,
    Span,
    Tokens,
)
from sftui.recipe import Mask, Recipe, Tokenize
from sftui.trainers import versions
from sftui.trainers.axolotl.settings import ARGILLA, DEFAULT, RECORD, DatasetSettings, pair_type, settings_of
from sftui.trainers.axolotl.trainer import Axolotl, template_of
from sftui.trainers.axolotl.turns import STOPS
from sftui.trainers.base import ESTIMATED, ShapedRow, Toolbox, Trainer, dropped_labels, to_render
from sftui.trainers.pairs import PairTrainer, Side
from sftui.trainers.trl.preference import behind_prompt
from sftui.trainers.trl.trainer import UNKNOWN, refuse_unpadded

ROLE_CONTENT = ("role", "content")
TEXTS = ("prompt", *SIDES)
ROLES = {role: role for role in ("user", "assistant", "system", "tool")}
DUMMY = Message({"role": "user", "content": "[[dummy_message]]"})
_TEXTS = Tokenize(add_special_tokens=True, append_eos="if_missing_text")
_MASK = Mask(rule="completion", boundary="prompt_length", trailing="train")


class AxolotlDpo(PairTrainer, Axolotl):
    """Pairs of answers; each is trained up to its end, the prompt is not."""

    texts, tokenize, needs = Trainer.texts, Trainer.tokenize, Trainer.needs

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        unread = {"chat_template_kwargs": bool(recipe.render.kwargs), "train_on_inputs": recipe.mask.rule == "all"}
        return (
            *super().remarks(recipe),
            *(f"{key} has no effect under rl: dpo" for key, said in unread.items() if said),
        )

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        if not versions.since(recipe, (0, 21)):
            what, why = "sftui does not model rl: dpo before Axolotl 0.21", "it cut answers out by another rule"
            raise RecipeError(what, why=why, fix="set the version to 0.21")
        columns = dict.fromkeys(str(key) for row in rows if isinstance(row.data, Mapping) for key in row.data)
        if not columns:
            return NO_ROW
        if "image" in columns or "images" in columns:
            return refusal("the dataset has images", "TRL prepares them with a processor, which sftui does not model")
        settings = settings_of(recipe)
        kind, reason = pair_type(settings.type), "Axolotl: the type in the config"
        if not settings.type:
            kind = DEFAULT if {settings.field_messages, "prompt"} & {*columns} else ARGILLA
            reason = f"Axolotl never guesses: a config must set `type: {kind}`, which fits the columns"
        if kind is None:
            why = "its own code decides what is read and trained"
            return refusal(
                f"sftui does not know the Axolotl type `{settings.type}` of preferences", why, "choose another type"
            )
        fields = {"prompt": settings.field_messages} if kind == DEFAULT else {}
        fields |= {name: name for name in SIDES} if kind in (DEFAULT, ARGILLA) else _columns(kind, columns)
        if missing := [column for column in fields.values() if column not in columns]:
            kind, fix = settings.type or kind, "set field_messages, rename the column, or choose another type"
            return refusal(f"there is no column `{missing[0]}`", f"type {kind} reads it and raises KeyError", fix)
        keys = {name: settings.mapping[name] for name in ROLE_CONTENT}
        fields |= {"tools": "tools"} if "tools" in columns else {}
        return Detection("preference", fields, keys, _roles(recipe), f"{reason}, {kind}")

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        data: Mapping[str, Any] = row.data or {}
        settings, roles, asked = settings_of(recipe), _roles(recipe), detected.fields.get("prompt")
        if (kind := pair_type(settings.type)) not in (None, DEFAULT, ARGILLA):
            text, *answers = _texts(data, kind, detected.fields)
            chosen, rejected = (
                Conversation(Kind.STRINGS, "preference", prompt=text, completion=one) for one in answers
            )
            return replace(chosen, rejected=rejected)

        def listed(column: str, role: str) -> list[tuple[Any, str]]:
            value = data.get(column)
            if isinstance(value, str) and asked:
                return [({settings.mapping["role"]: role, settings.mapping["content"]: value}, column)]
            if isinstance(value, Mapping) and asked and role == "assistant":
                return [(value, column)]
            if not isinstance(value, list) or (not value and role == "assistant"):
                word = "an empty list" if value == [] else type_word(value)
                raise RecipeError(f"{STOPS}: its `{column}` is {word}", fix="fix or remove the row")
            return [(one, f"{column}[{at}]") for at, one in enumerate(value)]

        first = listed(asked, "user") if asked else listed("chosen", "assistant")[:-1]
        prompt, sides = [_message(*one, settings, roles) for one in first], list[Conversation]()
        for side in SIDES:
            *before, answer = listed(side, "assistant")
            differs = before and [one for one, _ in before] != [one for one, _ in first]
            notes = (f"Axolotl reads only the last message of `{side}`",) if differs else ()
            messages = (*prompt, _message(*answer, settings, roles))
            made = Conversation(Kind.CHAT, "preference", messages, len(prompt), notes=notes)
            sides.append(replace(made, tools=data.get("tools")))
        return replace(sides[0], rejected=sides[1])

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        if recipe.pack.strategy != "none" or recipe.batch.flatten:
            what = "`sample_packing: true` does not work with RLHF training"
            raise RecipeError(f"Axolotl stops: {what}", fix="set pack.strategy to none and batch.flatten to false")
        return ShapedRow(conversation, None, conversation.prompt_messages or 1)

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        conversation, settings = shaped.conversation, settings_of(recipe)
        if conversation.kind is Kind.STRINGS:
            return Trainer.render(self, shaped, recipe, tools, spans=spans)
        template, special = template_of(conversation, recipe, tools), tools.special_tokens
        options = replace(recipe.render, kwargs={}, inject_system=None)

        def rendered(*messages: Message, n: int) -> RenderedText:
            chat = Conversation(Kind.CHAT, "preference", messages)
            render = to_render()
            return render(chat, template, special_tokens=special, options=options, prompt_messages=n, spans=spans)

        *before, answer = [Message(_copied(one.data, settings)) for one in conversation.messages]
        asked, answered = rendered(*before, n=len(before)), rendered(DUMMY, answer, n=1)
        prompt, prefix, count = asked.prompt or "", answered.prompt, len(before)
        fits = bool(prefix) and answered.text.startswith(prefix or "")
        at = len(prefix or "") if fits else answered.text.find(answer.content)
        text = answered.text[at:].rstrip()
        at %= len(answered.text) or 1
        shift = len(prompt) - at
        begun = min(len(asked.text), len(prompt)) if prompt.startswith(asked.text) else 0
        places = [span for span in asked.spans if begun]
        places += [Span(begun, len(prompt), count if begun else NOWHERE, Part.HEADER)] * (len(prompt) > begun)
        for start, end, message, part in answered.spans:
            start, end = max(start, at), min(end, at + len(text))
            if start < end:
                places.append(Span(start + shift, end + shift, count if message else NOWHERE, part))
        return replace(
            answered,
            text=prompt + text,
            spans=tuple(places) if spans else (),
            prompt=prompt,
            generation=(),
            exact=asked.exact and answered.exact and (not spans or begun > 0),
            notes=tuple(dict.fromkeys((*asked.notes, *answered.notes))),
        )

    def tokenize_as(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> tuple[Tokenize, str | None]:
        if tools.tokenizer.facts.eos_token is None:
            why = "TRL appends the EOS token to each answer, but the tokenizer has none"
            raise RecipeError(STOPS, why=why, fix="set special_tokens.eos_token")
        return _TEXTS, shaped.conversation.completion

    def label_sides(self, sides: Sequence[Side], recipe: Recipe, tools: Toolbox) -> Iterator[tuple[Tokens, Labels]]:
        refuse_unpadded(tools)
        most, over, facts = recipe.length.max, "", tools.tokenizer.facts
        for name, (tokens, rendered, _) in zip(SIDES, sides):
            answer = rendered.text[len(rendered.prompt or "") :]
            if not answer or not rendered.prompt:
                why = f"the text of its {name if rendered.prompt else 'prompt'} is empty"
                raise RecipeError(STOPS, why=f"{why}: “Prompt, chosen and rejected keys are required”", fix="drop it")
            if most is not None:
                special = len(facts.front) + len(facts.back)
                count = len(tokens.prompt or ()) - special + len(tools.tokenizer.flat(answer))
                over = over or f"its {name} side has {count} tokens, more than sequence_len {most}" * (count > most)
        if over and recipe.length.over == "error":
            raise RecipeError(f"{STOPS}: {over}", fix="set excess_length_strategy to drop")
        if over and recipe.length.over != "drop":
            why = f"{over}, and Axolotl cuts the answer and decodes it to text again"
            raise RecipeError(UNKNOWN, why=why, fix="set excess_length_strategy to drop")
        for tokens, rendered, shaped in sides:
            tokens = behind_prompt(tokens)
            start = len(tokens.prompt or ())
            if over or (most is not None and start >= most):
                full = f"its prompt of {start} tokens fills sequence_len {most}: TRL silently drops the row"
                why = f"{over}: Axolotl drops the row (excess_length_strategy: drop)" if over else full
                yield tokens, dropped_labels(tokens, why)
                continue
            drawn = label_rules.completion(label_rules.Subject(tokens, rendered, shaped.conversation), _MASK)
            kept = ((0, min(len(tokens), most or len(tokens))),)
            yield tokens, label_rules.on_ids(tokens, drawn, kept, notes=() if rendered.exact else (ESTIMATED,))

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        options = replace(recipe.batch, multiple=None, pad_to="longest", pad_side="right")
        return super().collate(examples, rows, replace(recipe, batch=options), tools)


def _columns(kind: Any, columns: Mapping[str, Any]) -> dict[str, str]:
    """The columns of a type that writes texts by itself: the first of those that it looks for."""
    if isinstance(kind, Mapping):
        return {name: str(kind.get(f"field_{name}") or name) for name in TEXTS}
    names = [names.split() for names in RECORD["pair columns"][kind.partition(".")[2]]]
    return {name: next((one for one in some if one in columns), some[-1]) for name, some in zip(TEXTS, names)}


def _texts(data: Mapping[str, Any], kind: Any, fields: Mapping[str, str]) -> list[str]:
    """Prompt, chosen and rejected as such a type writes them (prompt_strategies/dpo/chatml.py, llama3.py and
    user_defined.py)."""
    values = [data.get(fields[name]) for name in TEXTS]
    own = isinstance(kind, Mapping)
    family, _, way = ("", "", "") if own else kind.partition(".")
    if way in ("ultra", "argilla_chat"):  # of each side the second message, of the prompt the first of chosen
        places = (0 if way == "argilla_chat" else None, 1, 1)
        values = [value if at is None else _content(value, at) for value, at in zip(values, places)]
    if not all(isinstance(value, str) for value in values):
        raise RecipeError(UNKNOWN, why="its prompt or an answer is not text", fix="store them as text")
    said = dict(zip(TEXTS, values))
    system = "" if way == "argilla_chat" else data.get(kind.get("field_system") or "system" if own else "system") or ""
    if own:
        return [
            _formatted(str(kind.get(f"{name}_format") or f"{{{name}}}"), name, said[name], system) for name in TEXTS
        ]
    turn, ask, end = RECORD["pair turns"][family]
    prompt = turn.format("system", system) * bool(system) + turn.format("user", said["prompt"]) + ask
    return [prompt, *(f"{said[side]}{end}" for side in SIDES)]


def _content(value: Any, at: int) -> Any:
    one = value[at] if isinstance(value, list) and len(value) > at else None
    return one.get("content") if isinstance(one, Mapping) else None


def _formatted(form: str, name: str, value: Any, system: Any) -> str:
    if not {part[1:] for part in Formatter().parse(form) if part[1] is not None} <= {
        (name, "", None),
        ("system", "", None),
    }:
        what = f"sftui models {{{name}}} alone in {name}_format"
        raise RecipeError(what, why=f"it is {form!r}", fix=f"use {{{name}}}")
    return form.format(**{name: value, "system": system})


def _roles(recipe: Recipe) -> Mapping[str, str]:
    """A role in the data → the template's; those that `roles` does not name stop Axolotl."""
    given = recipe.data.role_map
    return given if given and given != Axolotl.usual.data.role_map else ROLES


def _message(value: Any, origin: str, settings: DatasetSettings, roles: Mapping[str, str]) -> Message:
    """A message with its role and content under their own names; the rest of it stays, though Axolotl drops it."""
    role, content = (value.get(settings.mapping[key]) if isinstance(value, Mapping) else None for key in ROLE_CONTENT)
    if not isinstance(role, str) or role not in roles:
        what = f"the role of {origin} is {type_word(role)}" if not isinstance(role, str) else f"no role is `{role}`"
        raise RecipeError(f"{STOPS}: {what}, KeyError", fix="map it with `roles`, or correct the row")
    if not isinstance(content, str):
        raise RecipeError(UNKNOWN, why=f"the content of {origin} is {type_word(content)}", fix="store it as text")
    return Message({**value, "role": roles[role], "content": content}, origin)


def _copied(data: Mapping[str, Any], settings: DatasetSettings) -> dict[str, Any]:
    """What Axolotl copies of a message: role, content and what message_property_mappings names."""
    more = {ours: data[key] for ours, key in settings.mapping.items() if ours not in ROLE_CONTENT and key in data}
    return {**{key: data[key] for key in ROLE_CONTENT}, **more}
