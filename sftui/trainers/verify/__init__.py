"""The real trainers, run beside sftui: one stand-alone runner a trainer, and the session that asks it."""
