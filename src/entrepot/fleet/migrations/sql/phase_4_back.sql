-- The hashes come back, and by them legacy boards are known; the keys themselves are gone for good.
ALTER TABLE devices NO FORCE ROW LEVEL SECURITY;
ALTER TABLE devices ADD COLUMN api_key text, ADD COLUMN api_key_hash text;
UPDATE devices SET api_key_hash = nullif(device_key_hash, 'none');
ALTER TABLE devices FORCE ROW LEVEL SECURITY;
