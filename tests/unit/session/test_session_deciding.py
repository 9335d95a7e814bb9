"""What is offered against a token's label turns that label over, under every trainer; where nothing is offered, no
choice of the trainer's would."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from facts import CHAT, FLAGGED, STORED, turns
from trainers import having, module_of

from sftui.errors import SftuiError
from sftui.model import IGNORE_INDEX, Inspection, Reason
from sftui.recipe import Recipe, changed, get, knobs_of
from sftui.session import deciding
from sftui.session.checking import result_of
from sftui.session.comparing import RecipeComparison
from sftui.session.deciding import Decision, decide
from sftui.session.opened import OpenData
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, open_data, tokenized, under
from sftui.session.trial import with_cures
from sftui.trainers import preset, trainer_named, trainer_names
from sftui.trainers.own_config import choices_of, losses_of
from sftui.views.knobs import LabelFlip
from sftui.views.words import FACTS, REASONS

SETUPS: tuple[tuple[str, str, Mapping[str, Any], Mapping[str, Any]], ...] = (
    *((trainer, *setup) for trainer in having("facts") for setup in module_of(trainer, "facts").FACTS.deciding),
    ("hf-trainer", "builtin:chatml", CHAT, {}),
    ("hf-trainer", "builtin:chatml", CHAT, {"mask.rule": "assistant", "mask.turns": "last", "mask.terminator": "mask"}),
    (
        "hf-trainer",
        "builtin:chatml",
        FLAGGED,
        {"mask.rule": "assistant", "loss.weights": "float", "data.message_keys": {"weight": "weight"}},
    ),
    ("hf-trainer", "builtin:chatml", STORED, {"mask.rule": "given"}),
    ("hf-trainer", "builtin:chatml", CHAT, {"mask.trailing": "mask", "length.max": 30}),
    ("manual-shift", "builtin:llama3", CHAT, {}),
)
MUST_BE_SEEN = {
    Reason.ASSISTANT, Reason.APPENDED, Reason.COMPLETION, Reason.EARLIER, Reason.FLAG, Reason.FLAG_OFF, Reason.FORCED,
    Reason.GIVEN, Reason.GIVEN_MASKED, Reason.HEADER, Reason.PROMPT, Reason.ROLE, Reason.TERMINATOR,
    Reason.TERMINATOR_OFF, Reason.TRAILING, Reason.WEIGHT, Reason.WHOLE,
}  # fmt: skip


def opened(recipe: Recipe, data: Path) -> Ready:
    return tokenized(open_data(OpenOptions((str(data),), recipe=recipe)), "provisional").ready()


def recipe_of(name: str, tokenizer: str, knobs: Mapping[str, Any]) -> Recipe:
    recipe = changed(preset(name), "tokenizer.name", tokenizer)
    for path, value in knobs.items():
        recipe = changed(recipe, path, value)
    return recipe


@pytest.fixture(autouse=True)
def opened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a session becomes under another recipe is the same for each token."""
    known = dict[tuple[int, str], tuple[Ready, OpenData]]()

    def once(session: Ready, recipe: Recipe) -> OpenData:
        key = id(session), repr(recipe)
        if key not in known:
            known[key] = session, under(session, recipe)
        return known[key][1]

    monkeypatch.setattr(deciding, "under", once)


def decided(session: Ready, token: int, row: int = 0) -> Decision:
    found = result_of(decide(session, row, token))
    assert found is not None
    return found


def one_of_each(now: Inspection) -> Sequence[int]:
    """The first token of each reason in each message."""
    assert now.tokens is not None and now.labels is not None
    found: dict[tuple[Reason, int], int] = {}
    for token, (reason, message) in enumerate(zip(now.labels.reasons, now.tokens.messages)):
        found.setdefault((reason, message), token)
    return tuple(found.values())


def trains(now: Inspection, token: int) -> bool:
    """Told by what reaches the trainer, apart from what `decide` asks."""
    assert now.labels is not None
    if now.example is None:
        return False
    unpredicted = now.example.shifted and now.labels.kept and token == now.labels.kept[0][0]
    inside = any(start <= token < end for start, end in now.labels.kept)
    return inside and not unpredicted and now.labels.counted[token] != IGNORE_INDEX


def written(data: Path, row: Mapping[str, Any]) -> Path:
    data.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return data


