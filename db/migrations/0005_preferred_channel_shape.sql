-- Why: another version may have stored a name that this one does not know, before a rollback or beside it. So the database checks
-- the shape of a name, and the code that writes it the list. A regular expression would take three times as long. No VALIDATE, which
-- would read the whole table: its names were all in the list, and have the shape.
-- Unused since: 1.0.0
ALTER TABLE notifications.notification_preferences ADD CONSTRAINT notification_preferences_channel_shape
  CHECK (octet_length(preferred_channel) BETWEEN 1 AND 32 AND preferred_channel = upper(preferred_channel COLLATE "C")) NOT VALID;
ALTER TABLE notifications.notification_preferences DROP CONSTRAINT notification_preferences_channel_known;
