-- Why: a topic that is deleted and created anew counts its offsets from 0 again. Once it has outgrown the checkpoint
-- nothing about its offsets shows it: the last processed message is remembered, and compared when a partition is
-- assigned. The columns of projection_checkpoints are the specification's, so this has a table of its own.
-- And a rejected message can be taken through the pipeline again, once what refused it is mended: each time is recorded.

-- Up Migration

CREATE TABLE notifications.checkpoint_message (
  topic text COLLATE "C" NOT NULL,
  partition_id integer NOT NULL,
  -- The checkpoint that this belongs to: one that was moved by hand since then has no message to compare.
  checkpoint bigint NOT NULL,
  -- Lower than the checkpoint where that is a record that is no message: the end of a transaction.
  "offset" bigint NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  CONSTRAINT checkpoint_message_pkey PRIMARY KEY (topic, partition_id),
  CONSTRAINT checkpoint_message_offset_known CHECK ("offset" BETWEEN 0 AND checkpoint)
);

-- Append-only.
CREATE TABLE notifications.redrive (
  id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT redrive_pkey PRIMARY KEY,
  -- No foreign key: what was done stays on record where the message itself is cleared away.
  rejected_message_id bigint NOT NULL,
  redriven_at timestamptz NOT NULL DEFAULT now(),
  redriven_by text NOT NULL,
  result text NOT NULL,
  -- The log row that was written.
  locator text COLLATE "C",
  -- Why it is rejected still.
  code text,
  error text,
  CONSTRAINT redrive_result_known CHECK (result IN ('logged', 'duplicate', 'rejected')),
  CONSTRAINT redrive_logged_has_locator CHECK ((result = 'logged') = (locator IS NOT NULL)),
  CONSTRAINT redrive_rejected_has_reason
    CHECK ((result = 'rejected') = (code IS NOT NULL) AND (result = 'rejected') = (error IS NOT NULL))
);
CREATE INDEX redrive_rejected_message ON notifications.redrive (rejected_message_id, id);