@pytest.mark.one_of(6)
@pytest.mark.parametrize("setup", SETUPS, ids=lambda one: f"{one[0]}-{'-'.join(one[2])[:20]}-{len(one[3])}")
def test_what_is_offered_turns_the_label_over(setup: tuple[Any, ...], tmp_path: Path) -> None:
    name, tokenizer, row, knobs = setup
    data, recipe = written(tmp_path / "row.jsonl", row), recipe_of(name, tokenizer, knobs)
    session = opened(recipe, data)
    now, trainer = session.inspect(0), trainer_named(recipe.preset)
    assert now.labels is not None, now.problem
    for token in one_of_each(now):
        found = decided(session, token)
        for way in found.ways:
            other = recipe
            for change in way.changes:
                other = changed(other, change.path, change.after)
            then = opened(other, data).inspect(0)
            assert then.tokens is not None and then.tokens.input_ids == now.tokens.input_ids  # type: ignore[union-attr]
            assert trains(then, token) != trains(now, token), way.changes
            assert set(losses_of(other)) <= set(losses_of(recipe))
            assert way.keys or not trainer.traits.config, way.changes
        if not found.ways:
            assert_no_choice_does(session, now, token)


def assert_no_choice_does(session: Ready, now: Inspection, token: int) -> None:
    """No choice of one knob of the mask turns the label over, but where nothing is left that is trained."""
    for info in knobs_of(session.recipe):
        for choice in choices_of(session.recipe, info) if info.path.startswith("mask.") else ():
            if choice == get(session.recipe, info.path):
                continue
            try:
                then = under(session, changed(session.recipe, info.path, choice)).ready().inspect(0)
            except SftuiError:
                continue
            if then.example is not None and then.tokens.input_ids == now.tokens.input_ids:  # type: ignore[union-attr]
                assert trains(then, token) == trains(now, token) or not then.trained, (info.path, choice)


def test_the_setups_show_most_reasons_and_each_reason_has_its_fact(tmp_path: Path) -> None:
    seen: set[Reason] = set()
    cut = False
    for number, (name, tokenizer, row, knobs) in enumerate(SETUPS):
        data = written(tmp_path / f"{number}.jsonl", row)
        labels = opened(recipe_of(name, tokenizer, knobs), data).inspect(0).labels
        assert labels is not None
        seen |= set(labels.reasons)
        cut |= labels.dropped is None and labels.kept[-1][1] < len(labels.labels)
    assert cut and seen >= MUST_BE_SEEN, MUST_BE_SEEN - seen
    assert set(FACTS) == set(REASONS) == set(Reason)


def test_every_trainer_is_among_the_setups() -> None:
    assert {name for name, *_ in SETUPS} == set(trainer_names())


def test_the_smallest_change_comes_first_and_none_says_the_same_twice(tmp_path: Path) -> None:
    session = opened(recipe_of("hf-trainer", "builtin:chatml", {}), written(tmp_path / "row.jsonl", CHAT))
    now = session.inspect(0)
    assert now.labels is not None and now.tokens is not None
    earlier = next(
        k for k, message in enumerate(now.tokens.messages) if message == 2 and now.tokens.parts[k] == "content"
    )
    found = decided(session, earlier).ways
    assert [one.tokens for one in found] == sorted(one.tokens for one in found)
    assert found[0].changes[0].after == "assistant" and found[0].tokens < found[-1].tokens


FOREIGN_MARKERS = {
    f"mask.{name}_marker": f"<|start_header_id|>{name}<|end_header_id|>" for name in ("instruction", "response")
}


def test_markers_that_the_template_lacks_are_left_to_the_trainer(tmp_path: Path) -> None:
    knobs = {"mask.rule": "markers", **FOREIGN_MARKERS}
    session = opened(recipe_of("unsloth", "builtin:chatml", knobs), written(tmp_path / "row.jsonl", CHAT))
    now = session.inspect(0)
    assert now.tokens is not None and now.dropped is not None
    answer = next(k for k, part in enumerate(now.tokens.parts) if now.tokens.messages[k] == 2 and part == "content")
    assert [{change.path: change.after for change in way.changes} for way in decided(session, answer).ways] == [
        dict.fromkeys(sorted(FOREIGN_MARKERS))
    ]
    cured = [result_of(with_cures(session, one)) for one in session.found(now) if one.code == "BND004"]
    assert [
        [change.path for change in one.fix.changes] for one in cured if one is not None and one.fix is not None
    ] == [sorted(FOREIGN_MARKERS)]


def test_a_row_that_cannot_be_prepared_says_why(tmp_path: Path) -> None:
    session = opened(recipe_of("trl", "builtin:llama3", {}), written(tmp_path / "row.jsonl", CHAT))
    found = decided(session, 5)
    assert not found.ways and dict(found.failing)["generation_tag"].startswith("TRL rejects assistant_only_loss")


