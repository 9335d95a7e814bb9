"""Roles that the mask is to train and that no row has: a name misspelt, or one that the template never sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sftui.conversations.messages import KNOWN_ROLES, ROLE_ALIASES
from sftui.findings.checks import Fault, chats, setup_check
from sftui.findings.context import Context
from sftui.findings.examples import case
from sftui.findings.look import shown
from sftui.findings.rule import GOOD, fatal
from sftui.model import Conversation, Inspection
from sftui.nearest import nearest
from sftui.recipe import Recipe
from sftui.trainers import trainer_named


@dataclass(frozen=True, slots=True)
class AbsentRole:
    """A role to be trained that none of some conversations has; `repaired` is mask.roles with the nearest that they
    have in its place, empty where none is near."""

    role: str
    sentence: str
    repaired: tuple[str, ...]


def absent_role(recipe: Recipe, conversations: Sequence[Conversation]) -> AbsentRole | None:
    """The first role of the mask that these conversations should have and do not.

    One that templates know (tool, say) may be there for other rows, so that it is reported only where no trained role
    is in these at all.
    """
    wanted = trainer_named(recipe.preset).trained_roles(recipe)
    seen = tuple(dict.fromkeys(message.role for one in conversations for message in one.messages))
    missing = [role for role in wanted if role not in seen]
    unnamed = missing if len(missing) == len(wanted) else [role for role in missing if role not in KNOWN_ROLES]
    if not seen or not unnamed:
        return None
    role = unnamed[0]
    plain = role.strip().casefold()
    alias = next((one for one in (ROLE_ALIASES.get(plain),) if one in seen), None)
    meant = nearest(plain, seen) or alias
    rows = "which the row does not have" if len(conversations) == 1 else f"which none of {len(conversations)} rows has"
    names = ", ".join(f"`{shown(name, 40)}`" for name in seen[:6])
    sentence = f"mask.roles names the role `{shown(role, 40)}`, {rows}; there are {names}"
    if meant is None or role in KNOWN_ROLES:  # then it is the data that is misspelt: ROL001 and ROL002
        return AbsentRole(role, sentence, ())
    repaired = dict.fromkeys(meant if one == role else one for one in wanted)
    return AbsentRole(role, f"{sentence}: did you mean `{shown(meant, 40)}`?", tuple(repaired))


ROL005 = fatal(
    "ROL005",
    "trained-role-in-no-row",
    "a role that is to be trained is in no row",
    "The mask trains the messages of the roles that it names, by the names that the template sees. A name that no"
    " message has trains nothing, and nothing stops.",
    moves=("answers", "behind stops"),
    bad=case(GOOD, changes={"mask.rule": "assistant", "mask.roles": ("asistant", "user")}),
    good=case(GOOD, changes={"mask.rule": "assistant", "mask.roles": ("assistant", "tool")}),
)


@setup_check(ROL005)
def in_no_row(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """ROL005."""
    found = chats(sample)
    unnamed = absent_role(context.recipe, [one.conversation for one in found if one.conversation is not None])
    if unnamed is not None:
        yield Fault(
            unnamed.sentence,
            shown(unnamed.role, 40),
            changes=[("mask.roles", unnamed.repaired)] if unnamed.repaired else (),
            count=len(found),
        )
