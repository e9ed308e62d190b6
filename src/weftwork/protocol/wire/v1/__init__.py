"""The tables of OpenWOP v1: operations, paths, scopes and parameters."""
