"""The HTTP interface: OpenWOP v1 over ASGI."""
