-- Heartbeats by month. The primary key of a partitioned table holds the column that partitions it.
ALTER TABLE device_heartbeats RENAME TO device_heartbeats_legacy;
CREATE TABLE device_heartbeats (
  id bigint GENERATED ALWAYS AS IDENTITY,
  device_id uuid NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
  composite_device_id text,
  rssi integer,
  ip_address text,
  fw_version text,
  ts timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (id, ts)
) PARTITION BY RANGE (ts);
CREATE INDEX idx_device_heartbeats_device_id ON device_heartbeats (device_id, ts DESC);
CREATE INDEX idx_device_heartbeats_composite_id ON device_heartbeats (composite_device_id, ts DESC);
-- Rows arrive nearly in order of time: a summary per range of pages costs next to nothing.
CREATE INDEX idx_device_heartbeats_ts ON device_heartbeats USING brin (ts);

-- Makes the partitions from 30 days ago to two months ahead, drops those that are wholly older than 30 days.
CREATE FUNCTION fleet_keep_partitions(at timestamptz) RETURNS TABLE (made text[], dropped text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public SET timezone = 'UTC' AS $$
DECLARE
  month timestamptz;
  part text;
BEGIN
  made := '{}';
  dropped := '{}';
  FOR month IN SELECT generate_series(date_trunc('month', at - interval '30 days'),
                                      date_trunc('month', at) + interval '2 months', interval '1 month') LOOP
    part := 'device_heartbeats_' || to_char(month, 'YYYY_MM');
    CONTINUE WHEN to_regclass(part) IS NOT NULL;
    EXECUTE format('CREATE TABLE %I PARTITION OF device_heartbeats FOR VALUES FROM (%L) TO (%L)',
                   part, month, month + interval '1 month');
    -- Policies of the parent do not hold for one who asks the partition itself: it is closed.
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', part);
    EXECUTE format('REVOKE ALL ON %I FROM anon, authenticated', part);
    made := made || part;
  END LOOP;
  FOR part IN SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid
    WHERE inhparent = 'device_heartbeats'::regclass AND relname ~ '^device_heartbeats_[0-9]{4}_[0-9]{2}$' LOOP
    month := to_timestamp(right(part, 7), 'YYYY_MM');
    IF month + interval '1 month' < at - interval '30 days' THEN
      EXECUTE format('DROP TABLE %I', part);
      dropped := dropped || part;
    END IF;
  END LOOP;
  RETURN NEXT;
END
$$;

SELECT fleet_keep_partitions(now());
INSERT INTO device_heartbeats (device_id, rssi, ip_address, fw_version, ts)
  SELECT device_id, rssi, ip_address, fw_version, ts FROM device_heartbeats_legacy
  WHERE ts >= now() - interval '30 days' AND ts <= now() ORDER BY ts;
DROP TABLE device_heartbeats_legacy;

CREATE TABLE device_status_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  device_id uuid NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
  composite_device_id text NOT NULL,
  user_id uuid NOT NULL,
  from_status text NOT NULL CHECK (from_status IN ('waiting', 'online', 'offline')),
  to_status text NOT NULL CHECK (to_status IN ('waiting', 'online', 'offline')),
  reason text NOT NULL CHECK (reason IN ('first_heartbeat', 'heartbeat', 'silence')),
  at timestamptz NOT NULL,
  recorded_at timestamptz NOT NULL
);
CREATE INDEX idx_device_status_events_user_id ON device_status_events (user_id, id DESC);
CREATE INDEX idx_device_status_events_device_id ON device_status_events (device_id, at DESC);

CREATE FUNCTION fleet_tell_listeners() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM fresh) THEN
    PERFORM pg_notify('fleet_events', '');
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER tell_listeners AFTER INSERT ON device_status_events
  REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION fleet_tell_listeners();

-- Domain events on their way to the relay, written in the transaction of the change.
CREATE TABLE fleet_outbox (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  user_id uuid NOT NULL,
  type text NOT NULL,
  subject text NOT NULL,
  data jsonb NOT NULL,
  time timestamptz NOT NULL
);

-- Since when, without a gap, some process of ours has been taking heartbeats. One row.
CREATE TABLE fleet_listening (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  since timestamptz NOT NULL,
  heard_until timestamptz NOT NULL,
  postgres_started_at timestamptz NOT NULL
);
INSERT INTO fleet_listening (since, heard_until, postgres_started_at) VALUES (now(), now(), pg_postmaster_start_time());

