"""Every statement of the fleet, by name; `$now` is always the service's clock, never the database's."""

from __future__ import annotations

# Silence counts from the last heartbeat, or from when we began to listen, whichever was later.
_HEARD_AT = "greatest(d.last_seen_at, (SELECT since FROM fleet_listening))"
_SILENCE = "interval '2 minutes'"

PROJECT_COLUMNS = "id, project_id, name, description, status, created_at, updated_at"


def device_columns(now: str) -> str:
    """A device's columns, with the status that is true at this time even when the sweep is late."""
    return f"""d.id, d.composite_device_id, d.project_id, d.device_number, d.name, d.device_key AS device_key_hint,
      CASE WHEN d.status = 'online' AND {_HEARD_AT} < {now}::timestamptz - {_SILENCE}
           THEN 'offline' ELSE d.status END AS status,
      d.last_seen_at, d.rssi, d.ip_address, d.fw_version, d.hardware_id, d.created_at, d.updated_at"""


# Projects

PROJECT_CREATE = f"SELECT {PROJECT_COLUMNS} FROM create_project($1, $2, $3)"
PROJECT_GET = f"SELECT {PROJECT_COLUMNS} FROM projects WHERE project_id = $1"
PROJECTS_OF_USER = f"""
SELECT {PROJECT_COLUMNS} FROM projects
WHERE status = ANY($1::text[]) AND (created_at, id) < ($2, $3)
ORDER BY created_at DESC, id DESC LIMIT $4"""
PROJECT_CHANGE = f"""
UPDATE projects SET name = coalesce($2, name), description = CASE WHEN $3::boolean THEN $4 ELSE description END,
  status = coalesce($5, status), updated_at = $6
WHERE project_id = $1 RETURNING {PROJECT_COLUMNS}"""
PROJECTS_COUNT = "SELECT count(*) FROM projects"
# The row is locked, so that registrations in one project take turns and see each other's numbers.
PROJECT_LOCK = "SELECT status FROM projects WHERE project_id = $1 FOR UPDATE"
PROJECT_DELETE = "DELETE FROM projects WHERE project_id = $1 RETURNING project_id"
NUMBERS_TAKEN = "SELECT device_number FROM devices WHERE project_id = $1"

# Devices

DEVICE_REGISTER = f"""
INSERT INTO devices AS d (composite_device_id, project_id, device_number, name, device_key, device_key_hash, user_id,
                          hardware_id, status, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'waiting', $9, $9) RETURNING {device_columns("$9")}"""
DEVICES_OF_PROJECT = f"""
SELECT {device_columns("$2")} FROM devices d WHERE d.project_id = $1 ORDER BY d.device_number"""
DEVICE_GET = f"SELECT {device_columns('$2')} FROM devices d WHERE d.composite_device_id = $1"
DEVICE_CHANGE = f"""
UPDATE devices d SET name = coalesce($3, d.name),
  hardware_id = CASE WHEN $4::boolean THEN $5 ELSE d.hardware_id END, updated_at = $2
WHERE d.composite_device_id = $1 RETURNING {device_columns("$2")}"""
DEVICE_KEY_CHANGE = f"""
UPDATE devices d SET device_key = $3, device_key_hash = $4, updated_at = $2
WHERE d.composite_device_id = $1 RETURNING {device_columns("$2")}"""
DEVICE_KEY_HASH = "SELECT device_key_hash FROM devices WHERE composite_device_id = $1"
DEVICE_DELETE = "DELETE FROM devices WHERE composite_device_id = $1 RETURNING id"

# History

