"""The one reader of YAML, for recipes, trainers' configs and settings: no code is run, and no text costs more than its
size.

YAML can name a list once and repeat it many times over, hold itself, or nest beyond what Python can recurse. So the
tree is counted as if every alias were written out, before a value is made of it.
"""

from __future__ import annotations

import re
import warnings
from typing import Any, Literal

Dialect = Literal["1.2", "pyyaml", "omegaconf"]
"""How plain words and numbers are read: sftui's own files by YAML 1.2, a trainer's config as its own reader does.

PyYAML (Axolotl, TRL) reads YAML 1.1: `no` and `off` are false, `010` is 8, `1:30` is 90, `1e-4` is text. OmegaConf
(LLaMA-Factory, torchtune) does the same, but takes `1e-4` for a number and a date for text.
Source: PyYAML 6.0.3, resolver.py; OmegaConf 2.4.0, _yaml.py.
"""
MOST_CHARACTERS = 1 << 20
"""Of the text, and of all that its aliases stand for; trainers' own example configs have a few thousand."""
MOST_NODES = 20_000
"""Keys, values and entries, each alias counting as all that it stands for."""
DEEPEST = 60
"""Lists and mappings inside one another."""


TOO_MUCH = "is too large for a config"


class YamlProblem(ValueError):
    """Why a text is not read as YAML, as a clause; `line` and `column` from 1, or 0 where no place is to blame.

    `what` follows the name of the text.
    """

    def __init__(
        self, why: str, line: int = 0, column: int = 0, fix: str = "", *, what: str = "is not valid YAML"
    ) -> None:
        super().__init__(why)
        self.what = what
        self.why = why
        self.line = line
        self.column = column
        self.fix = fix

    def where(self, name: str) -> str:
        """The file with the place in it."""
        return f"{name} line {self.line}, column {self.column}" if self.line else name


def load_yaml(text: str, dialect: Dialect = "1.2") -> Any:
    """The value of one YAML document, of plain types; YamlProblem where there is none or it goes over a limit."""
    if len(text) > MOST_CHARACTERS:
        raise YamlProblem(
            f"it has {len(text):,} characters, and a config has at most {MOST_CHARACTERS:,}",
            fix="check that this is the right file",
            what=TOO_MUCH,
        )
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    reader = YAML(typ="safe", pure=True)
    reader.Composer = _bounded_composer()
    if dialect != "1.2":
        reader.Resolver = _resolver(dialect)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ruamel warns of an anchor that is used twice
            return reader.load(text)
    except YamlProblem:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = _one_line(error.problem or error.context or str(error))
        raise YamlProblem(why, *(_place(mark) if mark else (0, 0)), "correct the line") from error
    except RecursionError as error:
        raise YamlProblem("it is nested too deeply", what=TOO_MUCH) from error
    except Exception as error:  # ruamel's constructors raise what they like: `!!float ""` an IndexError
        reason = _one_line(str(error)) if isinstance(error, (YAMLError, ValueError)) else ""
        raise YamlProblem(reason or "a value does not match its YAML tag", fix="correct the value") from error


_WORD = r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF"
_SPECIAL = r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
_WHOLE = r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*(:[0-5]?[0-9])*)"
_FRACTION = r"[-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?"
_SIXTIES = r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*"
_POWER = r"[-+]?[0-9]+(_[0-9]+)*(\.[0-9_]*)?[eE][-+]?[0-9]+"
_DAY = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?"
    r"([ \t]*(Z|[-+][0-9]{1,2}(:[0-9]{2})?))?"
)


_NOT_TEXT = f"{_WORD}|{_SPECIAL}|{_WHOLE}|{_FRACTION}|{_SIXTIES}|{_POWER}|{_DAY}|~|null|Null|NULL|<<|=|"


def is_text(plain: str) -> bool:
    """Whether every dialect reads these characters, where they stand without quotes, as a text by their form."""
    return re.fullmatch(_NOT_TEXT, plain) is None


def _resolver(dialect: Dialect) -> Any:
    """ruamel's resolver with the plain words and numbers of another reader, whatever `%YAML` line the text has."""
    from ruamel.yaml.resolver import VersionedResolver

    number = f"{_FRACTION}|{_SIXTIES}|{_SPECIAL}"
    tags = {
        "bool": _WORD,
        "float": number if dialect == "pyyaml" else f"{number}|{_POWER}",
        "int": _WHOLE,
        "merge": "<<",
        "null": "~|null|Null|NULL|",
        "timestamp": _DAY,
        "value": "=",
    }
    if dialect == "omegaconf":
        tags.pop("timestamp")
    rules = [(f"tag:yaml.org,2002:{tag}", re.compile(f"({pattern})$")) for tag, pattern in tags.items()]

    class Everywhere(dict[Any, Any]):
        """The same rules for every first letter."""

        def get(self, letter: Any, default: Any = None) -> Any:
            return list(rules) if letter is not None else []

    class Resolver(VersionedResolver):  # type: ignore[misc]
        versioned_resolver = Everywhere()
        processing_version = (1, 1)  # by which ruamel's constructor reads 010 and 1:30

    return Resolver


def _one_line(text: str) -> str:
    """The first line, without the values that ruamel quotes of a key that stands twice: one may be a token."""
    return text.strip().splitlines()[0].partition(" with value ")[0][:300] if text.strip() else ""


def _bounded_composer() -> Any:
    """ruamel's composer, but every node and its aliases are counted while the tree is put together."""
    from ruamel.yaml.composer import Composer

    class AnchorBudget(Composer):  # type: ignore[misc]
        """Holds of each anchor how many nodes and characters it stands for; an anchor inside itself has none yet."""

        def __init__(self, loader: Any = None) -> None:
            super().__init__(loader)
            self._level = 0
            self._nodes = self._characters = 0
            self._stands_for: dict[int, tuple[int, int]] = {}

        def compose_node(self, parent: Any, index: Any) -> Any:
            mark = self.parser.peek_event().start_mark
            nodes, characters = self._nodes, self._characters
            self._level += 1
            if self._level > DEEPEST:
                why = f"lists and mappings are nested more than {DEEPEST} deep"
                raise YamlProblem(why, *_place(mark), what=TOO_MUCH)
            node = super().compose_node(parent, index)
            self._level -= 1
            self._nodes += 1
            if isinstance(node.value, str):
                self._characters += len(node.value)
            if node.anchor is not None:
                self._stands_for.setdefault(id(node), (self._nodes - nodes, self._characters - characters))
            self._in_bounds(mark)
            return node

        def return_alias(self, node: Any) -> Any:
            mark = self.parser.peek_event().start_mark
            stands_for = self._stands_for.get(id(node))
            if stands_for is None:
                raise YamlProblem(f"`*{node.anchor}` refers to itself", *_place(mark), "write it out")
            self._nodes += stands_for[0] - 1
            self._characters += 0 if isinstance(node.value, str) else stands_for[1]
            self._in_bounds(mark)
            return node

        def _in_bounds(self, mark: Any) -> None:
            nodes = (self._nodes, MOST_NODES, "keys and values")
            for count, most, what in (nodes, (self._characters, MOST_CHARACTERS, "characters")):
                if count > most:
                    why = f"with its aliases expanded, it has more than {most:,} {what}"
                    raise YamlProblem(why, *_place(mark), what=TOO_MUCH)

    return AnchorBudget


def _place(mark: Any) -> tuple[int, int]:
    return mark.line + 1, mark.column + 1
