ALTER TABLE projects NO FORCE ROW LEVEL SECURITY;
ALTER TABLE devices NO FORCE ROW LEVEL SECURITY;
ALTER TABLE device_migration_log NO FORCE ROW LEVEL SECURITY;

DROP INDEX idx_devices_composite_id, idx_devices_project_device_number, idx_devices_user_status,
  idx_devices_status_last_seen;
ALTER TABLE device_heartbeats ALTER COLUMN composite_device_id DROP NOT NULL;
ALTER TABLE devices
  DROP CONSTRAINT devices_project_fkey,
  DROP CONSTRAINT devices_composite_id_form,
  DROP CONSTRAINT devices_status_known,
  DROP CONSTRAINT devices_name_length,
  DROP CONSTRAINT devices_device_number_range,
  ALTER COLUMN composite_device_id DROP NOT NULL,
  ALTER COLUMN project_id DROP NOT NULL,
  ALTER COLUMN device_number DROP NOT NULL,
  ALTER COLUMN name DROP NOT NULL,
  ALTER COLUMN device_key DROP NOT NULL,
  ALTER COLUMN device_key_hash DROP NOT NULL;

-- Only what the migration gave is taken back; boards that were registered since keep their ids.
UPDATE devices d SET project_id = NULL, device_number = NULL, composite_device_id = NULL
  FROM device_migration_log l
  WHERE l.device_uuid = d.id AND l.new_composite_id = d.composite_device_id AND l.migration_phase = 'phase_3_batch';
-- A key hash that a device did not have before is only wanted by the legacy column.
UPDATE devices SET api_key_hash = device_key_hash WHERE api_key_hash IS NULL AND device_key_hash <> 'none';
DELETE FROM projects p USING device_migration_log l
  WHERE l.new_project_id = p.project_id AND NOT EXISTS (SELECT FROM devices d WHERE d.project_id = p.project_id);
UPDATE device_migration_log SET migration_phase = 'phase_3_taken_back' WHERE migration_phase = 'phase_3_batch';

ALTER TABLE projects FORCE ROW LEVEL SECURITY;
ALTER TABLE devices FORCE ROW LEVEL SECURITY;
ALTER TABLE device_migration_log FORCE ROW LEVEL SECURITY;
