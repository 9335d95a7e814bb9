"""Why two sides of a comparison differ, cause by cause, with the settings of both side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sftui.comparison import Cause, Causes, Setting
from sftui.comparison.causes import DRAWN, EARLIER, LAST, REST, TEXT, TRAINER, Doing
from sftui.recipe import Recipe
from sftui.text import many, visible
from sftui.views.cells import Line, Role, line, wrap
from sftui.views.knobs import value_text

NAMES = {TRAINER: "trainer", DRAWN: "the tokenizer splits the same text differently each time"}
"""What settings are called that are no keys."""


def cause_lines(causes: Causes, one: Recipe, other: Recipe, width: int, sides: tuple[int, int]) -> tuple[Line, ...]:
    """Every line of the causes at `width` cells; `sides` are the numbers of the two sides, 0 for A."""
    a, b = (chr(ord("A") + number) for number in sides)
    text = f" ({causes.looked_at:,} of {many(causes.of, 'differing row')})"
    lines = [line((f"why {b} differs from {a}", Role.TITLE), (text, Role.LABEL))]
    for cause in causes.found:
        lines += _cause(cause, (one, other), (a, b))
    return tuple(row for cells in lines for row in wrap(cells, width, "      "))


def _cause(cause: Cause, recipes: tuple[Recipe, Recipe], sides: tuple[str, str]) -> Iterator[Line]:
    of_each = [_trained(*figures) for figures in zip(cause.trained, cause.received)]
    text = f"  {many(cause.rows, 'row')}: {sides[0]} trains {of_each[0]} tokens, {sides[1]} {of_each[1]}"
    if cause.one_sided:
        only = "all of them" if cause.one_sided == cause.rows else f"{cause.one_sided:,} of them"
        text += f"; {only} on one side only"
    rows = ", ".join(map(str, cause.first)) + (", …" if cause.rows > len(cause.first) else "")
    yield line((text, Role.PLAIN), (f"  (row {rows})", Role.LABEL))
    if not cause.settings:
        yield line(("    none of their settings explains it", Role.PLAIN))
    if not cause.settings or TRAINER in [setting.name for setting in cause.settings]:
        yield line((f"    {visible(does_words(cause, sides))}", Role.TITLE))
    for setting in (*cause.settings, *cause.bound):
        values = " · ".join(f"{side} {value_text(value)}" for side, value in zip(sides, setting.values))
        also = ["follows from it"] if setting in cause.bound else []
        also += [f"{recipe.trainer}: {keys}" for recipe in recipes if (keys := keys_of_setting(setting, recipe))]
        behind = f"  ({'; '.join(dict.fromkeys(also))})" if also else ""
        name = visible(NAMES.get(setting.name, setting.name))
        yield line((f"    {name}", Role.KEY), f"  {values}", (visible(behind), Role.LABEL))


def _trained(trained: int, received: int) -> str:
    return f"all {received:,}" if trained == received > 0 else f"{trained:,} of {received:,}"


def does_words(cause: Cause, sides: tuple[str, str]) -> str:
    """What either side does with the rows of a cause, in one sentence; all of it is counted in them."""
    one, other = (does(made, gone) for made, gone in zip(cause.does, cause.gone))
    if one == other:
        return f"both {one.replace('trains', 'train', 1)}" + f", but {many(cause.ids, 'token')} differ" * bool(
            cause.ids
        )
    return f"{sides[0]} {one}; {sides[1]} {other.removeprefix('trains ') if one.startswith('trains ') else other}"


def does(made: Doing, gone: str) -> str:
    """What a side does with some rows: `made` is what it trains of them, `gone` why it does not get the first that it
    does not get."""
    tokens = {key: count for key, count in made.items() if key[1]}
    beside = {
        name: many(count, "token" if name == "cut" else "row")
        for (name, what, _), count in made.items()
        if not what and count
    }
    masked = sum(count for (_, _, trained), count in tokens.items() if not trained)
    whole = masked == 0 or (masked == made["first", "", True] and masked < sum(tokens.values()))
    every = "every token" + " but the first of each row" * bool(masked)
    words = [f"trains {every if whole else _and(_whose(tokens))}"] if tokens else []
    for name, text in (
        ("cut", "cuts {}"),
        ("others", "has labels that differ from the ids at their positions in {}"),
        ("aside", "sets {} aside for evaluation"),
        ("gone", f"does not get {'{}' if tokens else 'them'}: {gone}"),
    ):
        words += [text.replace("{}", beside[name])] if name in beside else []
    return _and(words)


def _whose(tokens: Mapping[tuple[str, str, bool], int]) -> list[str]:
    """Whose tokens are trained, in a few words each; some are masked."""
    left = {key[:2]: count for key, count in tokens.items() if key[2]}

    def taken(what: str, *whose: str) -> str:
        """Whether all, some or none of these are trained; empty where there are none."""
        masked = any(tokens.get((who, what, False)) for who in whose)
        trained = any([left.pop((who, what), 0) for who in whose])
        return ("some" if masked else "all") if trained else ("none" if masked else "")

    found = []
    contents = [one for one in (LAST, EARLIER) if left.get((one, "content"))]
    others = [one for one in (LAST, EARLIER) if one not in contents and tokens.get((one, "content", False))]
    if contents:
        whose = contents if others else [LAST, EARLIER]
        name = ("the answers before the last" if LAST in others else "the last answer") if others else "the answers"
        own, s = ("its", "") if whose == [LAST] else ("their", "s")
        behind = f"what follows {'them' if s else 'it'}"
        part = "part of " * (taken("content", *whose) == "some")
        nouns = {"header": f"{own} header{s}", "end": f"{own} end{s}", "behind": behind}
        told = {what: taken(what, *whose) for what in nouns}
        also = ["some of " * (how == "some") + nouns[what] for what, how in told.items() if how in ("all", "some")]
        lacks = f" without {nouns['end']}" * (told["end"] == "none")
        found.append(part + name + f" with {_and(also)}" * bool(also) + lacks)
    for who in sorted({who for who, _ in left} - {LAST, EARLIER, REST}):
        name = {TEXT: "the text", "prompt": "the prompts"}.get(who, f"the {who} messages")
        found.append("part of " * (taken("content", who) == "some") + name)
    if len(found) == 1 and not left:
        return [f"only {found[0]}"]
    if not tokens.get((REST, "content", False)) and left.pop((REST, "content"), 0):
        found.append("the rest of the template")
    return [*found, many(sum(left.values()), "other token" if found else "token")] if left else found or ["nothing"]


def _and(words: Sequence[str]) -> str:
    return " and ".join(([", ".join(words[:-1])] if words[1:] else []) + [*words[-1:]])


def keys_of_setting(setting: Setting, recipe: Recipe) -> str:
    """The keys of the trainer's config that say a setting; empty where it has none."""
    from sftui.trainers.own_config import key_of

    return key_of(recipe.preset, setting.name) if "." in setting.name else ""
