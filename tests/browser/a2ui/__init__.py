"""The official A2UI renderers show what the bridge exports, in a real Chromium."""
