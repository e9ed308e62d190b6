"""The node SDK: what node types and Python nodes build on besides the ports.

Written against `ports.nodes.NodeContext`, which does everything that is recorded. Nothing here keeps state between two
calls or knows the engine that runs the node, so the SDK works with any implementation of that port. `model_request`
builds requests to models; `generation` asks a model until it has given a text, a value or an envelope.
"""
