"""What is remembered of what was last asked."""

from __future__ import annotations

from datetime import date

from sftui.trainers import preset
from sftui.trainers.remembering import last_asked


def test_the_very_same_question_is_answered_once() -> None:
    asked: list[tuple[object, date]] = []

    @last_asked
    def answer(recipe: object, day: date) -> int:
        asked.append((recipe, day))
        return len(asked)

    one, other = preset("trl"), preset("trl")
    assert [answer(one, date(2026, 11, 25)) for _ in range(3)] == [1, 1, 1]
    assert answer(one, date(2026, 11, 26)) == 2  # an equal day is the same, another is not
    assert answer(other, date(2026, 11, 26)) == 3  # an equal recipe is not: comparing it would cost what this saves
