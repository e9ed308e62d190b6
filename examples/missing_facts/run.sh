#!/bin/sh
# Starts a run of missing-facts. MODEL=PROVIDER/MODEL names a model of the host; by default, the host chooses.
if [ -n "${MODEL:-}" ]; then
  set -- --configurable "ai.provider=${MODEL%%/*}" --configurable "ai.model=${MODEL#*/}" "$@"
fi
exec weftwork run missing-facts --input invoice=@examples/missing_facts/invoice.txt --untrusted "$@"
