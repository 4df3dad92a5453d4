"""Graphs in profiles, differences and the report's page."""
