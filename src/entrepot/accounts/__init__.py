"""People, sessions, keys, audit."""
