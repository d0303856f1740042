-- Why: the log shows the entries of a request. Null in a decision that nobody asked for, and in those of the version before.
ALTER TABLE notifications.decision ADD COLUMN request_id bigint;
