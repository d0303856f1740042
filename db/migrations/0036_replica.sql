-- Why: a second consumer group on a database fetches all its events again, and a copy of a database takes events from the first one's
-- consumer group. Each replica says here that it runs, so that the others notice both.

CREATE TABLE notifications.replica (
  -- Of the process, which also tells it to the consumer group.
  id uuid NOT NULL,
  group_id text COLLATE "C" NOT NULL,
  topics text[] NOT NULL,
  -- A copy of the database has another one: it also has rows of replicas that do not work on it.
  database_oid oid NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT replica_pkey PRIMARY KEY (id)
);
