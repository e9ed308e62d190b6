"""Time travel: the rules of forks, replays and retries."""
