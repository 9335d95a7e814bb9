"""Labels of a row of type chat_template, turn by turn, and the terminators after each turn.

Source: axolotl 0.19.0, prompt_strategies/chat_template.py (_tokenize_single_prompt,
_validate_eot_and_eos_tokens, find_first_eos_token, find_first_eot_token).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from sftui.errors import RecipeError
from sftui.model import NOWHERE, Part, Reason
from sftui.runs import Runs, as_runs, joined, together
from sftui.tokens import LoadedTokenizer
from sftui.trainers.axolotl.details import trained_tokens
from sftui.trainers.axolotl.locate import NOT_FOUND, Locator
from sftui.trainers.axolotl.settings import Settings

NEAR = 3
"""A terminator counts as a turn's own when it is at most so many tokens behind its content."""


@dataclass(slots=True)
class _Mask:
    """The row's flags while they are drawn; a reason of None is filled in at the end."""

    flags: list[bool]
    reasons: list[Reason | None]
    notes: list[str] = field(default_factory=list)

    def train(self, index: int, reason: Reason) -> None:
        self.flags[index] = True
        self.reasons[index] = reason

    def leave(self, index: int, reason: Reason) -> None:
        if not self.flags[index] and self.reasons[index] is None:
            self.reasons[index] = reason


def draw(locator: Locator, settings: Settings) -> tuple[Runs[bool], Runs[Reason], tuple[str, ...]]:
    """A flag and a reason per token, and what Axolotl would warn of; RecipeError where it refuses."""
    ids = locator.tokens.input_ids
    mask = _Mask([False] * len(ids), [None] * len(ids))
    eot_ids = eot_token_ids(locator.tokenizer, settings, locator.template.source, mask.notes)
    eos_id = locator.tokenizer.facts.eos_id
    kinds: Sequence[tuple[Collection[int], str]] = (
        (eot_ids, settings.train_on_eot),
        (() if eos_id is None else (eos_id,), settings.train_on_eos),
    )
    places = [[place for place, token in enumerate(ids) if token in tokens] for tokens, _ in kinds]
    last = [-1, -1]
    by_flag: dict[int, bool] = {}
    for index, turn in enumerate(locator.turns):
        wanted, flagged = _wanted(turn, settings)
        if flagged:
            by_flag[index] = wanted
        if not wanted and "all" not in (settings.train_on_eos, settings.train_on_eot):
            if index == len(locator.turns) - 1:
                mask.notes.append("the last turn is not trained, which Axolotl warns of")
            continue
        end = _train_turn(locator, index, wanted, flagged, mask)
        for kind, (_, option) in enumerate(kinds):
            found = _first(places[kind], end, len(ids))
            if found == -1 or abs(found - end) > NEAR:
                continue
            last[kind] = found
            if option == "all" or (option == "turn" and wanted):
                mask.train(found, Reason.TERMINATOR)
            else:
                mask.leave(found, Reason.TERMINATOR_OFF)
    for place, (_, option) in zip(last, kinds):
        if option == "last" and place != -1:
            mask.train(place, Reason.TERMINATOR)
    return as_runs(mask.flags), _reasons(mask, locator, settings, by_flag), tuple(mask.notes)


def _wanted(turn: object, settings: Settings) -> tuple[bool, bool]:
    """Whether a turn is trained, and whether its own flag or detail says so rather than its role."""
    assert hasattr(turn, "get")
    stated = turn.get("training")
    if stated is not None:
        return bool(stated), True
    details = turn.get("training_detail"), turn.get("reasoning_training_detail")
    if any(detail is not None for detail in details):
        return any(map(bool, details)), True
    return settings.train_on_inputs or turn.get("role") in settings.roles_to_train, False


