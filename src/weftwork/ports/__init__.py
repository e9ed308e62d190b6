"""What the engine needs from the world, as Protocol classes whose docstrings are promises."""
