-- Why: the service's own schema. Three tables are the specification's (the log, the preferences and the
-- checkpoints), the others let every row say why it is as it is: decisions are append-only, and the log is a
-- projection of them. Keys are compared byte by byte (COLLATE "C"): they are identifiers, not words.

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
  -- A failed row is retried from its text and so has one; a sent row has its text until it is erased.
  CONSTRAINT notification_log_text_as_status CHECK (
    (subject IS NULL) = (body IS NULL)
    AND CASE status WHEN 'SKIPPED' THEN body IS NULL WHEN 'FAILED' THEN body IS NOT NULL ELSE true END
  ),
  CONSTRAINT notification_log_attempt_count_known
    CHECK (attempt_count >= CASE status WHEN 'SENT' THEN 1 ELSE 0 END)
);

-- The log is listed newest first: by creation time, then by locator. (Not by the locator alone: the time in it is another clock's, and
-- `from` and `to` must hold exactly.) Every event pays for each index, so each specified filter has one, and a combination of filters looks
-- through a bounded part of one. Without the locator the three have 78 MB for a million rows, with it 266: the rows of one transaction
-- share their time, and a page sorts them. The background retry reads its due rows by status.
CREATE INDEX notification_log_status ON notifications.notification_log (status, created_at);
CREATE INDEX notification_log_event_type ON notifications.notification_log (event_type, created_at);
CREATE INDEX notification_log_party ON notifications.notification_log (party_locator, created_at);

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
  after jsonb NOT NULL,
  -- The token that made the change named this party as its own.
  by_party boolean
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

-- A topic that is deleted and created anew counts its offsets from 0 again. Once its end passes the checkpoint, offsets alone
-- do not reveal that: the last processed message is remembered, and compared when a partition is assigned. The columns of
-- projection_checkpoints are the specification's, so it has its own table.
CREATE TABLE notifications.checkpoint_message (
  topic text COLLATE "C" NOT NULL,
  partition_id integer NOT NULL,
  -- The checkpoint to which the message belongs: one moved by hand since then has no message to compare.
  checkpoint bigint NOT NULL,
  -- Lower than the checkpoint if the checkpoint is a transaction marker.
  "offset" bigint NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  CONSTRAINT checkpoint_message_pkey PRIMARY KEY (topic, partition_id),
  CONSTRAINT checkpoint_message_offset_known CHECK ("offset" BETWEEN 0 AND checkpoint)
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
CREATE TABLE notifications.envelope_map (
  revision text COLLATE "C" CONSTRAINT envelope_map_pkey PRIMARY KEY,
  source text NOT NULL,
  first_used_at timestamptz NOT NULL DEFAULT now()
);

-- "Which rules were in force on the 3rd?" is asked after the fact. A start of the service writes a row where the table
-- differs from the one before: a handful a year.
CREATE TABLE notifications.rule_table_activation (
  -- In the order of activation.
  id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT rule_table_activation_pkey PRIMARY KEY,
  revision text COLLATE "C" NOT NULL
    CONSTRAINT rule_table_activation_archived REFERENCES notifications.ruleset (revision),
  -- The commit of the service, if GIT_COMMIT names it.
  git_commit text,
  activated_at timestamptz NOT NULL
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
  -- What the text was rendered from; of a skipped row, what it would be rendered from if it were retried.
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
  -- After an erasure the row contains no text of the message or of the transport, which may quote an address.
  erased_at timestamptz,
  -- The attempt whose idempotency key the message had: a sender that does not answer in time leaves it unknown whether its
  -- message went out, and the next attempt must carry the same key. Null if the result of the message is known.
  unknown_attempt integer,
  envelope_map_revision text COLLATE "C",
  -- The operator who requested the retry, and the reason. Null if the service itself decided.
  retried_by text,
  retried_because text,
  CONSTRAINT decision_pkey PRIMARY KEY (locator, attempt),
  CONSTRAINT decision_outcome_known CHECK (outcome IN ('SEND', 'SKIP', 'FAIL')),
  CONSTRAINT decision_channel_known CHECK (channel IN ('EMAIL', 'SMS', 'IN_APP')),
  CONSTRAINT decision_receipt_or_error
    CHECK ((receipt IS NULL OR send_error IS NULL) AND (outcome = 'SEND' OR (receipt IS NULL AND send_error IS NULL))),
  CONSTRAINT decision_erased_is_blank
    CHECK (erased_at IS NULL OR (variables IS NULL AND coalesce(send_error, 'erased') = 'erased')),
  CONSTRAINT decision_erased_receipt_is_blank
    CHECK (erased_at IS NULL OR coalesce(receipt, 'erased') = 'erased'),
  CONSTRAINT decision_retried_by_for_a_reason CHECK ((retried_by IS NULL) = (retried_because IS NULL)),
  CONSTRAINT decision_unknown_attempt_failed
    CHECK (unknown_attempt IS NULL OR (unknown_attempt BETWEEN 1 AND attempt AND send_error IS NOT NULL))
);

-- A member asks about a claim, a policy or an invoice by its reference. A B-tree and not a hash: references of one time are near each
-- other, so that it grows at few pages. Not BRIN: at 1,000,000 rows a search of its bloom filters took 21 ms, and they grow with the log.
CREATE INDEX decision_reference ON notifications.decision ((variables ->> 'locator'));

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
  -- An erased message keeps its hash, so that it is not stored again if it is consumed again.
  erased_at timestamptz,
  erased_sha256 bytea,
  value_sha256 bytea GENERATED ALWAYS AS (coalesce(erased_sha256, sha256(coalesce(value, ''::bytea)))) STORED,
  -- With the hash, because a topic that is created anew counts its offsets from 0 again.
  CONSTRAINT rejected_message_place_key UNIQUE (topic, partition_id, "offset", value_sha256),
  CONSTRAINT rejected_message_erased_has_hash CHECK ((erased_at IS NULL) = (erased_sha256 IS NULL)),
  CONSTRAINT rejected_message_erased_is_blank
    CHECK (erased_at IS NULL OR (key IS NULL AND value IS NULL AND headers = '{}'))
);

