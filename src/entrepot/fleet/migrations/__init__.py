"""The schema, one revision per phase of the seed; the SQL stands beside it to be read."""
