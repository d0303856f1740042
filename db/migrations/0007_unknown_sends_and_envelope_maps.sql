-- Why: a sender that does not answer in time leaves it unknown whether its message went out. The next attempt must then
-- carry the same idempotency key, or the member may be told twice: the decision remembers which. Decisions also name the
-- envelope map by which their events were read, and it is archived like a rule table. And an event older than the last
-- pruning may have been logged and deleted: that time is looked up for each batch. Erasure reaches receipts, which are a
-- transport's words, and the subject of a token whose party was the person.
-- Adding a column without a default changes the catalog only. Its lock must not wait behind a long read, since every writer
-- would wait behind it: then the migration fails, and is run again.

-- Up Migration

SET LOCAL lock_timeout = '2s';

CREATE TABLE notifications.envelope_map (
  revision text COLLATE "C" CONSTRAINT envelope_map_pkey PRIMARY KEY,
  source text NOT NULL,
  first_used_at timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE notifications.decision
  -- The attempt whose idempotency key the message had; null where it is known what became of the message.
  ADD COLUMN unknown_attempt integer,
  -- Null where the decision is older than this column.
  ADD COLUMN envelope_map_revision text COLLATE "C",
  -- Not validated: older rows have no value, and to read them all would hold the lock.
  ADD CONSTRAINT decision_unknown_attempt_failed
    CHECK (unknown_attempt IS NULL OR (unknown_attempt BETWEEN 1 AND attempt AND send_error IS NOT NULL)) NOT VALID,
  ADD CONSTRAINT decision_erased_receipt_is_blank
    CHECK (erased_at IS NULL OR coalesce(receipt, 'erased') = 'erased') NOT VALID;

-- The token that made the change named this party as its own; null for changes from before this column.
ALTER TABLE notifications.preference_change ADD COLUMN by_party boolean;

CREATE INDEX pruning_before ON notifications.pruning (before);