def _train_turn(locator: Locator, index: int, wanted: bool, flagged: bool, mask: _Mask) -> int:
    """Train a turn's content, and say where it ends; -1 where Axolotl does not find it."""
    turn = locator.turns[index]
    detail, reasoning_detail = turn.get("training_detail"), turn.get("reasoning_training_detail")
    reasons = turn.get(locator.thinking_key) is not None
    start, end = locator.find(index, content_only=bool((detail or reasoning_detail) and reasons))
    if wanted and (start, end) == NOT_FOUND:
        mask.notes.append(f"Axolotl finds no content in message {index} and trains none of it")
    reason = Reason.FLAG if flagged else Reason.ASSISTANT
    if wanted and start != -1:
        if detail:
            _train_parts(mask, turn.get("content"), "content", detail, start, locator)
        elif not reasoning_detail:
            for place in range(start, min(end, len(mask.flags))):
                mask.train(place, reason)
    if wanted and reasoning_detail and reasons:
        first, _ = locator.find(index, reasoning_only=True)
        if first != -1:
            _train_parts(mask, turn[locator.thinking_key], locator.thinking_key, reasoning_detail, first, locator)
    return end


def _train_parts(mask: _Mask, text: object, name: str, detail: object, start: int, locator: Locator) -> None:
    if not isinstance(text, str):
        raise RecipeError("Axolotl stops the whole run at this row", why=f"a training detail needs `{name}` to be text")
    for offset, on in enumerate(trained_tokens(text, detail, locator.tokenizer)):
        if start + offset >= len(mask.flags):
            break
        if on:
            mask.train(start + offset, Reason.FLAG)
        else:
            mask.leave(start + offset, Reason.FLAG_OFF)


def eot_token_ids(tokenizer: LoadedTokenizer, settings: Settings, template: str, notes: list[str]) -> frozenset[int]:
    """The ids that end a turn; RecipeError for eot_tokens that Axolotl refuses at the start."""
    eos = tokenizer.facts.eos_token
    tokens = settings.eot_tokens if settings.eot_tokens is not None else () if eos is None else (eos,)
    if eos is not None and tokens == (eos,):
        if eos not in template and "eos_token" not in template:
            notes.append(
                f"EOS {eos} is not in the chat template: the turn's terminator is not trained (set eot_tokens)"
            )
    else:
        for token in tokens:
            if token not in template:
                notes.append(f"EOT {token} is not in the chat template")
        tokens = tuple(token for token in tokens if token in template)
        for token in tokens:
            if len(tokenizer.encode(token)) != 1:
                raise RecipeError(
                    f"Axolotl refuses the EOT token `{token}`",
                    why="the tokenizer cuts it into several tokens",
                    fix="add it under tokens, or choose another",
                )
        if eos in tokens and settings.train_on_eos != settings.train_on_eot:
            raise RecipeError(
                "Axolotl refuses to train: train_on_eos and train_on_eot differ",
                why="eos_token is one of eot_tokens",
                fix="set both to the same value",
            )
    encoded = (tokenizer.encode(token).ids for token in tokens)
    return frozenset(ids[0] for ids in encoded if len(ids) == 1)


def _first(places: Sequence[int], start: int, size: int) -> int:
    """The first of the places, in order, at or after `start`; from -1 on, Python's last position is looked at first."""
    if start == -1 and places and places[-1] == size - 1:
        return -1
    at = bisect_left(places, start)
    return places[at] if at < len(places) else -1


def _reasons(mask: _Mask, locator: Locator, settings: Settings, by_flag: dict[int, bool]) -> Runs[Reason]:
    found: list[tuple[int, Reason]] = []
    for start, end, owner, part in together(locator.tokens.messages, locator.tokens.parts):
        masked = _masked_because(owner, part, locator, settings, by_flag)
        found += ((1, reason or masked) for reason in mask.reasons[start:end])
    return joined(found)


def _masked_because(owner: int, part: Part, locator: Locator, settings: Settings, by_flag: dict[int, bool]) -> Reason:
    if part is Part.HEADER:
        return Reason.HEADER
    if owner == NOWHERE or owner >= len(locator.turns):
        return Reason.PROMPT
    trained = by_flag.get(owner)
    if trained is False:
        return Reason.FLAG_OFF
    if trained is None and not (
        settings.train_on_inputs or locator.turns[owner].get("role") in settings.roles_to_train
    ):
        return Reason.ROLE
    return {Part.TERMINATOR: Reason.TERMINATOR_OFF, Part.SEPARATOR: Reason.TRAILING}.get(part, Reason.BOUNDARY)
