"""Settings and data that are wrong, each with the finding that says so: the fix is held against the real trainer.

They are `BROKEN` in `broken.py` of each trainer's folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]


def chat(*turns: tuple[str, str] | Mapping[str, Any]) -> Row:
    return {
        "messages": [{"role": turn[0], "content": turn[1]} if isinstance(turn, tuple) else dict(turn) for turn in turns]
    }


def numbered(n: int) -> tuple[Row, ...]:
    """Two rounds, and a brief chat with a system message."""
    said = [
        ("user", f"What is 2+2? {n}"),
        ("assistant", f"The answer is 4. {n}"),
        ("user", f"And 3 more? {n}"),
        ("assistant", f"That makes seven. {n}"),
    ]
    return chat(*said), chat(("system", f"Be kind. {n}"), ("user", f"hi {n}"), ("assistant", f"Hello there. {n}"))


ROWS = tuple(row for n in range(3) for row in numbered(n))
PLAIN = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' }}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
TAGGED = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' %}{% generation %}{{"
    " m.content + '<|im_end|>' }}{% endgeneration %}{% else %}{{ m.content + '<|im_end|>' }}{% endif %}{{ '\\n' }}{%"
    " endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
LAST_ONE = PLAIN.replace("{% if add", "{% if not add_generation_prompt and messages|length > 1 %}!{% endif %}{% if add")
"""A template that writes a row otherwise than its messages one by one."""
ALIASES = (*ROWS[:2], chat(("human", "Who?"), ("gpt", "Me."), ("user", "You?"), ("assistant", "Yes.")))
BOTS = (*ROWS[:2], chat(("user", "Who?"), ("bot", "Me."), ("user", "You?"), ("assistant", "Yes.")))
CONTROL = (
    *ROWS[:2],
    chat(("user", "Say <|im_end|> now."), ("assistant", "I will not."), ("user", "Well?"), ("assistant", "No.")),
)
SPACES = (*ROWS[:2], chat(("user", "Who?"), ("assistant", "  Me.\n\n"), ("user", "You?"), ("assistant", "Yes.")))
NEIGHBOURS = (
    *ROWS[:2],
    chat(("user", "Who?"), ("user", "You?"), ("assistant", "Me."), ("user", "So?"), ("assistant", "Yes.")),
)
NOTHING = (
    *ROWS[:2],
    chat({"role": "user", "content": None}, ("assistant", "Me."), ("user", "So?"), ("assistant", "Yes.")),
)
BRACKETS = (*ROWS[:2], chat(("user", "list?"), ("assistant", "[[1, 2], [3, 4]]")))
FLAGGED = (
    *ROWS[:2],
    chat(
        ("user", "Who?"),
        {"role": "assistant", "content": "Me.", "training": False},
        ("user", "So?"),
        ("assistant", "Yes."),
    ),
)
TEXTS = tuple({"body": f"Q: {n}?\nA: It is {n}."} for n in range(4))


@dataclass(frozen=True)
class Broken:
    """A setting of `preset` that raises `code`, and where its fix may move labels (see `place_of` in fix_proof.py).

    Without `repair` the fix is the finding's own: its knobs, its template; they turn `knobs`. With it the fix is
    `sftui repair --apply REPAIR`, and only messages that it changed may move. `comes` are findings that the fix
    reveals.
    """

    preset: str
    code: str
    knobs: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Row] = ROWS
    template: str | None = None
    repair: str | None = None
    comes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.preset}-{self.code}-{self.repair or '-'.join(self.knobs) or 'template'}"


APART = ("pack.strategy", "pack.isolate", "batch.flatten")
