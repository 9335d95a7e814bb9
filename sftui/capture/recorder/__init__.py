"""What runs inside the user's own processes: it needs Python 3.9 and the torch that is there, and nothing of sftui."""
