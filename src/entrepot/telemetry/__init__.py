"""Sensors report in."""