def test_no_way_masks_all_there_is(tmp_path: Path) -> None:
    row = {"messages": turns(("user", "Hi"), ("assistant", "Hello."))}
    session = opened(recipe_of("axolotl", "builtin:chatml", {}), written(tmp_path / "row.jsonl", row))
    now = session.inspect(0)
    assert now.labels is not None
    answer = next(k for k, reason in enumerate(now.labels.reasons) if reason is Reason.ASSISTANT)
    ways: tuple[LabelFlip, ...] = decided(session, answer).ways
    assert not any(one.changes[0].path == "mask.roles" for one in ways)


def longer(value: Any) -> Any:
    """The same row with each text three times as long."""
    if isinstance(value, dict):
        return {key: one if key in ("role", "from") else longer(one) for key, one in value.items()}
    if isinstance(value, list):
        return value * 3 if all(type(one) is int for one in value) else [longer(one) for one in value]
    return " ".join([value] * 3) if isinstance(value, str) else value


def counted(one: Ready, other: Ready, rows: int) -> tuple[list[int], int]:
    """Of each row how many tokens are trained otherwise, told apart from what counts it for the card: of one that only
    the other takes, cut to its length, all that it trains."""
    found = []
    for index in range(rows):
        now, then = one.inspect(index), other.inspect(index)
        if now.tokens is None or then.tokens is None or now.tokens.input_ids != then.tokens.input_ids:
            longer_now = one.recipe.length.max != other.recipe.length.max
            assert not now.trained and (longer_now or not then.trained), "the other rows keep their ids too"
            found.append(then.trained)
            continue
        known = now.labels is not None and then.labels is not None
        places = range(len(now.tokens)) if known else ()
        found.append(sum((trains(now, i), weight(now, i)) != (trains(then, i), weight(then, i)) for i in places))
    return found, sum(map(bool, found))


def weight(now: Inspection, token: int) -> float:
    weights = now.labels.weights if now.labels is not None else None
    return float(weights[token]) if weights is not None and trains(now, token) else 1.0


NO_WAY = {
    ("trl", "messages"), ("trl", "text"), ("llamafactory-v1", "instruction"), ("mlx-lm", "text"), ("verl", "messages"),
    ("hf-trainer", "input_ids"),
}  # fmt: skip
"""Set-ups in which no setting of the trainer turns a label over."""


@pytest.mark.one_of(8)
@pytest.mark.parametrize("shape", ["whole", "cut", "cut to nothing", "packed"])
@pytest.mark.parametrize("setup", SETUPS, ids=lambda one: f"{one[0]}-{'-'.join(one[2])[:20]}-{len(one[3])}")
def test_what_the_card_says_is_what_t_then_does(setup: tuple[Any, ...], shape: str, tmp_path: Path) -> None:
    """In the row and over the dataset, also where rows are cut, dropped for it, or packed."""
    name, tokenizer, row, knobs = setup
    recipe, data = recipe_of(name, tokenizer, knobs), tmp_path / "rows.jsonl"
    rows = [row, longer(row), row, longer(longer(row))]
    data.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    if shape.startswith("cut"):
        length = len(opened(recipe, data).inspect(1).tokens or ())
        recipe = changed(recipe, "length.max", max(2, length * 2 // 3 if shape == "cut" else length // 4))
    if shape == "packed":
        info = next(one for one in knobs_of(recipe) if one.path == "pack.strategy")
        packings = [one for one in choices_of(recipe, info) if one != "none"]
        if not packings:
            pytest.skip(f"{name} packs nothing")
        recipe = changed(recipe, "pack.strategy", packings[0])
    try:
        session = opened(recipe, data)
    except SftuiError as error:
        pytest.skip(str(error))
    seen = 0
    for index in range(2):
        now = session.inspect(index)
        if now.labels is None or now.tokens is None:
            continue
        for token in one_of_each(now):
            found = decided(session, token, index)
            if not found.ways:
                continue
            way = found.ways[0]
            comparing = RecipeComparison([session, opened(way.recipe, data)])
            *_, count = comparing.count(comparing.rows())
            tokens, changing = counted(session, comparing.sessions[1], len(rows))
            assert (way.tokens, count.turned, count.turned_rows) == (tokens[index], sum(tokens), changing), way.changes
            seen += 1
    assert seen or shape != "whole" or (name, next(iter(row))) in NO_WAY, "a way was held"
