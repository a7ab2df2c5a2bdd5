-- A migration sees every row, whoever runs it; forced again below.
ALTER TABLE projects NO FORCE ROW LEVEL SECURITY;
ALTER TABLE devices NO FORCE ROW LEVEL SECURITY;
ALTER TABLE device_heartbeats NO FORCE ROW LEVEL SECURITY;
ALTER TABLE device_migration_log NO FORCE ROW LEVEL SECURITY;

-- Who gets which number: users by their first device, devices by age, twenty to a project.
CREATE TEMPORARY TABLE plan ON COMMIT DROP AS
WITH legacy AS (
  SELECT id, user_id, created_at,
         min(created_at) OVER (PARTITION BY user_id) AS first_at,
         row_number() OVER (PARTITION BY user_id ORDER BY created_at, id) - 1 AS place
  FROM devices WHERE project_id IS NULL
)
SELECT id, user_id, (place % 20 + 1)::integer AS device_number,
       dense_rank() OVER (ORDER BY first_at, user_id, place / 20) AS chunk
FROM legacy;

-- PROJ0 for the first chunk of the first user, unless an earlier run gave it away; sequence ids for the others.
CREATE TEMPORARY TABLE chunks ON COMMIT DROP AS SELECT DISTINCT chunk, user_id, NULL::text AS project_id FROM plan;
DO $$
DECLARE
  one record;
  new_id text;
BEGIN
  FOR one IN SELECT chunk, user_id FROM chunks ORDER BY chunk LOOP
    IF one.chunk = 1 AND NOT EXISTS (SELECT FROM projects WHERE project_id = 'PROJ0') THEN
      new_id := 'PROJ0';
    ELSE
      new_id := generate_project_id();
    END IF;
    INSERT INTO projects (project_id, name, description, user_id)
    VALUES (new_id,
            CASE WHEN EXISTS (SELECT FROM projects WHERE name = 'Legacy ' || new_id)
                 THEN 'Legacy ' || new_id || ' ' || gen_random_uuid() ELSE 'Legacy ' || new_id END,
            'Devices from before projects.', one.user_id);
    UPDATE chunks SET project_id = new_id WHERE chunk = one.chunk;
  END LOOP;
END
$$;

WITH moved AS (
  UPDATE devices d SET
    project_id = c.project_id,
    device_number = p.device_number,
    composite_device_id = c.project_id || '-ESP' || p.device_number,
    name = coalesce(nullif(left(d.name, 100), ''), 'Device ' || p.device_number),
    -- The hash is what is compared; of the key only a hint stays.
    device_key_hash = coalesce(d.device_key_hash, d.api_key_hash,
      encode(sha256(convert_to(coalesce(d.device_key, d.api_key), 'UTF8')), 'hex'), 'none'),
    device_key = '…' || coalesce(right(coalesce(d.device_key, d.api_key), 4), ''),
    status = CASE WHEN d.status IN ('waiting', 'online', 'offline') THEN d.status ELSE 'offline' END
  FROM plan p JOIN chunks c USING (chunk)
  WHERE d.id = p.id
  RETURNING d.*
)
INSERT INTO device_migration_log
  (device_uuid, old_api_key_hash, new_composite_id, new_project_id, new_device_number, migration_phase, migrated_by)
SELECT id, device_key_hash, composite_device_id, project_id, device_number, 'phase_3_batch', 'entrepot fleet migrate'
FROM moved ORDER BY composite_device_id;
UPDATE device_heartbeats h SET composite_device_id = d.composite_device_id
  FROM devices d WHERE d.id = h.device_id AND h.composite_device_id IS DISTINCT FROM d.composite_device_id;

ALTER TABLE devices
  ALTER COLUMN composite_device_id SET NOT NULL,
  ALTER COLUMN project_id SET NOT NULL,
  ALTER COLUMN device_number SET NOT NULL,
  ALTER COLUMN name SET NOT NULL,
  ALTER COLUMN device_key SET NOT NULL,
  ALTER COLUMN device_key_hash SET NOT NULL,
  ADD CONSTRAINT devices_device_number_range CHECK (device_number BETWEEN 1 AND 20),
  ADD CONSTRAINT devices_name_length CHECK (char_length(name) BETWEEN 1 AND 100),
  ADD CONSTRAINT devices_status_known CHECK (status IN ('waiting', 'online', 'offline')),
  ADD CONSTRAINT devices_composite_id_form CHECK (composite_device_id = project_id || '-ESP' || device_number),
  -- Nobody plants a device in another's project: the project must be of the same owner.
  ADD CONSTRAINT devices_project_fkey FOREIGN KEY (project_id, user_id)
    REFERENCES projects (project_id, user_id) ON DELETE CASCADE;
ALTER TABLE device_heartbeats ALTER COLUMN composite_device_id SET NOT NULL;
CREATE UNIQUE INDEX idx_devices_composite_id ON devices (composite_device_id);
CREATE UNIQUE INDEX idx_devices_project_device_number ON devices (project_id, device_number);
CREATE INDEX idx_devices_user_status ON devices (user_id, status);
CREATE INDEX idx_devices_status_last_seen ON devices (status, last_seen_at DESC) WHERE status = 'online';

ALTER TABLE projects FORCE ROW LEVEL SECURITY;
ALTER TABLE devices FORCE ROW LEVEL SECURITY;
ALTER TABLE device_heartbeats FORCE ROW LEVEL SECURITY;
ALTER TABLE device_migration_log FORCE ROW LEVEL SECURITY;
