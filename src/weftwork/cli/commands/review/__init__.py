"""Commands that examine runs: compare two of them, or save one as a debug bundle."""
