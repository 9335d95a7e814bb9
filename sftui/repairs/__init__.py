"""Row → repaired row: pure edits of the data, each with what it changed."""
