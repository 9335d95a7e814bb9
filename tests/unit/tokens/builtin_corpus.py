"""The text the built-in tokenizers are trained on: written for sftui, put together by a fixed seed.

It aims at breadth (everyday words, code, several scripts, white space), not at sense.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

_TEXTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
ENGLISH: list[str] = " ".join(_TEXTS["english"]).split()
FOREIGN: dict[str, str] = _TEXTS["foreign"]
CODE: list[str] = _TEXTS["code"]
SENTENCES: list[str] = _TEXTS["sentences"]


def lines(seed: int = 7, count: int = 1500) -> Iterator[str]:
    """The corpus, one paragraph or snippet at a time; the same for the same arguments.

    Only `Random.random` is used: its sequence is promised to stay the same between Python versions.
    """
    source = random.Random(seed)
    yield " ".join(ENGLISH)
    yield from FOREIGN.values()
    for turn in range(count):
        kind = turn % 10
        if kind < 7:
            yield " ".join(_filled(source, _pick(source, SENTENCES), ENGLISH) for _ in range(1 + turn % 3))
        elif kind == 7:
            yield _filled(source, _pick(source, CODE), ENGLISH)
        elif kind == 8:
            language = sorted(FOREIGN)[turn // 10 % len(FOREIGN)]
            words = FOREIGN[language].split()
            glue = "" if language in ("zh", "ja") else " "
            yield glue.join(_pick(source, words) for _ in range(8)) + ("。" if language in ("zh", "ja") else ".")
        else:
            yield _filled(source, "{n} + {n} = {n}\n\n\t{a}  {b}   {c}\n\n", ENGLISH)


def _pick(source: random.Random, choices: Sequence[str]) -> str:
    return choices[int(source.random() * len(choices))]


def _filled(source: random.Random, form: str, words: list[str]) -> str:
    drawn = {letter: _pick(source, words) for letter in "abcde"}
    return form.format(A=drawn["a"].capitalize(), n=int(source.random() * 2000), **drawn)
