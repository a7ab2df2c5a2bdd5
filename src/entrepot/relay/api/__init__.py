"""Routes of the relay, a module for each noun."""
