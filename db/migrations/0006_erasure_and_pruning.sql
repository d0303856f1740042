-- Why: a person may ask to be forgotten, and rows are not to be kept for ever. Erasure blanks what was said and where
-- to, and leaves the rest: the row, so that its event is never sent again; the decisions, so that the log still adds up;
-- the opt-outs, so that nothing is sent that was asked not to be. Pruning deletes whole rows by age. Both work in small
-- transactions, and each of these counts itself in the record of what was done: an interrupted one shows how far it came.

-- Up Migration

-- A failed row is retried from its text and so has one; a sent row has its text until it is erased.
ALTER TABLE notifications.notification_log
  DROP CONSTRAINT notification_log_skipped_has_no_text,
  ADD CONSTRAINT notification_log_text_as_status CHECK (
    (subject IS NULL) = (body IS NULL)
    AND CASE status WHEN 'SKIPPED' THEN body IS NULL WHEN 'FAILED' THEN body IS NOT NULL ELSE true END
  );

-- What is left of an erased one holds no word of the message, and no word of a transport, which may quote an address.
ALTER TABLE notifications.decision
  ADD COLUMN erased_at timestamptz,
  ADD CONSTRAINT decision_erased_is_blank
    CHECK (erased_at IS NULL OR (variables IS NULL AND coalesce(send_error, 'erased') = 'erased'));

-- Erased, a message keeps the hash of what it was: consumed again, it is known and not kept again.
ALTER TABLE notifications.rejected_message
  DROP CONSTRAINT rejected_message_place_key,
  DROP COLUMN value_sha256,
  ADD COLUMN erased_at timestamptz,
  ADD COLUMN erased_sha256 bytea,
  ADD COLUMN value_sha256 bytea
    GENERATED ALWAYS AS (coalesce(erased_sha256, sha256(coalesce(value, ''::bytea)))) STORED,
  ADD CONSTRAINT rejected_message_place_key UNIQUE (topic, partition_id, "offset", value_sha256),
  ADD CONSTRAINT rejected_message_erased_has_hash CHECK ((erased_at IS NULL) = (erased_sha256 IS NULL)),
  ADD CONSTRAINT rejected_message_erased_is_blank
    CHECK (erased_at IS NULL OR (key IS NULL AND value IS NULL AND headers = '{}'));

-- Append-only, but for the counts of the one that is under way.
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
