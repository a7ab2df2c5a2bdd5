-- The seed would drop `id` too; heartbeats refer to it, and legacy boards still send it.
ALTER TABLE devices DROP COLUMN api_key, DROP COLUMN api_key_hash;
