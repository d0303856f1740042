-- Why: the rule table recorded last could be one that no replica runs any more, since a replica about to stop made its first decision.
-- Each replica names its rule table here, so that one that stays knows when to record its own again.

-- Null: a version before.
ALTER TABLE notifications.replica ADD COLUMN rule_table_revision text COLLATE "C";
