"""Executes runs. The engine imports ports and protocol, never a driver, a file path or an HTTP header."""