-- The owner's UUID comes from the accounts; on Supabase the row is there already.
CREATE FUNCTION fleet_know_user(person uuid) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public AS
  $$ INSERT INTO auth.users (id) VALUES (person) ON CONFLICT DO NOTHING $$;
CREATE FUNCTION fleet_forget_user(person uuid) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public AS
  $$ DELETE FROM auth.users WHERE id = person $$;

-- Row-level security, on and forced. The seed's policies; `(SELECT auth.uid())` is asked once and not per row.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['projects', 'devices', 'device_heartbeats', 'device_status_events',
                              'device_migration_log', 'fleet_outbox', 'fleet_listening', 'fleet_version'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('REVOKE ALL ON %I FROM anon, authenticated', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO service_role', name);
  END LOOP;
END
$$;
REVOKE ALL ON fleet_version FROM service_role;
-- Forced security holds for the owner too, who has to know the phase and what has moved.
DO $$
BEGIN
  EXECUTE format('CREATE POLICY "The owner migrates" ON fleet_version TO %I USING (true)', current_user);
  EXECUTE format('CREATE POLICY "The owner reads the log" ON device_migration_log TO %I USING (true)', current_user);
END
$$;

CREATE POLICY "Users can view their own projects" ON projects FOR SELECT
  USING ((SELECT auth.uid()) = user_id);
CREATE POLICY "Users can create projects" ON projects FOR INSERT
  WITH CHECK ((SELECT auth.uid()) = user_id);
CREATE POLICY "Users can update their own projects" ON projects FOR UPDATE
  USING ((SELECT auth.uid()) = user_id) WITH CHECK ((SELECT auth.uid()) = user_id);
CREATE POLICY "Users can delete their own projects" ON projects FOR DELETE
  USING ((SELECT auth.uid()) = user_id);

CREATE POLICY "Users can view their own devices" ON devices FOR SELECT
  USING ((SELECT auth.uid()) = user_id);
CREATE POLICY "Users can create devices" ON devices FOR INSERT
  WITH CHECK ((SELECT auth.uid()) = user_id);
CREATE POLICY "Users can update their own devices" ON devices FOR UPDATE
  USING ((SELECT auth.uid()) = user_id) WITH CHECK ((SELECT auth.uid()) = user_id);
CREATE POLICY "Users can delete their own devices" ON devices FOR DELETE
  USING ((SELECT auth.uid()) = user_id);
CREATE POLICY "Service role can update device status" ON devices FOR UPDATE
  USING ((SELECT auth.role()) = 'service_role');

-- As an array, which is made once, where the seed has IN (SELECT …).
CREATE POLICY "Users can view their device heartbeats" ON device_heartbeats FOR SELECT
  USING (device_id = ANY (ARRAY(SELECT id FROM devices WHERE user_id = auth.uid())));
CREATE POLICY "Service role can insert heartbeats" ON device_heartbeats FOR INSERT
  WITH CHECK ((SELECT auth.role()) = 'service_role');

CREATE POLICY "Users can view their status events" ON device_status_events FOR SELECT
  USING ((SELECT auth.uid()) = user_id);
-- A status is read beside the time since which silence counts; that is nobody's secret.
CREATE POLICY "Users can see since when we listen" ON fleet_listening FOR SELECT USING (true);

-- What the API changes, and no more: an id, an owner or a status is not theirs to write.
GRANT SELECT, DELETE ON projects, devices TO authenticated;
GRANT INSERT ON projects, devices TO authenticated;
GRANT UPDATE (name, description, status, updated_at) ON projects TO authenticated;
GRANT UPDATE (name, hardware_id, device_key, device_key_hash, updated_at) ON devices TO authenticated;
GRANT SELECT ON device_heartbeats, device_status_events, fleet_listening TO authenticated;
REVOKE ALL ON SEQUENCE projects_seq FROM PUBLIC, anon, authenticated;
REVOKE ALL ON FUNCTION fleet_keep_partitions(timestamptz), fleet_know_user(uuid), fleet_forget_user(uuid)
  FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION fleet_keep_partitions(timestamptz), fleet_know_user(uuid), fleet_forget_user(uuid)
  TO service_role;
-- Whoever makes a project takes the next id; nobody else has a use for one.
REVOKE ALL ON FUNCTION generate_project_id(), create_project(text, text, timestamptz) FROM PUBLIC, anon;
GRANT EXECUTE ON FUNCTION generate_project_id(), create_project(text, text, timestamptz)
  TO authenticated, service_role;
