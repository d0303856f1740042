-- Why: another version may have stored a name that this one does not know, before a rollback or beside it. So the database checks
-- the shape of a name, and the code that writes it the list. A regular expression would take three times as long. No VALIDATE, which
-- would read the whole table: its names were all in the list, and have the shape.
-- Unused since: 1.0.0
ALTER TABLE notifications.notification_log ADD CONSTRAINT notification_log_channel_shape
  CHECK (octet_length(channel) BETWEEN 1 AND 32 AND channel = upper(channel COLLATE "C")) NOT VALID;
ALTER TABLE notifications.notification_log DROP CONSTRAINT notification_log_channel_known;
