"""Row → repaired row: pure edits of the data, each with what it changed, and which fixes a finding has."""
