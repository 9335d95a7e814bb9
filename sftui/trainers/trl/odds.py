"""TRL's ORPOTrainer and CPOTrainer (SimPO), both experimental: pairs as texts, whatever they were.

Source: trl 1.16.0, trl/experimental/orpo/orpo_trainer.py and cpo/cpo_trainer.py `tokenize_row`, experimental/utils.py
add_bos_token_if_needed and add_eos_token_if_needed, and trl/data_utils.py `apply_chat_template`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sftui import labels as label_rules
from sftui.conversations import Detection
from sftui.errors import RecipeError
from sftui.model import Conversation, Kind, Labels, Reason, RenderedText, Row, Tokens, common_prefix
from sftui.recipe import Recipe, Tokenize
from sftui.runs import flat
from sftui.trainers import versions
from sftui.trainers.base import ShapedRow, Toolbox
from sftui.trainers.pairs import Side
from sftui.trainers.remembering import last_asked
from sftui.trainers.trl.formats import is_messages
from sftui.trainers.trl.preference import TrlDpo, with_ids
from sftui.trainers.trl.trainer import STOPS, UNKNOWN

USUAL_LENGTH = 512
"""The limit where max_length is null."""
NO_TOOLS = "TRL does not pass the tools to the chat template here"
TRAINS_PROMPT = "ORPO's NLL term trains the prompt of the chosen side, too"


class TrlOdds(TrlDpo):
    """Each side by itself: its prompt's ids and what is behind them, with BOS and EOS where they are missing."""

    needs_pad = True

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        if not versions.since(recipe, (1, 15)):
            refused = f"sftui does not model {recipe.loss.objective.upper()} before TRL 1.15"
            raise RecipeError(refused, why="it cut the answers by another rule", fix="set the version to 1.16")
        return super().detect(rows, recipe)

    def convert(self, row: Row, detected: Detection, recipe: Recipe) -> Conversation:
        data: Mapping[str, object] = row.data or {}
        if "prompt" in detected.fields and is_messages(data.get("chosen")) and not is_messages(data.get("prompt")):
            fields = {ours: theirs for ours, theirs in detected.fields.items() if ours != "prompt"}
            detected = replace(detected, fields=fields)  # the prompt is taken from both sides (`maybe_extract_prompt`)
        return super().convert(row, detected, recipe)

    def shape(self, conversation: Conversation, recipe: Recipe) -> ShapedRow:
        if recipe.length.over != "cut_right":
            raise RecipeError(
                f"{recipe.loss.objective.upper()} cuts the end of answers", fix="set length.over to cut_right"
            )
        count = conversation.prompt_messages
        last = conversation.messages[count - 1].role if conversation.kind is Kind.CHAT and count else "user"
        if last not in ("user", "tool", "assistant"):
            raise RecipeError(f"{STOPS}: its prompt ends with a message from `{last}`", fix="end it with a question")
        if conversation.tools is not None:
            conversation = replace(conversation, tools=None, notes=(*conversation.notes, NO_TOOLS))
        if recipe.loss.objective == "orpo":
            conversation = replace(conversation, notes=(*conversation.notes, TRAINS_PROMPT))
        return super().shape(conversation, recipe)

    def render(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox, *, spans: bool = True) -> RenderedText:
        rendered, count = super().render(shaped, recipe, tools, spans=spans), shaped.prompt_messages
        conversation, prompt = shaped.conversation, rendered.prompt
        if conversation.kind is not Kind.CHAT or prompt is None or count is None:
            return rendered
        if conversation.messages[count - 1].role == "assistant":
            asked = _continued(conversation, count)
            prompt = _up_to_tag(super().render(ShapedRow(asked), recipe, tools, spans=False).text)
        return replace(rendered, prompt=rendered.text[: common_prefix(prompt, rendered.text)])

    def tokenize_as(self, shaped: ShapedRow, recipe: Recipe, tools: Toolbox) -> tuple[Tokenize, str | None]:
        return bare(recipe.tokenize), None

    def label_sides(self, sides: Sequence[Side], recipe: Recipe, tools: Toolbox) -> Iterator[tuple[Tokens, Labels]]:
        if self.needs_pad and tools.tokenizer.facts.pad_token is None:
            why = "its collator pads with the pad token, and the tokenizer has none"
            raise RecipeError("TRL stops at the first batch", why=why, fix="set the tokenizer's pad token")
        most = recipe.length.max or USUAL_LENGTH
        for tokens, start, notes in whole_sides(sides, tools):
            yield tokens, answer_labels(tokens, start, max(start, most), notes)


