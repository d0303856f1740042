-- Why: the service's own schema. Three tables are the specification's (the log, the preferences and the
-- checkpoints), the others let every row say why it is as it is: decisions are append-only, and the log is a
-- projection of them. Keys are compared byte by byte (COLLATE "C"): they are identifiers, not words.

-- Up Migration

CREATE SCHEMA IF NOT EXISTS notifications;

CREATE TABLE notifications.notification_log (
  locator text COLLATE "C" CONSTRAINT notification_log_pkey PRIMARY KEY,
  event_id text COLLATE "C" NOT NULL,
  party_locator text COLLATE "C",
  event_type text COLLATE "C" NOT NULL,
  channel text NOT NULL,
  status text NOT NULL,
  subject text,
  body text,
  failure_reason text,
  attempt_count integer NOT NULL,
  sent_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_attempt_at timestamptz,
  -- The idempotency key: one row per event, for as long as the row exists.
  CONSTRAINT notification_log_event_id_key UNIQUE (event_id),
  CONSTRAINT notification_log_locator_shape CHECK (starts_with(locator, 'NTF-')),
  CONSTRAINT notification_log_event_id_not_empty CHECK (event_id <> ''),
  CONSTRAINT notification_log_channel_known CHECK (channel IN ('EMAIL', 'SMS', 'IN_APP')),
  CONSTRAINT notification_log_status_known CHECK (status IN ('SENT', 'FAILED', 'SKIPPED')),
  CONSTRAINT notification_log_sent_has_time CHECK ((status = 'SENT') = (sent_at IS NOT NULL)),
  CONSTRAINT notification_log_not_sent_has_reason CHECK ((status = 'SENT') = (failure_reason IS NULL)),
  CONSTRAINT notification_log_skipped_has_no_text
    CHECK ((status = 'SKIPPED') = (body IS NULL) AND (status = 'SKIPPED') = (subject IS NULL)),
  CONSTRAINT notification_log_attempt_count_known
    CHECK (attempt_count >= CASE status WHEN 'SENT' THEN 1 ELSE 0 END)
);

-- The locator holds a UUIDv7, so that each of these serves its filter newest first and grows at its right edge.
CREATE INDEX notification_log_party ON notifications.notification_log (party_locator, locator);
CREATE INDEX notification_log_event_type_status ON notifications.notification_log (event_type, status, locator);
CREATE INDEX notification_log_status ON notifications.notification_log (status, locator);
-- What the background retry reads: only failed rows, oldest first.
CREATE INDEX notification_log_failed ON notifications.notification_log (created_at, locator) WHERE status = 'FAILED';

CREATE TABLE notifications.notification_preferences (
  party_locator text COLLATE "C" CONSTRAINT notification_preferences_pkey PRIMARY KEY,
  email text,
  phone text,
  preferred_channel text NOT NULL DEFAULT 'EMAIL',
  opted_out_events jsonb NOT NULL DEFAULT '[]',
  CONSTRAINT notification_preferences_channel_known CHECK (preferred_channel IN ('EMAIL', 'SMS', 'IN_APP')),
  CONSTRAINT notification_preferences_opted_out_is_list CHECK (jsonb_typeof(opted_out_events) = 'array')
);

-- Every change of preferences, so that "opted out on the 3rd, told on the 5th" can be answered.
CREATE TABLE notifications.preference_change (
  id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT preference_change_pkey PRIMARY KEY,
  party_locator text COLLATE "C" NOT NULL,
  changed_by text,
  changed_at timestamptz NOT NULL DEFAULT now(),
  before jsonb,
  after jsonb NOT NULL
);
CREATE INDEX preference_change_party ON notifications.preference_change (party_locator, id);

CREATE TABLE notifications.projection_checkpoints (
  id uuid CONSTRAINT projection_checkpoints_pkey PRIMARY KEY DEFAULT gen_random_uuid(),
  topic text COLLATE "C" NOT NULL,
  partition_id integer NOT NULL,
  -- The last processed offset; -1 before the first.
  "offset" bigint NOT NULL,
  processed_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT projection_checkpoints_topic_partition_key UNIQUE (topic, partition_id),
  CONSTRAINT projection_checkpoints_offset_known CHECK ("offset" >= -1)
);

-- The content-addressed archive: written when a revision is first used, never read by dispatch.
CREATE TABLE notifications.ruleset (
  revision text COLLATE "C" CONSTRAINT ruleset_pkey PRIMARY KEY,
  source text NOT NULL,
  first_used_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE notifications.template_revision (
  revision text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  source text NOT NULL,
  first_used_at timestamptz NOT NULL DEFAULT now(),
  -- Two templates may hold the same text.
  CONSTRAINT template_revision_pkey PRIMARY KEY (revision, name)
);

-- Append-only: with the archive, all that a rebuild of the log needs. No contact details.
CREATE TABLE notifications.decision (
  locator text COLLATE "C" NOT NULL,
  -- The row's attempt_count after this decision.
  attempt integer NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  party_locator text COLLATE "C",
  event_type text COLLATE "C" NOT NULL,
  outcome text NOT NULL,
  channel text NOT NULL,
  rule_id text NOT NULL,
  -- The failure reason that the rule gave; null on SEND.
  reason text,
  facts jsonb NOT NULL,
  variables jsonb,
  template_revision text COLLATE "C",
  rule_table_revision text COLLATE "C" NOT NULL,
  receipt text,
  -- Why the sender refused; the row is then FAILED although the rule said SEND.
  send_error text,
  preference_change_id bigint,
  decided_at timestamptz NOT NULL DEFAULT now(),
  -- Where the event came from.
  topic text COLLATE "C" NOT NULL,
  partition_id integer NOT NULL,
  "offset" bigint NOT NULL,
  trace_id text COLLATE "C",
  CONSTRAINT decision_pkey PRIMARY KEY (locator, attempt),
  CONSTRAINT decision_outcome_known CHECK (outcome IN ('SEND', 'SKIP', 'FAIL')),
  CONSTRAINT decision_channel_known CHECK (channel IN ('EMAIL', 'SMS', 'IN_APP')),
  CONSTRAINT decision_receipt_or_error
    CHECK ((receipt IS NULL OR send_error IS NULL) AND (outcome = 'SEND' OR (receipt IS NULL AND send_error IS NULL)))
);

-- Messages that are no event, whole.
CREATE TABLE notifications.rejected_message (
  id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT rejected_message_pkey PRIMARY KEY,
  topic text COLLATE "C" NOT NULL,
  partition_id integer NOT NULL,
  "offset" bigint NOT NULL,
  key bytea,
  value bytea,
  -- Name to list of values, each base64.
  headers jsonb NOT NULL,
  code text NOT NULL,
  error text NOT NULL,
  rejected_at timestamptz NOT NULL DEFAULT now(),
  value_sha256 bytea GENERATED ALWAYS AS (sha256(coalesce(value, ''::bytea))) STORED,
  -- With the hash, because a topic that is created anew counts its offsets from 0 again.
  CONSTRAINT rejected_message_place_key UNIQUE (topic, partition_id, "offset", value_sha256)
);
