"""Creations of forks, and what they do first, under SIGKILL."""
