"""OpenWOP v1 over ASGI."""
