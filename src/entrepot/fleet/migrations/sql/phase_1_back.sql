DO $$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT attname FROM pg_attribute WHERE attrelid = 'devices'::regclass
    AND col_description(attrelid, attnum) = 'added by entrepot' LOOP
    EXECUTE format('ALTER TABLE devices DROP COLUMN %I', name);
  END LOOP;
END
$$;
DROP FUNCTION create_project(text, text, timestamptz);
DROP FUNCTION generate_project_id();
DROP SEQUENCE projects_seq;
DROP TABLE projects;
DROP TABLE device_migration_log;