-- A rejected message can be taken through the pipeline again, once the cause is fixed, or be dismissed. Append-only.
CREATE TABLE notifications.redrive (
  id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT redrive_pkey PRIMARY KEY,
  -- No foreign key: the record outlives the message.
  rejected_message_id bigint NOT NULL,
  redriven_at timestamptz NOT NULL DEFAULT now(),
  redriven_by text NOT NULL,
  result text NOT NULL,
  -- The log row that was written.
  locator text COLLATE "C",
  -- Why it is still rejected, or why it was dismissed.
  code text,
  error text,
  CONSTRAINT redrive_result_known CHECK (result IN ('logged', 'duplicate', 'rejected', 'dismissed')),
  CONSTRAINT redrive_logged_has_locator CHECK ((result = 'logged') = (locator IS NOT NULL)),
  CONSTRAINT redrive_rejected_has_reason
    CHECK ((result = 'rejected') = (code IS NOT NULL) AND (result IN ('rejected', 'dismissed')) = (error IS NOT NULL))
);
CREATE INDEX redrive_rejected_message ON notifications.redrive (rejected_message_id, id);

-- A person may ask to be forgotten, and rows are not to be kept for ever. Both work in small transactions, and each of
-- these counts itself: an interrupted one shows how far it came. Append-only, but for the counts of the one that is under way.
CREATE TABLE notifications.erasure (
  id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT erasure_pkey PRIMARY KEY,
  party_locator text COLLATE "C" NOT NULL,
  erased_by text NOT NULL,
  begun_at timestamptz NOT NULL DEFAULT now(),
  -- Null while it is under way, or where it was interrupted.
  finished_at timestamptz,
  log_entries integer NOT NULL DEFAULT 0,
  -- Of these, the ones that would have been retried.
  retries integer NOT NULL DEFAULT 0,
  preferences integer NOT NULL DEFAULT 0,
  preference_changes integer NOT NULL DEFAULT 0,
  rejected_messages integer NOT NULL DEFAULT 0,
  CONSTRAINT erasure_retries_are_entries CHECK (retries <= log_entries)
);

CREATE TABLE notifications.pruning (
  id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pruning_pkey PRIMARY KEY,
  -- All that is older is deleted.
  before timestamptz NOT NULL,
  pruned_by text NOT NULL,
  begun_at timestamptz NOT NULL DEFAULT now(),
  -- Null while it is under way, or where it was interrupted.
  finished_at timestamptz,
  log_entries bigint NOT NULL DEFAULT 0,
  decisions bigint NOT NULL DEFAULT 0,
  rejected_messages bigint NOT NULL DEFAULT 0
);

-- An event older than a pruning may have been logged and deleted, but only if it was processed by then.
CREATE TABLE notifications.pruned_partition (
  topic text COLLATE "C" NOT NULL,
  partition_id integer NOT NULL,
  -- The limit of a pruning.
  before timestamptz NOT NULL,
  -- The checkpoint then. Lower ones with a lower limit are gone.
  through bigint NOT NULL,
  CONSTRAINT pruned_partition_pkey PRIMARY KEY (topic, partition_id, through)
);
