"""How a trainer may come to rows before and after `sftui convert` has written them anew.

`convert.py` of its folder says it of real datasets (`FILES`) and of rows of each shape, made by hand, three of them
each (`MADE`), under its `PRESET`.
"""

from __future__ import annotations

SAME, IDS, OTHER, UNREAD, STOPS, MENDED, NEVER = "same", "ids", "other", "unread", "stops", "mended", "never"
"""Before and after: the same ids and labels; the same ids; other ids, because it was read in another way; not read
before; read, and stopped at by the same error both times; stopped at before, and no more; stopped at before, and by
another error after."""
