"""Runs that come from other runs: forks, imported copies, and the tree that shows them."""
