-- Why: whoever sets a checkpoint decides which events are processed, or processed again. `doctor` asks whether somebody has decided.

CREATE TABLE notifications.checkpoint_change (
  id bigint NOT NULL DEFAULT notifications.next_id(),
  topic text COLLATE "C" NOT NULL,
  partition_id integer NOT NULL,
  -- Null: the partition had no checkpoint.
  from_offset bigint,
  to_offset bigint NOT NULL,
  changed_by text NOT NULL,
  database_user text NOT NULL DEFAULT current_user,
  because text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT checkpoint_change_pkey PRIMARY KEY (id),
  CONSTRAINT checkpoint_change_to_known CHECK (to_offset >= -1)
);
CREATE INDEX checkpoint_change_partition ON notifications.checkpoint_change (topic, partition_id);
