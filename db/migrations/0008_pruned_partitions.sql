-- Why: an event older than the last pruning was taken for one whose row was deleted, even where it had waited unread until
-- then, and its member was never told. Only what was processed by the time of a pruning can have had a row: so each pruning
-- remembers the checkpoints.
-- Prunings from before this table could delete nothing beyond the checkpoint of today. The index served a look-up that is
-- made here now.

-- Up Migration

SET LOCAL lock_timeout = '2s';

CREATE TABLE notifications.pruned_partition (
  topic text COLLATE "C" NOT NULL,
  partition_id integer NOT NULL,
  -- The youngest limit of its prunings.
  before timestamptz NOT NULL,
  -- The checkpoint at the last one.
  through bigint NOT NULL,
  CONSTRAINT pruned_partition_pkey PRIMARY KEY (topic, partition_id)
);

INSERT INTO notifications.pruned_partition (topic, partition_id, before, through)
SELECT topic, partition_id, (SELECT max(before) FROM notifications.pruning), "offset"
FROM notifications.projection_checkpoints
WHERE EXISTS (SELECT FROM notifications.pruning);

DROP INDEX notifications.pruning_before;
