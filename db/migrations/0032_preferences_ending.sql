-- Why: see 0031, for members with preferences. An index of the log's members would cost each event as much again.

CREATE INDEX CONCURRENTLY notification_preferences_party_ending ON notifications.notification_preferences (
  (left(reverse(translate(lower(party_locator COLLATE "C"), ' !"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '')), 64))
);
