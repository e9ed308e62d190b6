"""Bundles that move a run to another host: packing media into them, and importing them."""
