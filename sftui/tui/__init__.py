"""The Textual app; nothing here is loaded before the inspector is run."""
