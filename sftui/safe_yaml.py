"""The one reader of YAML, for recipes, trainers' configs and settings: no code is run, and no text costs more than its
size.

YAML can name a list once and repeat it a thousand times a thousand times in 600 bytes (`*anchor`, `<<: *anchor`), hold
itself (`&a [*a]`), or nest beyond what Python can recurse. So the tree is counted as if every alias were written out,
before a value is made of it.
"""

from __future__ import annotations

import warnings
from typing import Any

MOST_CHARACTERS = 1 << 20
"""Of the text, and of all that its aliases stand for; trainers' own example configs have a few thousand."""
MOST_NODES = 20_000
"""Keys, values and entries, each alias counting as all that it stands for."""
DEEPEST = 60
"""Lists and mappings inside one another."""


TOO_MUCH = "holds more than a config can"


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


def load_yaml(text: str) -> Any:
    """The value of one YAML document, of plain types; YamlProblem where there is none or it goes over a limit."""
    if len(text) > MOST_CHARACTERS:
        raise YamlProblem(
            f"it has {len(text):,} characters, and a config has at most {MOST_CHARACTERS:,}",
            fix="is it the right file?",
            what=TOO_MUCH,
        )
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    reader = YAML(typ="safe", pure=True)
    reader.Composer = _bounded_composer()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ruamel warns of an anchor that is used twice
            return reader.load(text)
    except YamlProblem:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = _one_line(error.problem or error.context or str(error))
        raise YamlProblem(why, mark.line + 1 if mark else 0, mark.column + 1 if mark else 0, "mend the line") from error
    except RecursionError as error:
        raise YamlProblem("it is nested too deeply", what=TOO_MUCH) from error
    except Exception as error:  # ruamel's constructors raise what they like: `!!float ""` an IndexError
        told = _one_line(str(error)) if isinstance(error, (YAMLError, ValueError)) else ""
        raise YamlProblem(told or "a value does not fit its tag", fix="mend the value") from error


def _one_line(told: str) -> str:
    """The first line, without the values that ruamel quotes of a key that stands twice: one may be a token."""
    return told.strip().splitlines()[0].partition(" with value ")[0][:300] if told.strip() else ""


def _bounded_composer() -> Any:
    """ruamel's composer, but every node and its aliases are counted while the tree is put together."""
    from ruamel.yaml.composer import Composer

    class Bounded(Composer):  # type: ignore[misc]
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
                raise YamlProblem(
                    f"more than {DEEPEST} lists and mappings stand inside one another", *_place(mark), what=TOO_MUCH
                )
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
                raise YamlProblem(f"`*{node.anchor}` stands inside what it stands for", *_place(mark), "write it out")
            self._nodes += stands_for[0] - 1
            self._characters += 0 if isinstance(node.value, str) else stands_for[1]
            self._in_bounds(mark)
            return node

        def _in_bounds(self, mark: Any) -> None:
            if self._nodes > MOST_NODES:
                raise YamlProblem(
                    f"with its aliases written out it has more than {MOST_NODES:,} keys and values",
                    *_place(mark),
                    what=TOO_MUCH,
                )
            if self._characters > MOST_CHARACTERS:
                raise YamlProblem(
                    f"with its aliases written out it has more than {MOST_CHARACTERS:,} characters",
                    *_place(mark),
                    what=TOO_MUCH,
                )

    return Bounded


def _place(mark: Any) -> tuple[int, int]:
    return mark.line + 1, mark.column + 1
