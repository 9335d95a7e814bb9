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
from typing import Any, ClassVar

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.conversations.detected import MESSAGE_KEYS, NO_ROW, refusal, type_word
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
    common_prefix,
)
from sftui.recipe import Mask, Recipe, Tokenize
from sftui.trainers import versions
from sftui.trainers.axolotl import AxolotlOptions
from sftui.trainers.axolotl.settings import (
    ARGILLA,
    BRADLEY_TERRY,
    DEFAULT,
    PREFERENCE_TYPES,
    RECORD,
    TURNS,
    preference_type,
    settings_of,
)
from sftui.trainers.axolotl.trainer import Axolotl, template_of
from sftui.trainers.axolotl.turns import STOPS
from sftui.trainers.base import MessagesTarget, ShapedRow, Toolbox, Trainer, pad_token_id, to_render
from sftui.trainers.pairs import BatchPartnerTrainer, PairTrainer, Side, scored, with_desirability, with_verdict
from sftui.trainers.trl.odds import TRAINS_PROMPT, answer_labels, bare, whole_sides
from sftui.trainers.trl.preference import behind_prompt
from sftui.trainers.trl.trainer import UNKNOWN, refuse_unpadded

ROLES = {role: role for role in ("user", "assistant", "system", "tool")}
_COLUMN_KEYS = {"prompt": "field_messages", "chosen": "field_chosen", "rejected": "field_rejected"}
DUMMY = Message({"role": "user", "content": "[[dummy_message]]"})
_RENDERED = Tokenize(add_special_tokens=False)
_TEXTS = Tokenize(add_special_tokens=True, append_eos="if_missing_text")
_BARE = bare(_TEXTS)
_MASK = Mask(rule="completion", boundary="prompt_length", trailing="train")


