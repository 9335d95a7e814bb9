"""Open data under a recipe: what the commands, the worker, the audit's processes and tests work with. No screen, no
process of its own."""
