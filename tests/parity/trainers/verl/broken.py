"""verl: settings and data that are wrong (see `broken`)."""

from __future__ import annotations

from broken import ALIASES, CONTROL, LAST_ONE, NOTHING, SPACES, Broken

BROKEN = (
    Broken("verl@0.9", "TRU002", ("length.max",), ("cut",), {"length.max": 24, "length.over": "cut_right"}),
    Broken("verl@0.9", "TPL011", ("render.template",), (), template=LAST_ONE, comes=("EOS008", "RUN001")),
    Broken("verl@0.9", "ROL001", rows=ALIASES, repair="map-roles"),
    Broken("verl@0.9", "CON004", rows=SPACES, repair="trim"),
    Broken("verl@0.9", "INJ001", rows=CONTROL, repair="strip-tokens"),
    Broken("verl@0.9", "CON001", rows=NOTHING, repair="fill-content", comes=("CON020", "RUN001")),
)
