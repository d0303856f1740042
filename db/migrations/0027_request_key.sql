-- Why: the console chooses a key for each dialog, so that a request whose answer was lost is not stored twice.
ALTER TABLE notifications.request ADD COLUMN idempotency_key uuid;
