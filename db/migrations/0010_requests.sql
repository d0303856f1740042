-- Why: agents and operators ask for a retry, a redrive, a dismissal or the skip of an unreadable batch, and the running service does
-- it. A request says who asked, why, how far it is, and with which results.
CREATE TABLE notifications.request (
  id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT request_pkey PRIMARY KEY,
  kind text NOT NULL,
  -- What it is for: locators, ids, a filter with a fixed end, or a batch.
  target jsonb NOT NULL,
  requested_by text NOT NULL,
  because text NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  state text NOT NULL DEFAULT 'waiting',
  -- The last item that was processed. A page is written only if it follows this one.
  progress jsonb NOT NULL DEFAULT 'null',
  -- Items by their result.
  counts jsonb NOT NULL DEFAULT '{}',
  -- The first items that stayed unchanged, each with its reason.
  unchanged jsonb NOT NULL DEFAULT '[]',
  -- Why it waits, or why it was stopped.
  note text,
  -- A replica processes a page of it until then.
  taken_until timestamptz,
  -- When its last page was begun: requests take turns.
  served_at timestamptz,
  ended_at timestamptz,
  CONSTRAINT request_kind_shape CHECK (octet_length(kind) BETWEEN 1 AND 32 AND kind = lower(kind COLLATE "C")),
  CONSTRAINT request_state_shape CHECK (octet_length(state) BETWEEN 1 AND 32 AND state = lower(state COLLATE "C")),
  CONSTRAINT request_because_given CHECK (char_length(because) BETWEEN 1 AND 500),
  CONSTRAINT request_ended_at_known CHECK ((ended_at IS NULL) = (state IN ('waiting', 'running')))
);
CREATE INDEX request_open ON notifications.request (id) WHERE ended_at IS NULL;
