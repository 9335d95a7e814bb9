"""The panes: each draws lines of one thing and keeps where it is scrolled; none knows the screen or another pane."""
