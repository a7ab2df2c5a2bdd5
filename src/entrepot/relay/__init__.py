"""Webhooks arrive, are kept, filtered, reshaped and delivered."""