# The id comes first and alone: with the device known, the index of (device_id, ts) answers in order.
HEARTBEATS_OF_DEVICE = """
SELECT id, rssi, ip_address, fw_version, ts FROM device_heartbeats
WHERE device_id = $1 AND ts >= $2 AND ts <= $3 AND (ts, id) < ($3, $4::bigint)
ORDER BY ts DESC, id DESC LIMIT $5"""
DEVICE_HISTORY_START = f"""
SELECT d.id, d.status, {_HEARD_AT} AS heard_at FROM devices d WHERE d.composite_device_id = $1"""
EVENTS_OF_USER = """
SELECT id, composite_device_id, from_status, to_status, reason, at FROM device_status_events
WHERE user_id = auth.uid() AND id < $1 ORDER BY id DESC LIMIT $2"""
# Numbers are given before commits: a window of time, and not the last number, finds the one that came late.
EVENTS_SINCE = """
SELECT id, composite_device_id, from_status, to_status, reason, at FROM device_status_events
WHERE user_id = auth.uid() AND id > $1 AND recorded_at > $2 ORDER BY id LIMIT $3"""
EVENTS_LATEST = "SELECT coalesce(max(id), 0) FROM device_status_events WHERE user_id = auth.uid()"
CHANGES_BETWEEN = """
(SELECT at, id, to_status FROM device_status_events WHERE device_id = $1 AND at <= $2 ORDER BY at DESC, id DESC LIMIT 1)
UNION ALL
(SELECT at, id, to_status FROM device_status_events WHERE device_id = $1 AND at > $2 AND at < $3
 ORDER BY at, id LIMIT $4)
ORDER BY at, id"""

# Boards

_RECORD = """
changes AS (
  INSERT INTO device_status_events
    (device_id, composite_device_id, user_id, from_status, to_status, reason, at, recorded_at)
  SELECT id, composite_device_id, user_id, from_status, to_status, reason, at, {now} FROM change ORDER BY id, step
  RETURNING composite_device_id, user_id, from_status, to_status, reason, at
),
told AS (
  INSERT INTO fleet_outbox (user_id, type, subject, data, time)
  SELECT user_id, 'fleet.device.' || to_status, composite_device_id,
         jsonb_build_object('composite_device_id', composite_device_id, 'from', from_status, 'to', to_status,
                            'reason', reason, 'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')), at
  FROM changes
)"""

# One round trip for any number of boards: locked in one order, judged, kept, and every change told.
# The hashes are compared hashed again with a random value, so that the time it takes says nothing of them.
_HEARTBEATS = f"""
WITH beat AS MATERIALIZED (
  SELECT * FROM unnest($1::{{kind}}[], $2::text[], $3::integer[], $4::text[], $5::text[], $6::timestamptz[])
    WITH ORDINALITY AS b (name, key_hash, rssi, ip_address, fw_version, ts, n)
),
board AS MATERIALIZED (
  SELECT d.id, d.composite_device_id, d.user_id, d.status, d.device_key_hash, {_HEARD_AT} AS heard_at
  FROM devices d WHERE d.{{column}} = ANY ($1::{{kind}}[]) ORDER BY d.id FOR NO KEY UPDATE OF d
),
judged AS MATERIALIZED (
  SELECT b.*, d.id, d.composite_device_id, d.user_id, d.status, d.heard_at,
    sha256(convert_to(d.device_key_hash || $7, 'UTF8')) = sha256(convert_to(b.key_hash || $7, 'UTF8')) AS known
  FROM beat b LEFT JOIN board d ON d.{{column}} = b.name
),
last AS MATERIALIZED (
  SELECT DISTINCT ON (id) * FROM judged WHERE known ORDER BY id, n DESC
),
kept AS (
  INSERT INTO device_heartbeats (device_id, composite_device_id, rssi, ip_address, fw_version, ts)
  SELECT id, composite_device_id, rssi, ip_address, fw_version, ts FROM judged WHERE known ORDER BY n
),
heard AS (
  UPDATE devices d SET status = 'online', last_seen_at = greatest(d.last_seen_at, $8),
    rssi = coalesce(l.rssi, d.rssi), ip_address = coalesce(l.ip_address, d.ip_address),
    fw_version = coalesce(l.fw_version, d.fw_version)
  FROM last l WHERE d.id = l.id
),
change AS (
  SELECT id, composite_device_id, user_id, 1 AS step, 'online' AS from_status, 'offline' AS to_status,
         'silence' AS reason, heard_at + {_SILENCE} AS at
  FROM last WHERE status = 'online' AND heard_at < $8::timestamptz - {_SILENCE}
  UNION ALL
  SELECT id, composite_device_id, user_id, 2, CASE WHEN status = 'waiting' THEN 'waiting' ELSE 'offline' END, 'online',
         CASE WHEN status = 'waiting' THEN 'first_heartbeat' ELSE 'heartbeat' END, $8::timestamptz
  FROM last WHERE status <> 'online' OR heard_at < $8::timestamptz - {_SILENCE}
),
{_RECORD.format(now="$8")}
SELECT composite_device_id, known FROM judged ORDER BY n"""

