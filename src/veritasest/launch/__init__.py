"""From a command to a watched process tree."""
