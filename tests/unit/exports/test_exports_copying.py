"""A module's source with values filled in: what is taken, what is left out, and that it stays the same code."""

from __future__ import annotations

import ast
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

from sftui.exports.copying import copied


def made(source: str, constants: dict[str, Any] | None = None, **config: Any) -> str:
    text = copied(dedent(source), SimpleNamespace(**config), constants or {})
    ast.parse(text)
    return text


BRANCHES = """
def main(x):
    if CONFIG.way == "a":
        # The first way.
        x += 1
    elif CONFIG.way == "b":
        x += 2
    elif x:
        x += 3
    else:
        # None of them.
        if CONFIG.deep:
            x += 4
        x += 5
    return x


main(1)
"""


@pytest.mark.parametrize(
    ("way", "deep", "body"),
    [
        ("a", True, "    # The first way.\n    x += 1"),
        ("b", True, "    x += 2"),
        (
            "c",
            True,
            "    if x:\n        x += 3\n    else:\n        # None of them.\n        x += 4\n        x += 5",
        ),
        ("c", False, "    if x:\n        x += 3\n    else:\n        # None of them.\n        x += 5"),
    ],
)
def test_the_branch_that_is_taken_stands_alone(way: str, deep: bool, body: str) -> None:
    assert f"def main(x):\n{body}\n    return x\n" in made(BRANCHES, way=way, deep=deep)


def test_a_branch_behind_one_that_only_shows_later() -> None:
    source = """
    def main(x):
        if x:
            return 1
        elif CONFIG.on:
            return 2
        else:
            return 3


    main(1)
    """
    assert "return 1\n    else:\n        return 2\n\n" in made(source, on=True)
    assert "return 1\n    else:\n        return 3\n\n" in made(source, on=False)


@pytest.mark.parametrize(
    ("written", "on", "off"),
    [
        ("1 if CONFIG.on else x", "1", "x"),
        ("x and CONFIG.on and y", "x and y", "False"),
        ("CONFIG.on and x", "x", "False"),
        ("not CONFIG.on or x", "x", "True"),
        ("x or []", "x or []", "x or []"),
        ("(x or y) and z", "(x or y) and z", "(x or y) and z"),
        ("f(CONFIG.on, key='a')", "f(True, key='a')", "f(False, key='a')"),
    ],
)
def test_what_is_known_of_an_expression_is_left_out(written: str, on: str, off: str) -> None:
    source = f"def main(x, y, z, f):\n    if {written}:\n        return 1\n    return 2\n\n\nmain(1, 2, 3, 4)\n"
    for value, wanted in ((True, on), (False, off)):
        text = made(source, on=value)
        test = {"True": "return 1\n", "False": "return 2\n"}.get(wanted, f"    if {wanted}:\n")
        assert test in text and ("if" in text) == (wanted not in ("True", "False"))


def test_only_what_runs_is_copied_and_without_annotations() -> None:
    source = '''
    """A module."""
    from __future__ import annotations

    import sys
    import gzip
    from typing import Any
    from sftui.model import Row
    from transformers import AutoTokenizer, Other

    Kind = dict[str, Any]
    CONFIG = Row()
    A: int | None = None  # the first
    B = "b"
    C: list[int] = []


    def unused(x: Kind) -> Any:
        return gzip.open(x)


    def used(x: Kind, y: int = 2, z: "str" = "z") -> Any:
        """It is."""
        found: list[int] = [A]
        return AutoTokenizer(x, y, found)


    class Day(Other):
        @classmethod
        def now(cls, tz: Any = None) -> Day:
            return cls()


    if B:
        Other.day = Day


    if __name__ == "__main__":
        sys.exit(used(1))
    '''
    text = made(source, {"A": 7, "B": ""})
    assert text == dedent(
        '''\
        import sys

        from transformers import AutoTokenizer

        A = 7  # the first


        def used(x, y=2, z="z"):
            """It is."""
            found = [A]
            return AutoTokenizer(x, y, found)


        if __name__ == "__main__":
            sys.exit(used(1))
        '''
    )
    assert "Other.day = Day\n" in made(source, {"B": "x"}) and "def now(cls, tz=None):\n" in made(source, {"B": "x"})
    with pytest.raises(KeyError):
        made(source, {"D": 1})
