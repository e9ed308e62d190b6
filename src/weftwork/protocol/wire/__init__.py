"""The HTTP interface independent of its version: routes, OpenAPI, streams, idempotency, discovery."""
