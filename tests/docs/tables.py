"""The tables of the docs that come from the code: `<!-- table: NAME WORDS -->` … `<!-- table: end -->` in a page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence

import click
from examples import PAGES, REPO
from pair_faults import FAULTS, Fault, opened

from sftui.api.dataset import OpenDataset
from sftui.cli.app import COMMANDS, inspect
from sftui.cli.opening import OPENING
from sftui.findings import CODES, Severity
from sftui.model import IGNORE_INDEX, Inspection
from sftui.recipe import knobs, knobs_of
from sftui.repairs.rows import DROP_REASONS
from sftui.repairs.run import TITLES
from sftui.safe_yaml import load_yaml
from sftui.templates import builtin_names
from sftui.trainers import TRAINERS, preset, preset_names, trainer_names, traits_of
from sftui.trainers.declared import folder_of
from sftui.trainers.versions import loads_by_transformers, pins_of, reference_version
from sftui.tui.commands.command import MEANS, show_key
from sftui.tui.commands.table import COMMANDS as KEYS
from sftui.tui.contexts import CONTEXTS
from sftui.views.knobs import value_text
from sftui.views.legend import SIGNS
from sftui.where import FUNCTIONS, NAMES

_TABLE = re.compile(r"(<!-- table: (?P<name>[a-z]+) ?(?P<words>[^>]*?) -->\n).*?(<!-- table: end -->)", re.DOTALL)


def with_tables(markdown: str) -> str:
    """A page with its tables as the code has them now."""
    return _TABLE.sub(lambda found: found[1] + TABLES[found["name"]](found["words"]) + found[4], markdown)


def names_of(markdown: str) -> list[str]:
    return [found["name"] for found in _TABLE.finditer(markdown)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([_cell(one) for one in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n".replace("| ---", "|---").replace("--- |", "---|") for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def choices(path: str) -> str:
    """What each choice of a knob does."""
    [info] = [one for one in knobs() if one.path == path]
    return _table([_code(path), "what it does"], [(_code(one), info.meaning(one)) for one in info.choices])


def pages(_: str) -> str:
    """The pages that trainers have of their own, in the index: `page.md` in a trainer's folder says its line."""
    found = ""
    for folder in map(folder_of, TRAINERS):
        text = (folder / "page.md").read_text(encoding="utf-8") if (folder / "page.md").exists() else ""
        if line := re.search(r"^<!-- index: (.+) -->$", text, re.MULTILINE):
            title = text.partition("\n")[0].removeprefix("# ")
            found += f"- [{title}](../trainers/{folder.name}/page.md): {line[1]}\n"
    return found


def all_knobs(section: str) -> str:
    """The knobs of one section that all trainers share; their defaults are those of hf-trainer."""
    return _table(
        ["knob", "default", "what it says"],
        [
            (_code(one.path), _code(value_text(one.default)), _said(one.doc, one.choices))
            for one in knobs()
            if one.path.startswith(f"{section}.")
        ],
    )


def own_knobs(trainer: str) -> str:
    """The options that a trainer alone has."""
    shared = {one.path for one in knobs()}
    return _table(
        ["knob", "what it says"],
        [(_code(one.path), _said(one.doc, one.choices)) for one in knobs_of(preset(trainer)) if one.path not in shared],
    )


def _said(doc: str, given: Iterable[str]) -> str:
    told = " ".join(_code(one) for one in given)
    return f"{doc}: {told}" if told else doc


def presets(_: str) -> str:
    """Every preset, and whose release its rules were taken from."""
    rows = []
    for name in preset_names():
        pins, recipe = pins_of(name), preset(name)
        asked = pins.asks.get("transformers", {}).get(pins.package, "") if pins is not None else ""
        admitted = " ".join(one for one in reversed(asked.split(",")) if not one.startswith("!="))
        shown = reference_version(recipe) if pins is not None and loads_by_transformers(name) else ""
        rows.append(
            (
                _code(name),
                f"{pins.package} {pins.version}" if pins is not None else "",
                _code(admitted),
                shown,
            )
        )
    return _table(["preset", "read from", "asks of transformers", "ids of transformers"], rows)


