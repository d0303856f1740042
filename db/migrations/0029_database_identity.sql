-- Why: two deployments with one consumer group take events from each other, and a restored database is behind what it told Kafka.
-- Kafka keeps this id beside each offset of the group, so that both are noticed. One row; it moves with a dump or a replication.

CREATE TABLE notifications.database_identity (
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  only_row boolean NOT NULL DEFAULT true,
  CONSTRAINT database_identity_pkey PRIMARY KEY (only_row),
  CONSTRAINT database_identity_only_row CHECK (only_row)
);
INSERT INTO notifications.database_identity DEFAULT VALUES;
