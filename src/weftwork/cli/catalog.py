"""The workflows of a host, for whoever asks: a client with a key over HTTP, or the operator on its own machine."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import click
from click.core import ParameterSource

from weftwork.cli.client import Client, Refused, segment
from weftwork.cli.operator import Operator
from weftwork.protocol.json_value import is_array, is_object


class Catalog(Protocol):
    """Workflows that can be started."""

    def all(self) -> Iterator[dict[str, Any]]:
        """By id, each with workflowId, name, version and versions as far as the host says."""
        ...

    def get(self, workflow_id: str, version: str | None) -> Any:
        """The definition. Raises what click shows to the user."""
        ...


@contextmanager
def chosen(client: Client, data: str | None, tenant: str) -> Generator[Catalog]:
    """Over HTTP if the command, or its environment, names a host or a key; else as the operator."""
    if not _as_operator():
        yield _OfClient(client)
        return
    with Operator(data) as operator:
        yield _OfOperator(operator, tenant)


def _as_operator() -> bool:
    source = click.get_current_context().get_parameter_source
    typed = {each for each in ("url", "key", "data", "tenant") if source(each) is ParameterSource.COMMANDLINE}
    if typed & {"data", "tenant"}:
        if typed & {"url", "key"}:
            raise click.UsageError("Name a host with --url and --key, or a data folder with --data and --tenant.")
        return True
    return source("url") is ParameterSource.DEFAULT and source("key") is ParameterSource.DEFAULT


class _OfClient:
    def __init__(self, client: Client) -> None:
        self._client = client

    def all(self) -> Iterator[dict[str, Any]]:
        cursor: Any = None
        while True:
            page = self._page(cursor)
            rows = page.get("workflows") if is_object(page) else None
            if not is_array(rows):
                raise click.ClickException("the host's answer to GET /v1/workflows is not a list of workflows.")
            yield from (row for row in rows if is_object(row))
            following = page.get("nextCursor")
            # A host that gives the same page again would never come to an end.
            if not following or following == cursor:
                return
            cursor = following

    def _page(self, cursor: Any) -> Any:
        try:
            return self._client.get("/v1/workflows", limit=200, cursor=cursor)
        except Refused as refused:
            if refused.status not in (404, 405, 501):
                raise
            text = "this host does not list workflows: GET /v1/workflows is not part of every OpenWOP host"
            raise click.ClickException(f"{text}. Name one: `weftwork workflows show ID`.") from None

    def get(self, workflow_id: str, version: str | None) -> Any:
        return self._client.get(f"/v1/workflows/{segment(workflow_id)}", version=version)


class _OfOperator:
    def __init__(self, operator: Operator, tenant: str) -> None:
        self._operator = operator
        self._tenant = tenant

    def all(self) -> Iterator[dict[str, Any]]:
        after: str | None = None
        while True:
            answer = self._operator.ask("workflows.list", {"tenant": self._tenant, "after": after})
            for row in answer["workflows"]:
                after = row.pop("id")
                yield {"workflowId": after, **row}
            if not answer["more"]:
                return

    def get(self, workflow_id: str, version: str | None) -> Any:
        from weftwork.protocol.decode import decode

        wanted = {"tenant": self._tenant, "workflow_id": workflow_id, "version": version}
        return decode(self._operator.ask("workflows.get", wanted)["definition"].encode())
