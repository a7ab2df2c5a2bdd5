CREATE TABLE projects (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  project_id text NOT NULL,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  description text CHECK (char_length(description) <= 1000),
  user_id uuid NOT NULL REFERENCES auth.users (id) ON DELETE CASCADE,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived')),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- Without leading zeros, so that each project has one spelling; PROJ0 is the legacy one.
  CONSTRAINT projects_project_id_form CHECK (project_id ~ '^(PROJ(0|[1-9][0-9]{0,2})|P[1-9][0-9]{3})$'),
  -- What devices refer to: a device's project is always one of its owner's.
  CONSTRAINT projects_project_id_user_id_key UNIQUE (project_id, user_id)
);
CREATE UNIQUE INDEX idx_projects_project_id ON projects (project_id);
CREATE UNIQUE INDEX idx_projects_name ON projects (name);
CREATE INDEX idx_projects_user_id ON projects (user_id);
CREATE INDEX idx_projects_created_at ON projects (created_at DESC);

-- CACHE 1: with the seed's 50 each connection would burn 50 ids.
CREATE SEQUENCE projects_seq START 1 INCREMENT 1 MINVALUE 1 MAXVALUE 9999 CACHE 1 NO CYCLE;

CREATE FUNCTION generate_project_id() RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public AS $$
  SELECT CASE WHEN n < 1000 THEN 'PROJ' ELSE 'P' END || n FROM nextval('projects_seq') AS n
$$;

CREATE FUNCTION create_project(project_name text, project_description text, made_at timestamptz DEFAULT now())
RETURNS projects LANGUAGE sql VOLATILE SET search_path = public AS $$
  INSERT INTO projects (project_id, name, description, user_id, created_at, updated_at)
  VALUES (generate_project_id(), project_name, project_description, auth.uid(), made_at, made_at)
  RETURNING *
$$;

CREATE TABLE device_migration_log (
  id bigserial PRIMARY KEY,
  device_uuid uuid NOT NULL,
  -- The seed keeps the old key itself; a log is no place for one.
  old_api_key_hash text,
  new_composite_id text NOT NULL,
  new_project_id text NOT NULL,
  new_device_number integer NOT NULL,
  migration_phase text NOT NULL,
  migrated_at timestamptz NOT NULL DEFAULT now(),
  migrated_by text NOT NULL
);
CREATE INDEX idx_device_migration_log_device_uuid ON device_migration_log (device_uuid);
CREATE INDEX idx_device_migration_log_composite_id ON device_migration_log (new_composite_id);
CREATE INDEX idx_device_migration_log_migrated_at ON device_migration_log (migrated_at DESC);

-- The new columns, empty until phase 3. Those that a legacy table has already stay as they are, and on the way back
-- only the ones with our remark go.
DO $$
DECLARE
  wanted text[][] := ARRAY[
    ['composite_device_id', 'text'], ['project_id', 'text'], ['device_number', 'integer'],
    ['name', 'text'], ['device_key', 'text'], ['device_key_hash', 'text'],
    ['rssi', 'integer'], ['ip_address', 'text'], ['fw_version', 'text'], ['hardware_id', 'text'],
    ['created_at', 'timestamptz NOT NULL DEFAULT now()'], ['updated_at', 'timestamptz NOT NULL DEFAULT now()']];
  one text[];
BEGIN
  FOREACH one SLICE 1 IN ARRAY wanted LOOP
    IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'devices'::regclass AND attname = one[1]) THEN
      EXECUTE format('ALTER TABLE devices ADD COLUMN %I %s', one[1], one[2]);
      EXECUTE format('COMMENT ON COLUMN devices.%I IS %L', one[1], 'added by entrepot');
    END IF;
  END LOOP;
END
$$;