def whole_sides(sides: Sequence[Side], tools: Toolbox) -> Iterator[tuple[Tokens, int, tuple[str, ...]]]:
    """Each side with its BOS and EOS, before any cut, where its answer begins, and notes; RecipeError where the prompts
    of the two sides part."""
    facts = tools.tokenizer.facts
    shared = min([rendered.prompt or "" for _, rendered, _ in sides], key=len)  # both begin the same text
    starts: list[int] = []
    for tokens, rendered, _ in sides:
        prompt = tools.tokenizer.ids(shared) if rendered.prompt != shared else tokens.prompt_ids or ()
        start, whole = len(prompt), tokens.input_ids
        starts.append(start - (tuple(prompt) != whole[:start]))
        if start >= len(tokens) and start > len(tools.tokenizer.ids(rendered.text)):  # before EOS is appended
            why = "its prompt has more ids than prompt and answer together"
            raise RecipeError(STOPS, why=why, fix="drop the row")
    heads = [tokens.input_ids[:start] for (tokens, _, _), start in zip(sides, starts)]
    if sum(a != b for a, b in zip(*heads)) > 1 or abs(starts[0] - starts[1]) > 1:
        why = "the prompts of its two sides differ in more than one token"
        raise RecipeError(STOPS, why=why, fix="use another chat template, or drop the row")
    for (tokens, rendered, _), start in zip(sides, starts):
        if facts.bos_id is not None and (not start or tokens.ids[0] != facts.bos_id):
            tokens, start = with_ids(tokens, 0, 0, (facts.bos_id,)), start + 1
            tokens = replace(tokens, prompt=None if tokens.prompt is None else flat((facts.bos_id, *tokens.prompt)))
        if start == len(tokens) and facts.eos_id is not None:  # an empty answer, behind a prompt that ends with EOS
            tokens = with_ids(tokens, start, start, (facts.eos_id,))
        yield tokens, start, rendered.estimated


def answer_labels(tokens: Tokens, start: int, end: int, notes: tuple[str, ...]) -> Labels:
    """The answer trained, of what is kept up to `end`."""
    parts = [(start, (False, Reason.PROMPT)), (len(tokens) - start, (True, Reason.COMPLETION))]
    return label_rules.on_ids(tokens, label_rules.drawn(parts), ((0, min(len(tokens), end)),), notes=notes)


_TAG = "CONTINUE_FINAL_MESSAGE_TAG "


def _continued(conversation: Conversation, count: int) -> Conversation:
    """The prompt, a tag where its last message ends: how transformers finds where the answer goes on with it
    (transformers 5.24.0, utils/chat_template_utils.py, continue_final_message)."""
    *before, last = conversation.messages[:count]
    if not isinstance(last.content, str):
        why = "its prompt ends with an assistant message whose content is not text"
        raise RecipeError(UNKNOWN, why=why, fix="move the message into both answers")
    return conversation.with_messages((*before, replace(last, data={**last.data, "content": last.content + _TAG})))


def _up_to_tag(text: str) -> str:
    if _TAG.strip() not in text:
        why = "its prompt ends with an assistant message that the chat template does not write"
        raise RecipeError(STOPS, why=why, fix="move the message into both answers")
    at = text.rindex(_TAG.strip())
    return text[:at] if text[at : at + len(_TAG)] == _TAG else text[:at].rstrip()


@last_asked
def bare(options: Tokenize) -> Tokenize:
    """Without special tokens, and an EOS behind where the last id is none."""
    return replace(options, add_special_tokens=False, append_eos="if_missing_ids")
