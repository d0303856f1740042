-- Why: `erase` and `export` look through the texts of decisions without a party, which may name somebody. Through the log's index by
-- party they read a row of the log for each, too. An event with a party does not enter this index.

CREATE INDEX CONCURRENTLY decision_of_nobody ON notifications.decision (locator, attempt) WHERE party_locator IS NULL;
