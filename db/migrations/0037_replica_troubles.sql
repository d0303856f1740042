-- Why: the console answers for the replica that serves it, and showed all well while another one was blocked. Each replica says here
-- what stops it, for the consoles of the others.

-- Null: nothing that it knows of, or a version before.
ALTER TABLE notifications.replica ADD COLUMN troubles jsonb;
