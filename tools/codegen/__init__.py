"""Turns `openapi.yaml` into the tables, types and reference pages that are committed beside it."""
