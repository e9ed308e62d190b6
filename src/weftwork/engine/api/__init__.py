"""The facades, one per resource. Edges call these and nothing behind them."""
