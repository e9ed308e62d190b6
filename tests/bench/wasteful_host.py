"""The counted host with more calls in every request, for the test that these are seen."""

from typing import Any

from bench.counted_host import main

from weftwork.adapters.http.app import App

EXTRA = 20
"""Per request, of each kind. A run is two requests."""


def _nothing() -> None:
    pass


class _Wasteful(App):
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        for number in range(EXTRA):
            _nothing()
            divmod(number, 1)
        await super().__call__(scope, receive, send)


if __name__ == "__main__":
    import weftwork.app

    weftwork.app.App = _Wasteful
    main()
