"""What is read in this session and never written over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sftui.tui.inspector import Inspector

if TYPE_CHECKING:
    from sftui.session.inputs import Inputs


def inputs(here: Inspector, recipes: bool = True) -> Inputs:
    """The files that whoever opened this, the recipe in force or a comparison reads.

    `recipes=False` leaves out the recipe and the config that were opened, which an export writes back.
    """
    from sftui.session.inputs import inputs_of

    workspace, compared = here.workspace, here.state.compared
    used = [workspace.base_recipe, workspace.recipe, *([compared.other] if compared.other is not None else [])]
    return inputs_of(workspace.options, compared.file, recipes=recipes, used=used)
