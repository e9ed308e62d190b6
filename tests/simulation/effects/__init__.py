"""Random schedules of effects and crashes."""