def defaults(_: str) -> str:
    """What decides labels in each preset, before anything is set."""
    paths = ("mask.rule", "length.max", "length.over")
    rows: dict[tuple[str, ...], list[str]] = {}
    for name in preset_names():
        recipe = preset(name)
        said = tuple(_plain(recipe, path) for path in paths)
        rows.setdefault(said, []).append(name)
    return _table(
        ["preset", *(_code(path) for path in paths)],
        [(" ".join(_code(name) for name in names), *said) for said, names in rows.items()],
    )


def _plain(recipe: object, path: str) -> str:
    section, _, name = path.partition(".")
    return str(value_text(getattr(getattr(recipe, section), name)))


def trainers(_: str) -> str:
    """The trainers, and how each finds the tokens of an answer."""
    rows = [
        (_code(one.name), one.title, ", ".join(one.versions) or "–", one.finds.value)
        for one in map(traits_of, trainer_names())
    ]
    return _table(["name", "trainer", "releases", "finds answers by"], rows)


def templates(_: str) -> str:
    return ", ".join(_code(name) for name in builtin_names()) + "\n"


def keys(context: str) -> str:
    """The keys of one pane."""
    assert context in CONTEXTS, context
    return _table(
        ["keys", "what", "name"],
        [
            (" ".join(_code(show_key(key)) for key in one.keys) or "palette", one.help, _code(one.id))
            for one in KEYS
            if one.context == context
        ],
    )


def grammar(_: str) -> str:
    """What each key means that works in several panes, and what that is in each."""
    told: dict[str, dict[str, dict[str, list[str]]]] = {}
    for one in KEYS:
        if one.means:
            in_panes = told.setdefault(MEANS[one.means], {"keys": {}, "panes": {}})
            in_panes["keys"].update({_code(show_key(key)): [] for key in one.keys})
            in_panes["panes"].setdefault(one.title, []).append(one.context)
    rows = [
        (
            " ".join(some["keys"]),
            means,
            "; ".join(f"{', '.join(where)}: {title}" for title, where in some["panes"].items()),
        )
        for means, some in told.items()
    ]
    return _table(["keys", "mean", "in"], rows)


def signs(_: str) -> str:
    """The signs on screen."""
    return _table(["sign", "means"], [(" ".join(_code(one) for one in sign.split("  ")), told) for sign, told in SIGNS])


def commands(_: str) -> str:
    """Every command in a line."""
    rows = [("`sftui DATA…`", _first(inspect))]
    rows += [(_code(f"sftui {name}"), _first(one)) for name, one in COMMANDS.items()]
    return _table(["command", "what it does"], rows)


def options(name: str) -> str:
    """The options of a command beside those that say what to open."""
    command = COMMANDS[name] if name else inspect
    shared = {name for parameter in OPENING for name in parameter.opts}
    rows = [
        (_code(_spelt(one)), one.help or "")
        for one in command.params
        if isinstance(one, click.Option) and not one.hidden and not set(one.opts) & shared
    ]
    return _table(["option", "what it says"], rows) if rows else "It has no options of its own.\n"


def opening(_: str) -> str:
    """The options that say what to open and how it is prepared."""
    shared = {name for parameter in OPENING for name in parameter.opts}
    return _table(
        ["option", "what it says"],
        [
            (_code(_spelt(one)), one.help or "")
            for one in inspect.params
            if isinstance(one, click.Option) and set(one.opts) & shared
        ],
    )


def _spelt(option: click.Option) -> str:
    what = "" if option.is_flag else f" {option.metavar or _kind(option)}"
    return ", ".join(sorted(option.opts, key=len)) + what


def _kind(option: click.Option) -> str:
    return "|".join(option.type.choices) if isinstance(option.type, click.Choice) else option.type.name.upper()


def _first(command: click.Command) -> str:
    return re.split(r"\.(?: (?=[A-Z])|$)", " ".join((command.help or "").split()))[0]


def repairs(_: str) -> str:
    return _table(["repair", "what it does"], [(_code(k), told) for k, told in TITLES.items() if k != "drop"])


def dropping(_: str) -> str:
    return _table(["`--drop`", "leaves out"], [(_code(name), told) for name, told in DROP_REASONS.items()])


def action(_: str) -> str:
    """The inputs of the action for users' CI."""
    told = load_yaml((REPO / ".github" / "actions" / "check" / "action.yml").read_text(encoding="utf-8"))
    return _table(["input", "what it says"], [(_code(k), one["description"]) for k, one in told["inputs"].items()])


