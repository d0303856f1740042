-- Why: each index of the log is paid for by every event that is logged, and most of all one that grows at random
-- places: with ten million rows nearly every insert touches a page of it that is not at hand. Of the five indexes that
-- the list had, two grew by party. Now there are three, and one grows by party.
-- The unfiltered log is a merge of the nine walks of status and channel. What is asked for of one party is a merge of
-- the walks of all kinds (event type, status, channel) that this party has rows of; the same index says which these are.
-- The two other keys stay expressions, and the party's index has none: so each can serve only the queries that are
-- written for it, whatever the planner believes.

-- Up Migration

DROP INDEX notifications.notification_log_newest;
DROP INDEX notifications.notification_log_party_event_type;

DROP INDEX notifications.notification_log_status_channel;
CREATE INDEX notification_log_status_channel
  ON notifications.notification_log ((status || ' ' || channel), created_at, locator);

DROP INDEX notifications.notification_log_party;
CREATE INDEX notification_log_party
  ON notifications.notification_log (party_locator, event_type, status, channel, created_at, locator);