HEARTBEATS_BY_NAME = _HEARTBEATS.format(kind="text", column="composite_device_id")
HEARTBEATS_BY_UUID = _HEARTBEATS.format(kind="uuid", column="id")

# The time is looked at again in the UPDATE: a heartbeat may have come since the board was found silent.
# In the order of the seed's index of online boards; who skips what is locked needs no common order of locks.
SWEEP = f"""
WITH listening AS MATERIALIZED (
  SELECT since FROM fleet_listening
  WHERE since < $1::timestamptz - {_SILENCE} AND heard_until >= $1::timestamptz - $3::interval
    AND postgres_started_at = pg_postmaster_start_time()
),
silent AS MATERIALIZED (
  SELECT d.id FROM devices d WHERE d.status = 'online' AND d.last_seen_at < $1::timestamptz - {_SILENCE}
    AND EXISTS (SELECT FROM listening)
  ORDER BY d.last_seen_at LIMIT $2 FOR NO KEY UPDATE OF d SKIP LOCKED
),
gone AS (
  UPDATE devices d SET status = 'offline'
  WHERE d.id = ANY (ARRAY(SELECT id FROM silent)) AND d.status = 'online'
    AND d.last_seen_at < $1::timestamptz - {_SILENCE}
  RETURNING d.id, d.composite_device_id, d.user_id, d.last_seen_at
),
change AS (
  SELECT g.id, g.composite_device_id, g.user_id, 1 AS step, 'online' AS from_status, 'offline' AS to_status,
         'silence' AS reason, greatest(g.last_seen_at, l.since) + {_SILENCE} AS at
  FROM gone g CROSS JOIN listening l
),
{_RECORD.format(now="$1")}
SELECT count(*) FROM gone"""
SWEEP_LOCK = "SELECT pg_try_advisory_xact_lock(hashtext('entrepot fleet sweep'))"

# We listen without a gap, unless we just started, or PostgreSQL did, or nobody has said so for too long.
LISTEN = """
UPDATE fleet_listening SET
  since = CASE WHEN $2::boolean OR postgres_started_at <> pg_postmaster_start_time()
                 OR heard_until < $1::timestamptz - $3::interval
               THEN $1::timestamptz ELSE since END,
  heard_until = greatest(heard_until, $1),
  postgres_started_at = pg_postmaster_start_time()"""

KEEP_PARTITIONS = "SELECT made, dropped FROM fleet_keep_partitions($1)"

# The outbox

OUTBOX_TAKE = """
SELECT number, id, user_id, type, subject, data, time FROM fleet_outbox
ORDER BY number LIMIT $1 FOR UPDATE SKIP LOCKED"""
OUTBOX_DONE = "DELETE FROM fleet_outbox WHERE number = ANY ($1::bigint[])"
OUTBOX_PRUNE = "DELETE FROM fleet_outbox WHERE time < $1"

# People

USER_KNOW = "SELECT fleet_know_user($1)"
USER_FORGET = "SELECT fleet_forget_user($1)"
