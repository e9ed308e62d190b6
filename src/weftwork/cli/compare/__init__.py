"""Two runs side by side: aligned events, differing values, and media by size and digest."""
