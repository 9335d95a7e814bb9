"""What every check may use, and what it may remember between rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sftui.conversations import Detection
from sftui.errors import SftuiError
from sftui.model import common_prefix
from sftui.recipe import Recipe
from sftui.tokens.facts import TokenizerFacts
from sftui.trainers import Toolbox, Traits, trainer_of, traits_of

if TYPE_CHECKING:
    from sftui.templates import ChatTemplate

T = TypeVar("T")
FIRST_USER, FIRST_ANSWER = "sftuiQuestion7", "sftuiAnswer7"
MOST_REMEMBERED = 5_000
"""Results kept at a time: a hostile set has a new order of roles in every row."""
LARGEST = 4 << 20
"""Bytes of a config file that are read; the real ones have a few thousand."""
NOON = datetime(2026, 1, 2, 12)

_PLAIN = ({"role": "user", "content": FIRST_USER}, {"role": "assistant", "content": FIRST_ANSWER})
_NAMED_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token")


@dataclass(frozen=True)
class Context:
    """The recipe and the loaded things it names.

    `generation_config` and `model_config` are the parsed JSON files of the model's folder, None where it has
    none: checks that need them then say nothing. `step_rows` are the rows of an optimizer step, None where no opened
    config says it. `memo` holds what was worked out for a role signature or the
    template; it belongs to this context and its recipe.
    """

    recipe: Recipe
    facts: TokenizerFacts
    template: ChatTemplate | None
    detected: Detection
    tools: Toolbox
    generation_config: Mapping[str, Any] | None = None
    model_config: Mapping[str, Any] | None = None
    step_rows: int | None = None
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def traits(self) -> Traits:
        """What the trainer declares of itself."""
        return traits_of(self.recipe.preset)

    @classmethod
    def of(cls, recipe: Recipe, detected: Detection, tools: Toolbox) -> Context:
        """The context of a recipe and its loaded tools, with the configs of the model where the tokenizer's folder has
        them."""
        from sftui.tokens.loading.locate import locate

        try:
            folder = locate(recipe.tokenizer.name or "", recipe.tokenizer.revision).folder
        except SftuiError:
            folder = None
        names = ("generation_config.json", "config.json")
        generation, model = (None if folder is None else _config(folder / name) for name in names)
        default = tools.templates.get("default")
        return cls(recipe, tools.tokenizer.facts, default, detected, tools, generation, model)

    def once(self, key: Any, work: Callable[[], T]) -> T:
        """The result of `work`, done the first time `key` is requested; old results are forgotten when there are
        many."""
        if key not in self.memo:
            found = work()
            if len(self.memo) >= MOST_REMEMBERED:
                self.memo.clear()
            self.memo[key] = found
        known: T = self.memo[key]
        return known

    @property
    def trainer(self) -> str:
        """The trainer's name without its version."""
        return self.recipe.trainer

    @property
    def variables(self) -> dict[str, Any]:
        """What a template is given next to the messages."""
        return {**self.tools.special_tokens, **self.template_kwargs}

    @property
    def template_kwargs(self) -> Mapping[str, Any]:
        """Its variables but for special tokens: those of the recipe, and what the trainer hands over by itself."""
        return trainer_of(self.recipe).render_options(self.recipe, self.tools.tokenizer).kwargs

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        prompt: bool = False,
        tools: Any = None,
        extra: Mapping[str, Any] | None = None,
        now: datetime = NOON,
    ) -> str | None:
        """A synthetic conversation through the template; None without a template or where it refuses.

        Trainers that fill slots of their own and never run a chat template give None too.
        """
        if self.template is None or not self.traits.renders_templates:
            return None
        try:
            return self.template.text(
                messages,
                tools=tools,
                add_generation_prompt=prompt,
                variables={**self.variables, **(extra or {})},
                now=now,
            )[0]
        except SftuiError:
            return None

    def ids(self, text: str) -> tuple[int, ...]:
        """The ids of a rendered text as the recipe tokenizes it, without anything appended."""
        try:
            return tuple(self.tools.tokenizer.encode(text, self.recipe.tokenize.add_special_tokens).ids)
        except SftuiError:
            return ()

    @cached_property
    def plain(self) -> str | None:
        """A two-message conversation rendered, from which tails and headers are read."""
        return self.render(_PLAIN)

    @cached_property
    def lacking(self) -> tuple[str, ...]:
        """The special tokens that the tokenizer does not have and without which the template fails on every chat."""
        source = self.template.source if self.template is not None else ""
        missing = [name for name in _NAMED_TOKENS if name in source and not self.variables.get(name)]
        if not missing or self.plain is not None or self.render(_PLAIN, extra=dict.fromkeys(missing, "")) is None:
            return ()
        others = {name: {other: "" for other in missing if other != name} for name in missing}
        return tuple(name for name, extra in others.items() if self.render(_PLAIN, extra=extra) is None)

    @cached_property
    def turn_end(self) -> int | None:
        """The id of the special token that the template writes after an answer, or None."""
        if not self.plain or FIRST_ANSWER not in self.plain:
            return None
        tail = self.plain.rpartition(FIRST_ANSWER)[2]
        tokenizer = self.tools.tokenizer
        return next((i for i in tokenizer.encode(tail).ids if tokenizer.is_special(i)), None) if tail.strip() else None

    @cached_property
    def _asked(self) -> tuple[str, str] | None:
        """A question as the template renders it, without and with the generation prompt; None where it does not."""
        whole, prompt = self.render(_PLAIN[:1]), self.render(_PLAIN[:1], prompt=True)
        return None if whole is None or prompt is None else (whole, prompt)

    @cached_property
    def opening(self) -> frozenset[int]:
        """The special tokens with which the template begins an answer: they may follow an answer, and end none."""
        if self._asked is None:
            return frozenset()
        tokenizer = self.tools.tokenizer
        before, after = (
            {token for token in tokenizer.encode(text.rpartition(FIRST_USER)[2]).ids if tokenizer.is_special(token)}
            for text in self._asked
        )
        return frozenset(after - before)

    @cached_property
    def header(self) -> str:
        """What the template begins an answer with, without white space around; "" where no special token is in it."""
        if self._asked is None or not self.opening:
            return ""
        whole, prompt = self._asked
        return prompt[common_prefix(whole, prompt) :].strip()

    @property
    def generation_stops(self) -> frozenset[int]:
        """The ids that generation_config.json stops on; empty without the file."""
        return _ids((self.generation_config or {}).get("eos_token_id"))

    @property
    def config_stops(self) -> frozenset[int]:
        """The ids that config.json names, from which transformers takes the stops of a model without
        generation_config.json."""
        return _ids(self._of_model("eos_token_id"))

    @cached_property
    def stops(self) -> frozenset[int]:
        """P5 of the catalogue: the tokenizer's EOS, generation_config's, and the template's turn end."""
        return _ids([self.facts.eos_id, self.turn_end, *self.generation_stops])

    @property
    def model_rows(self) -> int | None:
        """How many rows the model's embedding has, by config.json; None where that is not known."""
        value = self._of_model("vocab_size")
        return value if type(value) is int and value > 0 else None

    def _of_model(self, key: str) -> Any:
        """What config.json says, of its text model where it has one and does not say it itself."""
        config = self.model_config or {}
        text = config.get("text_config")
        return config.get(key, text.get(key) if isinstance(text, Mapping) else None)


def _config(path: Path) -> Mapping[str, Any] | None:
    """A JSON object; None where the file is not there or holds none: the checks then abstain."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _ids(value: Any) -> frozenset[int]:
    """One id or several, as the configs of models hold them."""
    return frozenset(one for one in (value if isinstance(value, (list, tuple)) else [value]) if type(one) is int)