FAMILIES = {
    "BND": "where the prompt ends and the answer begins",
    "BOS": "the token that begins a row",
    "CFG": "stored ids against the recipe",
    "CON": "what messages hold",
    "DUP": "duplicate rows",
    "EOS": "what ends an answer",
    "GEN": "masks drawn from generation tags",
    "INJ": "special tokens inside of texts",
    "LAB": "labels: what is trained and what is not",
    "PAC": "packing",
    "PAD": "padding",
    "PRF": "pairs of a chosen and a rejected answer",
    "ROL": "roles and keys",
    "ROW": "rows that cannot be read or prepared",
    "RUN": "what stops the whole run",
    "THK": "reasoning and think tags",
    "TOK": "the tokenizer",
    "TOO": "tools, calls and results",
    "TPL": "chat templates",
    "TRU": "length and cutting",
}


def families(_: str) -> str:
    """The families of codes; a new code of one changes nothing here."""
    there = {code[:3] for code in CODES}
    assert there == {*FAMILIES}, there ^ {*FAMILIES}
    return _table(
        ["family", "what it is about"],
        [(_code(one), told) for one, told in FAMILIES.items()],
    )


def measured(shape: str) -> str:
    """What docs/speed.md has on rows of a shape."""
    head, rule, *rows = [
        one.split("|") for one in PAGES["speed"].read_text(encoding="utf-8").splitlines() if "|" in one
    ]
    return "".join(
        "|".join(cells[:2] + cells[3:]) + "\n"
        for cells in [head, rule, *(row for row in rows if row[2].strip() == shape)]
    )


def names(_: str) -> str:
    """What a filter may name besides the keys of a row."""
    return _table(["name", "is"], [(_code(name), one.words) for name, one in NAMES.items()])


def functions(_: str) -> str:
    """The functions of a filter."""
    return _table(["function", "says"], [(_code(f"{name}()"), one.words) for name, one in FUNCTIONS.items()])


def faults(trainer: str) -> str:
    """What the releases of a trainer do to preferences, each with a row that shows it, what is trained of it, and what
    sftui finds in it."""
    return "\n".join(shown(fault) for fault in FAULTS if fault.trainer.partition("@")[0] == trainer)


def shown(fault: Fault) -> str:
    with opened(fault) as data:
        row = data._ready.inspect(len(fault.rows) - 1)
        assert row.problem is None, row.problem
        codes = dict.fromkeys(one.code for one in data._ready.found(row) if one.severity is not Severity.INFO)
        names = ("chosen", "rejected") if row.rejected else ("trained",)
        lines = [("row", json.dumps(fault.rows[-1], ensure_ascii=False))]
        if row.dropped is not None:
            lines.append(("dropped", row.dropped))
        else:
            lines += [(name, trained(side, data)) for name, side in zip(names, row.sides)]
    found = f" ({', '.join(map(_code, codes))})" * bool(codes)
    return f"{fault.says} `{fault.trainer}`, {fault.objective}{found}\n\n" + "".join(
        f"    {name:<8}  {text}\n" for name, text in lines
    )


def trained(side: Inspection, data: OpenDataset) -> str:
    """The end of a sequence, what is trained of it marked."""
    tokens, labels, text = side.tokens, side.labels, ""
    assert tokens is not None and labels is not None
    kept = [i for start, end in labels.kept for i in range(start, end)]
    on = [False, *(labels.labels[i] != IGNORE_INDEX for i in kept), False]
    for place, i in enumerate(kept, 1):
        text += "«" * (on[place] and not on[place - 1])
        text += data._ready.tools.tokenizer.surface(tokens.ids[i]).decode("utf-8", "replace")
        text += "»" * (on[place] and not on[place + 1])
    return text[-SHOWN:].replace("\n", "⏎")


SHOWN = 90
"""Characters of a sequence among the faults."""


TABLES: dict[str, Callable[[str], str]] = {
    "action": action,
    "choices": choices,
    "commands": commands,
    "defaults": defaults,
    "dropping": dropping,
    "families": families,
    "faults": faults,
    "functions": functions,
    "keys": keys,
    "measured": measured,
    "names": names,
    "grammar": grammar,
    "signs": signs,
    "knobs": all_knobs,
    "opening": opening,
    "options": options,
    "own": own_knobs,
    "pages": pages,
    "presets": presets,
    "repairs": repairs,
    "templates": templates,
    "trainers": trainers,
}
