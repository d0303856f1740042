-- Why: that a placeholder only recorded a message was known by the beginning of its receipt. A transport may choose any receipt. Null
-- without a receipt, and in rows that another version wrote.
ALTER TABLE notifications.decision ADD COLUMN recorded_only boolean;