class AxolotlDpo(PairTrainer, Axolotl):
    """Pairs of answers; each is trained up to its end, the prompt is not."""

    texts, tokenize, needs = Trainer.texts, Trainer.tokenize, Trainer.needs
    usual_type: ClassVar[str | Mapping[str, Any]] = ""
    """The type of rows where the config names none; empty: the one that fits the columns."""

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        columns = {"prompt": "messages", **{name: name for name in SIDES}}
        lost = "its types of preferences read only role and content"
        return replace(super().messages_target(recipe), columns=columns, single=True, loses_calls=lost)

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        usual, said = self.usual.data, AxolotlOptions.of(recipe).message_property_mappings or recipe.data.message_keys
        unread = {
            "chat_template_kwargs": bool(recipe.render.kwargs),
            "train_on_inputs": recipe.mask.rule == "all",
            "message_property_mappings": bool(said),
            "roles": recipe.data.role_map != usual.role_map,
        }
        idle = (f"{key} has no effect under {rl_of(recipe)}" for key, set_ in unread.items() if set_)
        return (*super().remarks(recipe), *idle)

    def stops(self, recipe: Recipe) -> tuple[str, ...]:
        stop = "with pad_to_multiple_of Axolotl stops at the first batch: KeyError: 'input_ids'"
        unread = recipe.batch.multiple in (None, self.usual.batch.multiple, self.multiple(recipe))
        return () if unread else (stop,)

    def multiple(self, recipe: Recipe) -> int | None:
        """What the widths of batches are multiples of."""
        return None

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        if not versions.since(recipe, (0, 21)):
            what, why = f"sftui does not model {rl_of(recipe)} before Axolotl 0.21", "its rules were others"
            raise RecipeError(what, why=why, fix="set the version to 0.21")
        columns = dict.fromkeys(str(key) for row in rows if isinstance(row.data, Mapping) for key in row.data)
        if not columns:
            return NO_ROW
        if "image" in columns or "images" in columns:
            return refusal("the dataset has images", "TRL prepares them with a processor, which sftui does not model")
        settings = settings_of(recipe)
        kind, reason = preference_type(settings.type, recipe.loss.objective), "Axolotl: the type in the config"
        if not settings.type:
            kind = self.usual_type or (DEFAULT if {settings.field_messages, "prompt"} & {*columns} else ARGILLA)
            reason = f"Axolotl never guesses: a config must set `type: {kind}`, which fits the columns"
        if kind is None:
            why = "its own code decides what is read and trained"
            return refusal(
                f"sftui does not know the Axolotl type `{settings.type}` of preferences", why, "choose another type"
            )
        fields = self.columns_of(kind, columns, recipe)
        if missing := [name for name, column in fields.items() if column not in columns]:
            fix = "rename the column, or choose another type"
            if kind in (DEFAULT, ARGILLA):
                fix = f"set {_COLUMN_KEYS[missing[0]]}, {fix}"
            elif len(PREFERENCE_TYPES[recipe.loss.objective]) == 1:  # there is no other type
                fix = f"give each row the columns {', '.join(f'`{name}`' for name in fields)}"
            why = f"type {settings.type or kind} reads it and raises KeyError"
            return refusal(f"there is no column `{fields[missing[0]]}`", why, fix)
        fields |= {"tools": "tools"} if "tools" in columns else {}
        shape = "preference" if recipe.paired else "unpaired"
        return Detection(shape, fields, dict(MESSAGE_KEYS), ROLES, f"{reason}, {kind}")

    def columns_of(self, kind: Any, columns: Mapping[str, Any], recipe: Recipe) -> dict[str, str]:
        """The columns that a type reads."""
        fields = {"prompt": settings_of(recipe).field_messages} if kind == DEFAULT else {}
        sides = {name: recipe.data.fields.get(name, name) for name in SIDES}
        return fields | sides if kind in (DEFAULT, ARGILLA) else _columns(kind, columns)

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        data: Mapping[str, Any] = row.data or {}
        named = detected.fields
        asked = named.get("prompt")
        if (kind := preference_type(settings_of(recipe).type, recipe.loss.objective)) not in (None, DEFAULT, ARGILLA):
            text, *answers = _texts(data, kind, named)
            chosen, rejected = (
                Conversation(Kind.STRINGS, "preference", prompt=text, completion=one) for one in answers
            )
            return replace(chosen, rejected=rejected)

        def listed(column: str, role: str) -> list[tuple[Any, str]]:
            value = data.get(column)
            if isinstance(value, str) and asked:
                return [({"role": role, "content": value}, column)]
            if isinstance(value, Mapping) and asked and role == "assistant":
                return [(value, column)]
            if not isinstance(value, list) or (not value and role == "assistant"):
                word = "an empty list" if value == [] else type_word(value)
                raise RecipeError(f"{STOPS}: its `{column}` is {word}", fix="fix or remove the row")
            return [(one, f"{column}[{at}]") for at, one in enumerate(value)]

        first = listed(asked, "user") if asked else listed(named["chosen"], "assistant")[:-1]
        prompt, sides = [_message(*one) for one in first], list[Conversation]()
        for side in SIDES:
            *before, answer = listed(named[side], "assistant")
            differs = before and [one for one, _ in before] != [one for one, _ in first]
            notes = (f"Axolotl reads only the last message of `{named[side]}`",) if differs else ()
            messages = (*prompt, _message(*answer))
            made = Conversation(Kind.CHAT, "preference", messages, len(prompt), notes=notes)
            sides.append(replace(made, tools=data.get("tools")))
        return replace(sides[0], rejected=sides[1])

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        if recipe.pack.strategy != "none" or recipe.batch.flatten:
            what = "`sample_packing: true` does not work with RLHF training"
            raise RecipeError(f"Axolotl stops: {what}", fix="set pack.strategy to none and batch.flatten to false")
        return ShapedRow(conversation, None, conversation.prompt_messages or 1)

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        conversation = shaped.conversation
        if conversation.kind is Kind.STRINGS:
            return _truncated(Trainer.render(self, shaped, recipe, tools, spans=spans), recipe, tools)
        template, special = template_of(conversation, recipe, tools), tools.special_tokens
        options = replace(recipe.render, kwargs={}, inject_system=None)

        def rendered(*messages: Message, n: int) -> RenderedText:
            chat = Conversation(Kind.CHAT, "preference", messages)
            render = to_render()
            return render(chat, template, special_tokens=special, options=options, prompt_messages=n, spans=spans)

        *before, answer = [Message({key: one.data[key] for key in MESSAGE_KEYS}) for one in conversation.messages]
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
        whole = replace(
            answered,
            text=prompt + text,
            spans=tuple(places) if spans else (),
            prompt=prompt,
            generation=(),
            exact=asked.exact and answered.exact and (not spans or begun > 0),
            notes=tuple(dict.fromkeys((*asked.notes, *answered.notes))),
        )
        return _truncated(whole, recipe, tools)

    def tokenize_as(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> tuple[Tokenize, str | None]:
        if tools.tokenizer.facts.eos_token is None:
            why = "TRL appends the EOS token to each answer, but the tokenizer has none"
            raise RecipeError(STOPS, why=why, fix="set special_tokens.eos_token")
        return _TEXTS, None if recipe.length.over == "cut_right" else shaped.conversation.completion

    def label_sides(self, sides: Sequence[Side], recipe: Recipe, tools: Toolbox) -> Iterator[tuple[Tokens, Labels]]:
        refuse_unpadded(tools)
        most, facts = recipe.length.max, tools.tokenizer.facts
        over = too_long(sides, recipe, tools, len(facts.front) + len(facts.back))
        for tokens, rendered, shaped in sides:
            tokens = behind_prompt(tokens)
            start = len(tokens.prompt or ())
            if over or (most is not None and start >= most):
                full = f"its prompt of {start} tokens fills sequence_len {most}: TRL silently drops the row"
                yield tokens, label_rules.dropped_labels(tokens, over or full)
                continue
            drawn = label_rules.completion(label_rules.Subject(tokens, rendered, shaped.conversation), _MASK)
            kept = ((0, min(len(tokens), most or len(tokens))),)
            yield tokens, label_rules.on_ids(tokens, drawn, kept, notes=rendered.estimated)

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        options = replace(recipe.batch, multiple=self.multiple(recipe), pad_to="longest", pad_side="right")
        return super().collate(examples, rows, replace(recipe, batch=options), tools)


class AxolotlKto(BatchPartnerTrainer, AxolotlDpo):
    """Single answers, each with whether it is desirable.

    Source: axolotl 0.21.0, prompt_strategies/kto/*.py; then trl 1.14.1, trainer/kto_trainer.py `_prepare_dataset`.
    """

    usual_type = {"field_prompt": "prompt"}

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        return MessagesTarget(self.title, other="its types under rl: kto read texts")

    def columns_of(self, kind: Any, columns: Mapping[str, Any], recipe: Recipe) -> dict[str, str]:
        label = str(kind.get("field_label") or "label") if isinstance(kind, Mapping) else "label"
        return {**_columns(kind, columns, _ANSWER), "label": label}

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        data: Mapping[str, Any] = row.data or {}
        kind = preference_type(settings_of(recipe).type, "kto") or {}
        prompt, answer = _texts(data, kind, detected.fields, _ANSWER)
        made = Conversation(Kind.STRINGS, "unpaired", prompt=prompt, completion=answer)
        return with_desirability(made, data.get(detected.fields["label"]), STOPS)

    def label(
        self, tokens: Tokens, rendered: RenderedText, shaped: ShapedRow, recipe: Recipe, tools: Toolbox
    ) -> tuple[Tokens, Labels]:
        tokens, labels = next(self.label_sides([(tokens, rendered, shaped)], recipe, tools))
        return tokens, with_verdict(labels, shaped.conversation)


class AxolotlSimpo(AxolotlDpo):
    """Pairs as TRL's ORPO and CPO trainers prepare them: BOS and EOS by their ids.

    Source: trl 1.14.1, experimental/cpo/cpo_trainer.py `tokenize_row`, which cuts both answers to what the longer
    one leaves of the limit, counted from the end where it leaves less than nothing.
    """

    def multiple(self, recipe: Recipe) -> int | None:
        return recipe.batch.multiple if recipe.batch.multiple != self.usual.batch.multiple else None

    def tokenize_as(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> tuple[Tokenize, str | None]:
        super().tokenize_as(shaped, recipe, tools)
        return _BARE, None

    def label_sides(self, sides: Sequence[Side], recipe: Recipe, tools: Toolbox) -> Iterator[tuple[Tokens, Labels]]:
        refuse_unpadded(tools)
        if over := too_long(sides, recipe, tools, 0):
            yield from ((tokens, label_rules.dropped_labels(tokens, over)) for tokens, _, _ in sides)
            return
        whole, most = list(whole_sides(sides, tools)), recipe.length.max
        longest = max(len(tokens) - start for tokens, start, _ in whole)
        for tokens, start, notes in whole:
            answer = range(start, len(tokens))
            if most is not None and start + longest > most:
                answer = answer[: most - longest]
            yield tokens, answer_labels(tokens, start, start + len(answer), notes)


class AxolotlOrpo(AxolotlSimpo):
    """Conversations of whole rounds, whose last answers are compared.

    Source: axolotl 0.21.0, prompt_strategies/orpo/chat_template.py, `argilla`.
    """

    usual_type = TURNS

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        return replace(super().messages_target(recipe), columns={name: name for name in SIDES}, single=False)

    def columns_of(self, kind: Any, columns: Mapping[str, Any], recipe: Recipe) -> dict[str, str]:
        return {name: name for name in (*SIDES, "prompt", "system") if name in SIDES or name in columns}

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        data: Mapping[str, Any] = row.data or {}
        chosen, rejected = ([*data[side]] if isinstance(data.get(side), list) else [] for side in SIDES)
        if not chosen or len(chosen) % 2 or not rejected:
            why = "`chosen` must be a list of questions and answers in turn, and `rejected` a list that ends with one"
            raise RecipeError(STOPS, why=why, fix="fix or remove the row")
        prompt = [Message({"role": "system", "content": data["system"]})] if data.get("system") else []
        for at, one in enumerate(chosen[:-1]):
            asks = at % 2 == 0
            own = {"content": data["prompt"]} if asks and "prompt" in detected.fields else one
            prompt.append(_turn("user" if asks else "assistant", own, f"chosen[{at}]"))
        sides = []
        for side, messages in zip(SIDES, (chosen, rejected)):
            last = _turn("assistant", messages[-1], f"{side}[{len(messages) - 1}]", "reasoning_content")
            notes: tuple[str, ...] = (TRAINS_PROMPT,)
            if side == "rejected" and messages[:-1] != chosen[:-1]:
                notes = (*notes, "Axolotl reads only the last message of `rejected`")
            sides.append(Conversation(Kind.CHAT, "preference", (*prompt, last), len(prompt), notes=notes))
        return replace(sides[0], rejected=sides[1])

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        made = rendered_chat(shaped.conversation, recipe, tools, spans)
        prompt = made.prompt or ""
        text = prompt + made.text[len(prompt) :]  # cut by the length alone
        return _truncated(replace(made, text=text, exact=made.exact and text == made.text), recipe, tools)


class AxolotlReward(AxolotlDpo):
    """A question and two answers as texts, each a chat of its own, scored where it ends.

    Source: axolotl 0.21.0, prompt_strategies/bradley_terry/chat_template.py, which gives the ids of the prompt and
    behind as many those of the whole chat (prompt_strategies/chat_template.py, for no roles_to_train).
    """

    usual_type = BRADLEY_TERRY

    def messages_target(self, recipe: Recipe) -> MessagesTarget:
        other = "its type under reward_model reads texts in columns of fixed names"
        return MessagesTarget(self.title, other=other, columns={name: name for name in SIDES})

    def stops(self, recipe: Recipe) -> tuple[str, ...]:
        return ()

    def columns_of(self, kind: Any, columns: Mapping[str, Any], recipe: Recipe) -> dict[str, str]:
        return {name: name for name in ("system", "input", *SIDES)}

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        data: Mapping[str, Any] = row.data or {}
        for name in detected.fields:
            if not isinstance(data.get(name), str):
                what, word = STOPS if data.get(name) is None else UNKNOWN, type_word(data.get(name))
                raise RecipeError(what, why=f"its `{name}` is {word}, not text", fix="fix or remove the row")
        dropped = AxolotlOptions.of(recipe).drop_system_message
        asked = [("user", "input")] if dropped else [("system", "system"), ("user", "input")]
        prompt = [Message({"role": role, "content": data[name]}, origin=name) for role, name in asked]
        sides = []
        for name in SIDES:
            answer = Message({"role": "assistant", "content": data[name]}, origin=name)
            sides.append(Conversation(Kind.CHAT, "preference", (*prompt, answer), len(prompt)))
        return replace(sides[0], rejected=sides[1])

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        return rendered_chat(shaped.conversation, recipe, tools, spans)

    def tokenize_as(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> tuple[Tokenize, str | None]:
        return _RENDERED, None

    def label_sides(self, sides: Sequence[Side], recipe: Recipe, tools: Toolbox) -> Iterator[tuple[Tokens, Labels]]:
        most, (pad, _) = recipe.length.max, pad_token_id(recipe, tools)
        for tokens, rendered, _ in sides:
            tokens = behind_prompt(tokens)
            yield tokens, scored(tokens, ((0, min(len(tokens), most or len(tokens))),), pad, rendered.estimated)

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        options = replace(recipe.batch, pad_side="right")
        return super(AxolotlDpo, self).collate(examples, rows, replace(recipe, batch=options), tools)


def rendered_chat(conversation: Conversation, recipe: Recipe, tools: Toolbox, spans: bool) -> RenderedText:
    """A chat by the one template that there may be, with nothing of `chat_template_kwargs`."""
    options, n = replace(recipe.render, kwargs={}, inject_system=None), conversation.prompt_messages
    template, special, render = template_of(conversation, recipe, tools), tools.special_tokens, to_render()
    return render(conversation, template, special_tokens=special, options=options, prompt_messages=n, spans=spans)


def rl_of(recipe: Recipe) -> str:
    """The key that asks for the objective, as a config has it."""
    name = recipe.loss.objective
    if name == "reward":
        return "reward_model"
    return f"rl: {'simpo' if name == 'cpo' else name}"


def too_long(sides: Sequence[Side], recipe: Recipe, tools: Toolbox, special: int) -> str:
    """Why Axolotl drops a row for its length, "" where it does not; RecipeError where it stops. `special` of the tokens
    of a prompt are special ones that are put around the text."""
    most, over = recipe.length.max, ""
    for name, (tokens, rendered, _) in zip(SIDES if len(sides) > 1 else _ANSWER, sides):
        answer = rendered.text[len(rendered.prompt or "") :]
        if not answer or not rendered.prompt:
            why = f"the text of its {name if rendered.prompt else 'prompt'} is empty"
            raise RecipeError(STOPS, why=f"{why}: Axolotl requires it", fix="drop the row")
        if most is not None:
            count = len(tokens.prompt or ()) - special + len(tools.tokenizer.flat(answer))
            over = over or f"its {name} side has {count} tokens, more than sequence_len {most}" * (count > most)
    if over and recipe.length.over == "error":
        raise RecipeError(f"{STOPS}: {over}", fix="set excess_length_strategy to drop")
    return f"{over}: Axolotl drops the row (excess_length_strategy)" if over else ""


def _truncated(rendered: RenderedText, recipe: Recipe, tools: Toolbox) -> RenderedText:
    """A text whose answer is cut and decoded to text again (utils/data/rl.py, _truncate_long_sequences_rl)."""
    prompt, most, tokenizer = rendered.prompt or "", recipe.length.max, tools.tokenizer
    if recipe.length.over != "cut_right" or most is None:
        return rendered
    answer, room = tokenizer.flat(rendered.text[len(prompt) :]), most - len(tokenizer.flat(prompt))
    if not 0 < room < len(answer):
        return rendered
    if not tokenizer.engine.decoding.byte_level:
        why = "Axolotl cuts its answer and decodes it to text again, by a decoder that sftui does not model"
        raise RecipeError(UNKNOWN, why=why, fix="set excess_length_strategy to drop")
    text = prompt + tokenizer.spelling(tuple(answer[:room])).decode("utf-8", "replace")
    at = common_prefix(text, rendered.text)
    places = [span._replace(end=min(span.end, at)) for span in rendered.spans if span.start < at]
    places += [span._replace(start=at, end=len(text)) for span in places[-1:] if len(text) > at]
    return replace(rendered, text=text, spans=tuple(places))


def _turn(role: str, message: Any, origin: str, *more: str) -> Message:
    said = {key: message.get(key) for key in ("content", *more)} if isinstance(message, Mapping) else {}
    if not isinstance(said.get("content"), str):
        raise RecipeError(f"{STOPS}: the content of {origin} is not text", fix="store it as text")
    return Message({"role": role, **{key: value for key, value in said.items() if value is not None}}, origin)


_ANSWER = ("completion",)


def _columns(kind: Any, columns: Mapping[str, Any], answers: tuple[str, ...] = SIDES) -> dict[str, str]:
    """The columns of a type that writes texts by itself: the first of those that it looks for."""
    texts = ("prompt", *answers)
    if isinstance(kind, Mapping):
        return {name: str(kind.get(f"field_{name}") or name) for name in texts}
    record = RECORD["pair columns" if answers == SIDES else "kto columns"]
    names = [names.split() for names in record[kind.partition(".")[2]]]
    return {name: next((one for one in some if one in columns), some[-1]) for name, some in zip(texts, names)}


def _texts(
    data: Mapping[str, Any], kind: Any, fields: Mapping[str, str], answers: tuple[str, ...] = SIDES
) -> list[str]:
    """Prompt and answers as such a type writes them (prompt_strategies/dpo and kto, chatml.py, llama3.py and
    user_defined.py)."""
    texts = ("prompt", *answers)
    values = [data.get(fields[name]) for name in texts]
    own = isinstance(kind, Mapping)
    family, _, way = ("", "", "") if own else kind.partition(".")
    if answers == _ANSWER and way == "argilla_chat":
        return _conversation(values[0], *RECORD["pair turns"][family])
    # of each side the second message, of the prompt the first of chosen
    if answers == SIDES and way in ("ultra", "argilla_chat"):
        places = (0 if way == "argilla_chat" else None, 1, 1)
        values = [value if at is None else _content(value, at) for value, at in zip(values, places)]
    if not all(isinstance(value, str) for value in values):
        raise RecipeError(UNKNOWN, why="its prompt or an answer is not text", fix="store them as text")
    said = dict(zip(texts, values))
    system = "" if way == "argilla_chat" else data.get(kind.get("field_system") or "system" if own else "system") or ""
    if own:
        forms = [str(kind.get(f"{name}_format") or f"{{{name}}}") for name in texts]
        if answers == _ANSWER and "{system}" in forms[0] and not system:
            raise RecipeError(f"{STOPS}: it has no system prompt, and prompt_format one", fix="add it to the row")
        return [_formatted(form, name, said[name], system) for form, name in zip(forms, texts)]
    turn, ask, end = RECORD["pair turns"][family]
    prompt = turn.format("system", system) * bool(system) + turn.format("user", said["prompt"]) + ask
    return [prompt, *(f"{said[side]}{end}" for side in answers)]


def _conversation(messages: Any, turn: str, ask: str, end: str) -> list[str]:
    """A list of messages as a prompt and the last of them, each role as it is."""
    said = [(one.get("role"), one.get("content")) for one in messages or () if isinstance(one, Mapping)]
    if not said or not all(isinstance(text, str) for one in said for text in one):
        raise RecipeError(UNKNOWN, why="its conversation is not a list of messages with text", fix="store them as text")
    return ["".join(turn.format(*one) for one in said[:-1]) + ask, f"{said[-1][1]}{end}"]


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


def _message(value: Any, origin: str) -> Message:
    """A message, whose other keys stay, though Axolotl drops them."""
    role, content = (value.get(key) if isinstance(value, Mapping) else None for key in MESSAGE_KEYS)
    if not isinstance(role, str) or role not in ROLES:
        what = f"the role of {origin} is {type_word(role)}" if not isinstance(role, str) else f"no role is `{role}`"
        raise RecipeError(f"{STOPS}: {what}, KeyError", fix="rename it to user, assistant, system or tool")
    if not isinstance(content, str):
        raise RecipeError(UNKNOWN, why=f"the content of {origin} is {type_word(content)}", fix="store it as text")
    return Message({**value, "role": role, "content": content}, origin)
