"""The bare server of files: a Starlette app with one route, which answers with a FileResponse."""

import argparse
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route


def build(file: Path) -> Starlette:
    async def ready(request: Request) -> Response:
        return Response(b"{}", media_type="application/json")

    async def serve(request: Request) -> Response:
        return FileResponse(file, media_type="image/png")

    return Starlette(routes=[Route("/.well-known/openwop", ready), Route("/file", serve)])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    uvicorn.run(
        build(given.file),
        port=given.port,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
    )


if __name__ == "__main__":
    main()
