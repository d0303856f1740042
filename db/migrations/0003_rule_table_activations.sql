-- Why: "which rules were in force on the 3rd?" is asked after the fact. Decisions name the revision that made each of
-- them, but between two of them nothing says what was in force, who put it there, or since when. A start of the service
-- writes a row where the table differs from the one before: a handful a year.

-- Up Migration

CREATE TABLE notifications.rule_table_activation (
  -- In the order of activation.
  id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT rule_table_activation_pkey PRIMARY KEY,
  revision text COLLATE "C" NOT NULL
    CONSTRAINT rule_table_activation_archived REFERENCES notifications.ruleset (revision),
  -- Of the service's source, where its environment tells.
  git_commit text,
  activated_at timestamptz NOT NULL
);
