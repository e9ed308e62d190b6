"""The node SDK: functions on which node types and Python nodes build, in addition to the ports.

The SDK uses only `ports.nodes.NodeContext`, which records everything. It keeps no state between two calls and does not
depend on the engine that runs the node, so it works with any implementation of that port. `model_request` builds
requests to models; `generation` calls a model until it has returned a text, a value or an envelope.
"""
