-- The rights of three roles. Run this as the owner, after each `migrate`:
--
--   psql "$OWNER_URL" -v ON_ERROR_STOP=1 -f db/grants.sql
--
-- An administrator creates roles and database once:
--
--   CREATE ROLE notifications_owner LOGIN PASSWORD '…';     -- runs `migrate`, and owns what it creates
--   CREATE ROLE notifications_service LOGIN PASSWORD '…';   -- runs `serve` and `doctor`
--   CREATE ROLE notifications_operator LOGIN PASSWORD '…';  -- runs all other commands
--   CREATE DATABASE notifications OWNER notifications_owner;
--   REVOKE CONNECT, TEMPORARY ON DATABASE notifications FROM PUBLIC;
--   GRANT CONNECT ON DATABASE notifications TO notifications_service, notifications_operator;

BEGIN;

GRANT USAGE ON SCHEMA notifications TO notifications_service, notifications_operator;
GRANT SELECT ON ALL TABLES IN SCHEMA notifications TO notifications_service, notifications_operator;
-- Everyone may run a function, unless the owner's default privileges forbid it.
GRANT EXECUTE ON FUNCTION notifications.next_id() TO notifications_service, notifications_operator;

-- The service deletes nothing, and its decisions are append-only.
GRANT INSERT, UPDATE ON
  notifications.notification_log,
  notifications.notification_preferences,
  notifications.projection_checkpoints,
  notifications.checkpoint_message,
  notifications.request,
  notifications.replica
TO notifications_service;
GRANT INSERT ON
  notifications.decision,
  notifications.preference_change,
  notifications.rejected_message,
  notifications.redrive,
  notifications.ruleset,
  notifications.template_revision,
  notifications.envelope_map,
  notifications.rule_table_activation
TO notifications_service;

-- replay --rebuild; erase blanks texts and contacts; prune deletes.
GRANT INSERT, UPDATE, DELETE ON notifications.notification_log, notifications.decision TO notifications_operator;
GRANT UPDATE ON notifications.notification_preferences, notifications.preference_change TO notifications_operator;
GRANT UPDATE, DELETE ON notifications.rejected_message, notifications.redrive TO notifications_operator;
GRANT INSERT, UPDATE ON notifications.erasure, notifications.pruning TO notifications_operator;
GRANT INSERT, UPDATE, DELETE ON notifications.pruned_partition TO notifications_operator;
-- checkpoints set; erase blanks reasons.
GRANT INSERT, UPDATE ON notifications.projection_checkpoints TO notifications_operator;
GRANT INSERT, UPDATE ON notifications.checkpoint_change TO notifications_operator;
-- Commands add requests, which the service carries out; prune deletes old ones.
GRANT INSERT, UPDATE, DELETE ON notifications.request TO notifications_operator;

-- Earlier versions granted the operator rights of tasks that are now the service's.
REVOKE INSERT ON notifications.redrive, notifications.rejected_message FROM notifications_operator;
REVOKE INSERT, UPDATE ON notifications.checkpoint_message FROM notifications_operator;
REVOKE INSERT ON notifications.ruleset, notifications.template_revision, notifications.envelope_map FROM notifications_operator;

COMMIT;
