-- Why: another version may have stored a name that this one does not know, before a rollback or beside it. The database checks
-- the shape of a name; the code that writes it checks the list. All stored names were in the list, and so have the shape: a
-- VALIDATE would only read the whole table.
-- Unused since: 1.0.0
ALTER TABLE notifications.notification_log ADD CONSTRAINT notification_log_channel_shape CHECK (channel ~ '^[A-Z][A-Z_]{0,30}$') NOT VALID;
ALTER TABLE notifications.notification_log DROP CONSTRAINT notification_log_channel_known;
