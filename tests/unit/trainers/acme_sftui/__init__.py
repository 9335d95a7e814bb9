"""A small trainer of another package, for test_trainers_outside.py, which installs it for sftui."""

from collections.abc import Mapping
from typing import Any

from sftui.trainers import Traits


def claims(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of acme's config."""
    return tuple(key for key in config if key.startswith("acme_"))


TRAITS = Traits(
    name="acme",
    title="Acme",
    home="acme_sftui.trainer:Acme",
    versions=("2.1", "2.0"),
    first=(2, 0),
    fixes={"LAB002": "acme_train: answers"},
    claims=claims,
)
