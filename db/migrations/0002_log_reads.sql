-- Why: the log is read newest first by any filter or combination of filters, also by one that matches nothing, and
-- each read must cost a page, not the rows that do not match. For each pair of status and channel (three values each)
-- a read walks one index in its order; where one of them is not asked for, the walks are merged.
-- The order is creation time, then locator. Not the locator alone: the time in it is another clock's, and `from` and
-- `to` must hold exactly.
-- What is asked for together is one key, because the planner takes columns for independent: given plain ones it
-- chooses an index that has only some of them and reads, and throws away, a million rows to find that none matches.
-- Party and event type together need an index of their own: one party may have very many rows, and none of that type.

-- Up Migration

DROP INDEX notifications.notification_log_party;
DROP INDEX notifications.notification_log_event_type_status;
DROP INDEX notifications.notification_log_status;

-- The whole log, which is read most and would else be a merge of nine walks. Its condition holds for every row: it
-- keeps the planner from walking this index for what the others are for.
CREATE INDEX notification_log_newest
  ON notifications.notification_log (created_at, locator) WHERE event_id <> '';
CREATE INDEX notification_log_status_channel
  ON notifications.notification_log (status, channel, created_at, locator);
CREATE INDEX notification_log_party
  ON notifications.notification_log ((party_locator || ' ' || status || ' ' || channel), created_at, locator);
CREATE INDEX notification_log_event_type
  ON notifications.notification_log ((event_type || ' ' || status || ' ' || channel), created_at, locator);
-- Its key is spelled otherwise than that of notification_log_party, so that that one is never taken for it.
CREATE INDEX notification_log_party_event_type
  ON notifications.notification_log ((party_locator || ' ' || channel || ' ' || status), event_type, created_at, locator);

-- What the background retry reads. FAILED is written as the two conditions that it means by the table's checks, so
-- that a list of failed rows of one channel is not served from here: it would read the other channels' rows too.
DROP INDEX notifications.notification_log_failed;
CREATE INDEX notification_log_due
  ON notifications.notification_log (created_at, locator) WHERE sent_at IS NULL AND body IS NOT NULL;
