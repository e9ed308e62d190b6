from tests.live.fixtures import host

__all__ = ["host"]
