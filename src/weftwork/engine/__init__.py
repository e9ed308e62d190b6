"""Executes runs. The engine imports only ports and protocol; it knows no database driver, file path or HTTP header."""
