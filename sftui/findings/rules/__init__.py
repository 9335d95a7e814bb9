"""Every finding of rows and of the set-up, by its subject."""
