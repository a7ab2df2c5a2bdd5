"""Projects, boards and their heartbeats on PostgreSQL (seed 002)."""
