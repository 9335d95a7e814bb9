"""sftui from Python: `sftui.open`, `sftui.encode` and `sftui.check`, on the same sessions as the commands.

    opening (what a call asks for) → dataset (open data) → row, table, report (what comes of it)

Nothing here is imported before it is used: see `sftui.__getattr__`.
"""
