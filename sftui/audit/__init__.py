"""The whole dataset: what every row adds up to, gathered row by row in bounded memory.

    audit = Audit(context)                      # context: the checks' Context, see `Context.of`
    for progress in run_audit(audit, rows, inspect, context, head=first): …    # in slices; stop by not going on
    audit.figures()                             # frozen, for views and reports
    audit.found.ordered()                       # what was found, grouped by code

Audits of disjoint rows under one recipe merge and pickle, so worker processes can share the work.
The process of the screen receives `figures` and needs nothing else.
"""
