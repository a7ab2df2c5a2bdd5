-- Roles and the auth schema as Supabase has them; on Supabase all of this is there already.
DO $$
DECLARE
  wanted text[][] := ARRAY[
    ['anon', 'NOLOGIN NOINHERIT'],
    ['authenticated', 'NOLOGIN NOINHERIT'],
    ['service_role', 'NOLOGIN NOINHERIT BYPASSRLS'],
    ['authenticator', 'LOGIN NOINHERIT']];
  one text[];
BEGIN
  -- Roles belong to the whole server: two databases may want to make them at once.
  PERFORM pg_advisory_xact_lock(hashtext('entrepot roles'));
  FOREACH one SLICE 1 IN ARRAY wanted LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = one[1]) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I %s', one[1], one[2]);
      EXCEPTION WHEN duplicate_object OR unique_violation THEN
        NULL;
      END;
      IF one[1] = 'authenticator' THEN
        GRANT anon, authenticated, service_role TO authenticator;
        EXECUTE format('GRANT anon, authenticated, service_role TO %I', current_user);
      END IF;
    END IF;
  END LOOP;
END
$$;

CREATE SCHEMA IF NOT EXISTS auth;

DO $$
BEGIN
  IF to_regclass('auth.users') IS NULL THEN
    CREATE TABLE auth.users (id uuid PRIMARY KEY);
    ALTER TABLE auth.users ENABLE ROW LEVEL SECURITY;
  END IF;
  IF to_regprocedure('auth.uid()') IS NULL THEN
    CREATE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS
      $f$ SELECT (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid $f$;
  END IF;
  IF to_regprocedure('auth.role()') IS NULL THEN
    CREATE FUNCTION auth.role() RETURNS text LANGUAGE sql STABLE AS
      $f$ SELECT nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role' $f$;
  END IF;
  GRANT USAGE ON SCHEMA auth, public TO anon, authenticated, service_role;
EXCEPTION WHEN insufficient_privilege THEN
  -- Supabase grants this itself, and its schema auth belongs to another role.
  NULL;
END
$$;

CREATE TABLE IF NOT EXISTS devices (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  api_key text,
  api_key_hash text,
  user_id uuid NOT NULL REFERENCES auth.users (id) ON DELETE CASCADE,
  status text NOT NULL DEFAULT 'waiting',
  last_seen_at timestamptz
);

CREATE TABLE IF NOT EXISTS device_heartbeats (
  id bigserial PRIMARY KEY,
  device_id uuid NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
  rssi integer,
  ip_address text,
  fw_version text,
  ts timestamptz NOT NULL DEFAULT now()
);
