"""The wire, independent of its version: routes, OpenAPI, streams, idempotency, discovery."""
